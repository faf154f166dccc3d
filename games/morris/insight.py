"""Static evaluation of positions and moves of the mill games.

The evaluation of a position counts stones on the board and in hand, and with smaller weights closed
mills, mills that one stone would close, and possible moves. The priority of moves: first those that
close a mill, then those that block one, then all others, as a thesis on nine men's morris rates them; and,
which it does not, removals that break up an open mill of the other player before other removals.

The looks are the scores of moves of that thesis's simple players: generic functions of (state, move), to be
bound by `games.compile.specialise`. A higher score is better; ties are broken at random.
"""

from __future__ import annotations

import numpy as np

from games.jit import Int, njit
from games.morris.rules import (
    BIT_OF,
    BOARD,
    HANDS,
    MILLS,
    MILLS_OF,
    MOVE,
    MOVER,
    NEIGHBOURS,
    POINTS,
    REMOVING,
    STONES,
    State,
    closes_mill,
    flies,
    popcount,
)

CLOSES, BLOCKS, NEEDED = 2.0, 1.0, 1.0
"""Priorities of moves that close a mill, that block one, and of removals of a needed stone; others have 0."""

STONE, MILL, OPEN_MILL, MOBILITY = 32, 6, 3, 1
FULL = 1024.0
"""An upper bound of the evaluation's sum: 12 stones, at most 20 mills of either kind, 48 moves."""

_FIRST_OF_ALL, _NEXT, _THEN = 10_000.0, 1_000.0, 10.0
_CHANCES = np.array([0, 1, 4, 6], dtype=np.int64)
"""Score of a mill without stones of the other player, by its number of own stones."""


@njit
def evaluate(state: State) -> float:
    """The first player's sum minus the second player's sum, divided by `FULL`: a value in (-1, 1)."""
    return float(_worth(state, 0) - _worth(state, 1)) / FULL


@njit
def _worth(state: State, player: Int) -> int:
    """The weighted sum of a player's stones, mills and possible moves."""
    board = state[BOARD]
    own, other = state[STONES + player], state[STONES + 1 - player]
    total = STONE * (popcount(own) + state[HANDS + player])
    for number in range(MILLS.shape[1]):
        mill = MILLS[board, number]
        if mill > 0 and other & mill == 0:
            stones = popcount(own & mill)
            if stones == 3:
                total += MILL
            elif stones == 2:
                total += OPEN_MILL
    free = ~(own | other)
    for bit in range(POINTS[board]):
        if own >> bit & 1 != 0:
            total += MOBILITY * popcount(free & NEIGHBOURS[board, bit])
    return total  # type: ignore[no-any-return]


@njit
def priority(state: State, move: int) -> float:
    """The priority of a move: `CLOSES`, `BLOCKS` or 0; of a removal: `NEEDED` or 0."""
    board, player = state[BOARD], state[MOVER]
    own, other = state[STONES + player], state[STONES + 1 - player]
    if state[REMOVING] != 0:
        return NEEDED * is_needed(board, other, own, BIT_OF[board, move])
    to, after = landing(state, move)
    if closes_mill(board, after, to):
        return CLOSES
    return BLOCKS * threatens(state, 1 - player, to)


@njit
def landing(state: State, move: Int) -> tuple[int, int]:
    """(bit where a placement or move puts a stone, mask of the mover's stones afterwards)."""
    board, own = state[BOARD], state[STONES + state[MOVER]]
    if move < MOVE:
        to = BIT_OF[board, move]
    else:
        to = BIT_OF[board, (move - MOVE) % 24]
        own ^= 1 << BIT_OF[board, (move - MOVE) // 24]
    return to, own | (1 << to)


@njit
def threatens(state: State, player: Int, bit: Int) -> bool:
    """Whether ``player`` could close a mill on the empty point ``bit`` if it were that player's turn.

    With stones in hand, a stone is placed on the point. Otherwise a stone that is not part of the mill must
    be able to move there.
    """
    board, own = state[BOARD], state[STONES + player]
    can_place = bool(state[HANDS + player] > 0)
    anywhere = flies(state, player)
    for number in range(MILLS_OF.shape[2]):
        mill = MILLS_OF[board, bit, number]
        if mill > 0 and own & mill == mill & ~(1 << bit):
            others = own & ~mill
            if can_place or (others if anywhere else others & NEIGHBOURS[board, bit]) != 0:
                return True
    return False


@njit
def is_needed(board: Int, stones: Int, enemies: Int, bit: Int) -> bool:
    """Whether the stone at ``bit`` is one of two stones in a mill whose third point is empty."""
    for number in range(MILLS_OF.shape[2]):
        mill = MILLS_OF[board, bit, number]
        if mill > 0 and enemies & mill == 0 and popcount(stones & mill) == 2:
            return True
    return False


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
def _gains(state: State, move: Int) -> tuple[int, int]:
    """What a move adds to the mover's sum of scores of mills, and takes from the other player's."""
    board, player = state[BOARD], state[MOVER]
    own, other = state[STONES + player], state[STONES + 1 - player]
    _, after = landing(state, move)
    gain = _chances(board, after, other) - _chances(board, own, other)
    return gain, _chances(board, other, own) - _chances(board, other, after)


def look_of_own_mills(state: State, move: int) -> float:
    """Score of a player who closes mills if possible, else builds them, and ignores the other's mills."""
    if state[REMOVING] != 0:
        return 0.0
    look = _FIRST_OF_ALL if priority(state, move) == CLOSES else 0.0
    gain, _ = _gains(state, move)
    return look + float(gain)


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
    gain, loss = _gains(state, move)
    return look + _THEN * float(loss) + float(gain)
