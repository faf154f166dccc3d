"""Heuristic scores of moves for simple players: the strategies of a thesis on nine men's morris.

Generic functions of (state, move), to be bound by `games.compile.specialise`. A higher score is better;
ties are broken at random.
"""

from __future__ import annotations

import numpy as np

from games.jit import Int, njit
from games.morris.boards import MILLS
from games.morris.insight import CLOSES, landing, priority, threatens
from games.morris.rules import BOARD, MOVER, REMOVING, STONES, State, popcount

_FIRST_OF_ALL, _NEXT, _THEN = 10_000.0, 1_000.0, 10.0
_CHANCES = np.array([0, 1, 4, 6], dtype=np.int64)
"""Score of a mill without stones of the other player, by its number of own stones."""


@njit
def _chances(board: Int, own: Int, other: Int) -> int:
    """The sum of the scores of all mills for the player with the stones ``own``."""
    total = np.int64(0)
    for number in range(MILLS.shape[1]):
        mill = MILLS[board, number]
        if mill > 0 and other & mill == 0:
            total += _CHANCES[popcount(own & mill)]
    return total  # type: ignore[return-value]


@njit
def _own_gain(state: State, move: Int) -> int:
    """The increase by the move of the mover's sum of mill scores."""
    board, player = state[BOARD], state[MOVER]
    own, other = state[STONES + player], state[STONES + 1 - player]
    _, after = landing(state, move)
    return _chances(board, after, other) - _chances(board, own, other)


@njit
def _others_loss(state: State, move: Int) -> int:
    """The decrease by the move of the other player's sum of mill scores."""
    board, player = state[BOARD], state[MOVER]
    own, other = state[STONES + player], state[STONES + 1 - player]
    _, after = landing(state, move)
    return _chances(board, other, own) - _chances(board, other, after)


def look_of_own_mills(state: State, move: int) -> float:
    """Score of a player who closes mills if possible, else builds them, and ignores the other's mills."""
    if state[REMOVING] != 0:
        return 0.0
    look = _FIRST_OF_ALL if priority(state, move) == CLOSES else 0.0
    return look + float(_own_gain(state, move))


def look_of_blocker(state: State, move: int) -> float:
    """Score of a player who blocks a mill that the other could close, else closes one, else hinders mills.

    Of stones to remove, it prefers one that the other player needs for an open mill.
    """
    look = priority(state, move)
    if state[REMOVING] != 0:
        return look
    to, _ = landing(state, move)
    if threatens(state, 1 - state[MOVER], to):
        look = _FIRST_OF_ALL
    elif look == CLOSES:
        look = _NEXT
    else:
        look = 0.0
    return look + _THEN * float(_others_loss(state, move)) + float(_own_gain(state, move))
