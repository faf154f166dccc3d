"""Settings of the player `uct` that have a name: a source's constants, and what won matches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from games.game import Game

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "morris-thesis": {"exploration": math.sqrt(2.0)},
    "thud-thesis": {"exploration": 0.65 * math.sqrt(2.0), "final_move": "robust"},
    "tictactoe-article": {"exploration": 0.141},
}
"""The exploration constants of the sources, on the scale of `SearchRequest.exploration`."""

BEST: Mapping[str, Mapping[str, Any]] = {
    "battleship": {"exploration": 0.02, "playout_plies": 0, "widening": 5, "paired": 8},
    "gomoku": {"playout_plies": 0, "widening": 8},
    "morris": {"playout_plies": 0, "widening": 4},
    "thud": {
        "exploration": 0.3,
        "implicit_minimax": 0.4,
        "playout_plies": 5,
        "playout_policy": "greedy",
        "widening": 8,
    },
    "tictactoe": {"exploration": 1.0},
}
"""By the name of a game: the settings that won the matches in search/README.md, as fields of SearchRequest;
tic-tac-toe's is what never loses, from 2,000 simulations on (tests/tictactoe_never_loses.py).

A game that is not in it is searched plainly.
"""

NAMES = ("none", "best", *PRESETS)
"""What ``preset=`` accepts."""


def settings_of(preset: str, game: Game) -> dict[str, Any]:
    """The fields of SearchRequest that a preset (one of NAMES) sets for this game."""
    if preset == "best":
        return dict(BEST.get(game.name, {}))
    return dict(PRESETS.get(preset, {}))
