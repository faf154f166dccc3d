"""How moves of the mill games look to simple players: strategies of a thesis on nine men's morris.

Generic functions of (state, move); higher is better, and ties are anyone's. They are made for
one game by `games.specialise`.
"""

from __future__ import annotations

import numpy as np

from games.jit import Int, njit
from games.morris.boards import MILLS
from games.morris.insight import CLOSES, landing, priority, threatens
from games.morris.rules import BOARD, MOVER, REMOVING, STONES, State, popcount

_FIRST_OF_ALL, _NEXT, _THEN = 10_000.0, 1_000.0, 10.0
_CHANCES = np.array([0, 1, 4, 6], dtype=np.int64)
"""What a mill without enemy stones promises, by its number of own stones."""


@njit
def _chances(board: Int, own: Int, other: Int) -> int:
    """What all mills promise to the player with the stones ``own``."""
    total = np.int64(0)
    for number in range(MILLS.shape[1]):
        mill = MILLS[board, number]
        if mill > 0 and other & mill == 0:
            total += _CHANCES[popcount(own & mill)]
    return total  # type: ignore[return-value]


@njit
def _own_gain(state: State, move: Int) -> int:
    """How much more the mills promise to the mover after the move."""
    board, player = state[BOARD], state[MOVER]
    own, other = state[STONES + player], state[STONES + 1 - player]
    _, after = landing(state, move)
    return _chances(board, after, other) - _chances(board, own, other)


@njit
def _others_loss(state: State, move: Int) -> int:
    """How much less they promise to the other player."""
    board, player = state[BOARD], state[MOVER]
    own, other = state[STONES + player], state[STONES + 1 - player]
    _, after = landing(state, move)
    return _chances(board, other, own) - _chances(board, other, after)


def look_of_own_mills(state: State, move: int) -> float:
    """Closes own mills when it can, else builds towards them; takes no notice of the other player's."""
    if state[REMOVING] != 0:
        return 0.0
    look = _FIRST_OF_ALL if priority(state, move) == CLOSES else 0.0
    return look + float(_own_gain(state, move))


def look_of_blocker(state: State, move: int) -> float:
    """Blocks a mill that the other player could close, else closes one, else stands in the other's way.

    It removes stones first that the other player's next mill needs.
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
