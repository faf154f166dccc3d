"""Games of careless authors: a small compiled game, and versions of it with one thing wrong in each."""

from __future__ import annotations

from pathlib import Path

TAKE = """
import numpy as np
from games import Game, Rules, njit

@njit
def current_player(state):
    return state[1]

@njit
def legal_moves(state, moves):
    count = min(3, state[0])
    for k in range(count):
        moves[k] = k + 1
    return count

@njit
def play(state, move):
    state[0] -= move
    state[1] = 1 - state[1]

@njit
def is_terminal(state):
    return state[0] == 0

@njit
def returns(state):
    return 1.0 if state[1] == 1 else -1.0

class Take(Game):
    rules = Rules(current_player, legal_moves, play, is_terminal, returns)
    max_moves, max_plies = 3, 10

    def initial_state(self):
        return np.array([10, 0], dtype=np.int8)
"""
"""Ten stones, of which each player takes one to three; who takes the last one wins."""

_COUNT = "    count = min(3, state[0])\n"
_PLAY = "    state[0] -= move\n"
_PLAYER = "    return state[1]\n"

BROKEN = {
    "code_too_large": ("moves[k] = k + 1", "moves[k] = 65_535 + k", "legal_moves: gave move 65535 at ply 0"),
    "code_negative": ("moves[k] = k + 1", "moves[k] = k - 1", "legal_moves: gave move -1 at ply 0"),
    "twice": ("moves[k] = k + 1", "moves[k] = 1", "legal_moves: gave move 1 twice at ply 0"),
    "too_many_moves": (
        "max_moves, max_plies = 3",
        "max_moves, max_plies = 2",
        "max_moves: is 2, but 3 moves are legal at ply 0",
    ),
    "no_moves": (
        _COUNT,
        "    count = min(3, state[0] - 1)\n",
        "legal_moves: gave no move at ply",
    ),
    "too_long": ("max_plies = 3, 10", "max_plies = 3, 2", "max_plies: is 2, but a random game"),
    "players_1_and_2": (
        _PLAYER,
        "    return 1 + state[1]\n",
        "current_player: gave 2 at ply 1; expected 0 or 1, after moves ",
    ),
    "returns_too_low": ("else -1.0", "else -1.5", "expected a number in [-1, 1], after moves "),
    "returns_no_number": ("else -1.0", "else np.nan", "expected a number in [-1, 1], after moves "),
    "raises": (
        _PLAY,
        "    if state[0] < 5:\n        raise ValueError('five')\n" + _PLAY,
        "play: raised ValueError: five at ply",
    ),
    "out_of_bounds": (_PLAYER, "    return state[2]\n", "current_player: raised IndexError"),
    "legal_moves_changes_the_state": (
        _COUNT,
        _COUNT + "    state[0] = 10\n",
        "legal_moves: changed the state at ply 1",
    ),
    "is_terminal_changes_the_state": (
        "    return state[0] == 0\n",
        "    state[1] ^= 1\n    return state[0] == 0\n",
        "is_terminal: changed the state at ply 0",
    ),
    "same_array": ("np.array([10, 0], dtype=np.int8)", "START", "initial_state: gave the same array twice"),
    "not_an_array": ("np.array([10, 0], dtype=np.int8)", "[10, 0]", "initial_state: gave list"),
    "no_max_moves": (
        "max_moves, max_plies = 3",
        "max_moves, max_plies = 0",
        "max_moves: is 0; expected 1 to",
    ),
}
"""By what is wrong: the text that is replaced, with what, and what is said of it."""

ENDLESS = (_PLAY, "    while state[0] < 5:\n        state[1] ^= 1\n" + _PLAY)
"""A rule that never ends."""

ENDLESS_WHEN_COMPILED = (
    _PLAY,
    "    if state[0] + 125 > 130:\n        print(0)\n"
    "    while state[0] + 125 > 130:\n        state[1] ^= 1\n" + _PLAY,
)
"""A rule that never ends when compiled: there the sum has 64 bits, in NumPy 8. It says when it begins."""


def write_take(folder: Path, *change: str, name: str = "take.py") -> str:
    """Write the game, with the first text of ``change`` replaced by the second; its path."""
    text = TAKE + "\nSTART = np.array((10, 0), dtype=np.int8)\n"
    if change:
        assert change[0] in text
        text = text.replace(change[0], change[1])
    (folder / name).write_text(text)
    return str(folder / name)
