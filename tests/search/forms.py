"""The forms of problems that tests of searches go through, as options of tests/search/random_problem.py."""

from __future__ import annotations

from pathlib import Path

from tests.games.common import JIT

FILE = Path(__file__).with_name("random_problem.py")

COMPILED = {
    "discount": "players=1,percent=75",
    "rewards of two": "players=2",
    "chance": "players=2,rewards=0,chance=1",
    "three with chance": "players=3,chance=1",
    "open loop": "players=1,percent=75,open_loop=1",
}
"""Forms whose kernels tests compile; together they have all that differs between forms."""
EVERY = COMPILED | {
    "one player": "players=1",
    "discount of the end": "players=1,rewards=0,percent=75",
    "discount and chance": "players=1,percent=75,chance=1",
    "rewards of two with chance": "players=2,chance=1",
    "three": "players=3",
    "five at the end": "players=5,rewards=0",
    "open loop of two": "players=2,rewards=0,open_loop=1",
    "open loop of three with chance": "players=3,chance=1,open_loop=1",
}
CHOSEN = (*COMPILED, "one player", "five at the end", "open loop of three with chance")
FORMS = {form: EVERY[form] for form in CHOSEN} if JIT else EVERY
"""Forms that tests go through: all as plain Python. Compiled, a coordinator has kernels for each form, also
for those whose rules are plain Python; they differ in constants alone, which take all values in CHOSEN."""


def problem(form: str, seed: int = 1, plain: bool = False, more: str = "") -> str:
    """The spec of a random problem of a form."""
    return f"{FILE}:{EVERY[form]},seed={seed},plain={int(plain)}{more}"
