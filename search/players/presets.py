"""Settings of a search that have a name, and the player that plays each game best.

BEST and OPPONENTS are what won the matches in cluster/lab/records/settings.md; for games of one player, what
reached the highest returns in cluster/lab/records/games.md; for Pig, what lost least in
cluster/lab/records/planning.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from games.errors import InvalidInput
from games.game import Game
from search.options import knobs_of
from search.request import SearchRequest

PLAIN, STRONGEST = "plain", "best"
PRESETS: Mapping[str, Mapping[str, Any]] = {
    PLAIN: {},
    "thud-thesis": {"exploration": 0.65 * math.sqrt(2.0), "exploration_scale": "fixed", "final_move": "max"},
    "tictactoe-article": {"exploration": 0.141},
}
"""Fields of SearchRequest by preset: UCT with whole random playouts and the game's C, and the constants of
the source documents."""

BEST: Mapping[str, Mapping[str, Any]] = {
    "2048": {"playout_plies": 40, "playout_policy": "greedy"},
    "battleship": {"exploration": 0.02, "playout_plies": 0, "widening": 5, "paired": 8},
    "gomoku": {"exploration": 2.0, "playout_plies": 0, "widening": 4, "decisive": True, "solver": True},
    "morris": {"exploration": 0.8, "playout_plies": 0, "widening": 4},
    "pig": {"playout_plies": 0, "widening": 1},
    "samegame": {"playout_policy": "greedy"},
    "tictactoe": {"exploration": 0.7, "decisive": True, "playout_policy": "decisive"},
    "thud": {
        "strategy": "root",
        "lanes": 4,
        "exploration": 0.3,
        "implicit_minimax": 0.4,
        "playout_plies": 5,
        "playout_policy": "greedy",
        "widening": 8,
    },
}
"""By the name of a game: the fields of SearchRequest with which a search plays it best. For other games the
defaults are the best settings known. Tic-tac-toe's lose no line from 1,000 simulations on
(cluster/lab/records/settings.md). Thud needs `root` for implicit_minimax, whose many lanes would spread
the visits of a first move over so many moves that none stands out; the player `uct` has one lane."""

OPPONENTS: Mapping[str, str] = {"morris": "alphabeta"}
"""By the name of a game: the player that is no weaker than `uct:preset=best` at equal CPU time."""

NAMES = (STRONGEST, *PRESETS)
"""All presets."""


def settings_of(preset: str, game: Game) -> dict[str, Any]:
    """The fields of SearchRequest that a preset sets for a game; raises InvalidInput (field ``preset``)."""
    if preset not in NAMES:
        raise InvalidInput("preset", preset, " or ".join(NAMES))
    if preset == STRONGEST:
        return dict(BEST.get(game.name, {})) if game.trusted else {}
    return dict(PRESETS.get(preset, {}))


def with_preset(request: SearchRequest, preset: str, game: Game) -> SearchRequest:
    """The request with the fields of a preset, except for those in which it differs from the defaults.

    Raises InvalidInput for an unknown preset, or where a field of the request does not go with the preset's.
    """
    defaults = {field.name: field.default for field in fields(SearchRequest)}
    settings = settings_of(preset, game)
    return replace(request, **{k: v for k, v in settings.items() if getattr(request, k) == defaults[k]})


def measured_settings_of(preset: str, game: Game) -> dict[str, Any]:
    """The fields of a preset for a measurement that chooses strategies and lanes itself.

    Raises InvalidInput (field ``preset``).
    """
    settings = settings_of(preset, game)
    return {name: value for name, value in settings.items() if name not in ("strategy", "lanes")}


def player_options_of(preset: str, game: Game) -> dict[str, str]:
    """The options of the player `uct`, by name, that a preset stands for, without strategy and lanes.

    Raises InvalidInput (field ``preset``).
    """
    keys = {knob.name: knob.key for knob in knobs_of(SearchRequest)}
    settings = measured_settings_of(preset, game)
    said = {True: "yes", False: "no"}
    return {keys[name]: said[v] if isinstance(v, bool) else str(v) for name, v in settings.items()}


def opponent_of(preset: str, game: Game, seconds: float = 1.0, *, whole_game: bool = False) -> str:
    """The spec of the player that people meet, which thinks for ``seconds`` of CPU time a move.

    With the preset ``best`` it is the strongest player known for the game, with any other one a search.
    ``whole_game``: whether it makes all moves of a game, so that it can go on from its tree. Raises
    InvalidInput (field ``preset``).
    """
    settings = settings_of(preset, game)
    if preset == STRONGEST and game.name in OPPONENTS and game.trusted:
        return f"{OPPONENTS[game.name]}:seconds={seconds:g}"
    reuses = whole_game and preset == STRONGEST and not game.hidden_information and "strategy" not in settings
    return f"uct:preset={preset},seconds={seconds:g}" + ",reuse=yes" * reuses
