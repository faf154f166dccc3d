"""Thud's options: two rulesets, and an option for each point in which they differ."""

from __future__ import annotations

from games.spec import Options, Spec
from games.thud import board

RULESETS: dict[str, dict[str, str | int]] = {
    "official": {
        "troll_capture": "all_or_none",
        "shove_requires_capture": "yes",
        "end": "cap",
        "turns": 800,
    },
    "seed": {
        "troll_capture": "all_forced",
        "shove_requires_capture": "no",
        "end": "seed_agreement",
        "turns": 2000,
    },
}
"""Defaults of the options by ruleset; an option that is given takes precedence."""

CAPTURES = {
    "all_forced": board.ALL_FORCED,
    "all_or_none": board.ALL_OR_NONE,
    "one_or_none": board.ONE_OR_NONE,
}
ENDS = {"seed_agreement": board.BY_AGREEMENT, "cap": board.BY_CAP, "annihilation": board.BY_ANNIHILATION}
MOST_PLIES = 5000


def read_options(spec: Spec) -> dict[str, str | int]:
    """All options, defaults included, in their canonical order; raises InvalidInput (field ``game``)."""
    options = Options(spec, "game")
    ruleset = options.choice("ruleset", "official", tuple(RULESETS))
    preset = RULESETS[ruleset]
    read: dict[str, str | int] = {
        "ruleset": ruleset,
        "first": options.choice("first", "dwarfs", ("dwarfs", "trolls")),
        "troll_capture": options.choice("troll_capture", str(preset["troll_capture"]), tuple(CAPTURES)),
        "shove_requires_capture": options.choice(
            "shove_requires_capture", str(preset["shove_requires_capture"]), ("no", "yes")
        ),
        "end": options.choice("end", str(preset["end"]), tuple(ENDS)),
        "agreement_moves": options.whole("agreement_moves", 120, 1, MOST_PLIES),
        "count": options.choice("count", "own_moves", ("own_moves", "plies")),
        "no_capture": options.whole("no_capture", 200, 1, MOST_PLIES),
        "turns": options.whole("turns", int(preset["turns"]), 1, MOST_PLIES),
    }
    options.close()
    return read
