"""The compiled rules of Breakthrough: one set of functions for every size of the board.

A state is ``uint64[LENGTH]``: the bitboards of the first (white) and of the second player (black), the player
to move, who has won (NOBODY, or 1 + the player), and constants of the size: the number of columns, all
cells but those of the left and of the right column, and the goals of the first and of the second player.

The bit of a cell is row * columns + column, row 0 at the bottom. The first player moves up. A move code is
(bit of the start * 6 + direction) * 2 + whether a piece is taken. Directions are up left, up, up right, down
left, down, down right. These are OpenSpiel's codes, whose row 0 is on top.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.bits import ONE, ZERO, bit_of_rank, count, place_of
from games.jit import Int, njit
from games.rng import Stream, next_uint64
from games.rules import Moves

MOVER, WINNER, COLUMNS, NOT_LEFT, NOT_RIGHT, GOALS = 2, 3, 4, 5, 6, 7
LENGTH = 9
"""Indices into a state, after the bitboards of the players FIRST and SECOND, and its length. The goal of the
second player follows on that of the first."""
NOBODY = np.uint64(0)

State = npt.NDArray[np.uint64]

_S32 = np.uint64(32)


@njit
def current_player(state: State) -> int:
    """FIRST or SECOND."""
    return int(state[MOVER])


@njit
def legal_moves(state: State, moves: Moves) -> int:
    """Write the moves by direction and, within one, by start; returns how many."""
    mover, columns = np.int64(state[MOVER]), np.int64(state[COLUMNS])
    mine, theirs = state[mover], state[1 - mover]
    left, ahead, right = targets(state, mine, theirs, mover)
    number = _write(moves, 0, left, theirs, 3 * mover, _step(mover, columns, -1))
    number = _write(moves, number, ahead, theirs, 3 * mover + 1, _step(mover, columns, 0))
    return _write(moves, number, right, theirs, 3 * mover + 2, _step(mover, columns, 1))


@njit
def _step(mover: Int, columns: Int, aside: Int) -> Int:
    """What a move adds to the number of the bit."""
    return columns * (1 - 2 * mover) + aside


@njit
def _write(moves: Moves, number: int, ends: np.uint64, theirs: np.uint64, direction: Int, step: Int) -> int:
    """Write the moves of one direction, which end on the cells ``ends``, after ``number`` others."""
    while ends != ZERO:
        rest = ends & (ends - ONE)
        end = ends ^ rest
        ends = rest
        taking = 1 if end & theirs != ZERO else 0
        moves[number] = (6 * (place_of(end) - step) + direction) * 2 + taking
        number += 1
    return number


@njit
def targets(
    state: State, mine: np.uint64, theirs: np.uint64, mover: Int
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """The cells to which a piece of the mover can go to the left, straight ahead, and to the right."""
    columns = state[COLUMNS]
    from_right, from_left = mine & state[NOT_LEFT], mine & state[NOT_RIGHT]
    if mover == 0:
        left, ahead, right = from_right << (columns - ONE), mine << columns, from_left << (columns + ONE)
    else:
        left, ahead, right = from_right >> (columns + ONE), mine >> columns, from_left >> (columns - ONE)
    return left & ~mine, ahead & ~(mine | theirs), right & ~mine


@njit
def play(state: State, move: int) -> None:
    """Move a piece, and take what stands on its new cell; ``state`` is modified in place."""
    mover = np.int64(state[MOVER])
    start, direction = move // 12, (move >> 1) % 6
    end = ONE << np.uint64(start + _step(mover, np.int64(state[COLUMNS]), direction % 3 - 1))
    state[mover] ^= end | (ONE << np.uint64(start))
    state[1 - mover] &= ~end
    state[MOVER] ^= ONE
    if end & state[GOALS + mover] != ZERO or state[1 - mover] == ZERO:
        state[WINNER] = np.uint64(1 + mover)


@njit
def is_terminal(state: State) -> bool:
    """Whether a piece has reached the last row, or a player has no piece left."""
    return bool(state[WINNER] != NOBODY)


@njit
def returns(state: State) -> float:
    """The first player's return: 1.0 if the first player has won, -1.0 if the second has."""
    return float(3 - 2 * np.int64(state[WINNER])) if state[WINNER] != NOBODY else 0.0


@njit
def playout(state: State, moves: Moves, stream: Stream) -> int:
    """Play uniformly random moves to the end; returns the plies. Only WINNER is valid then."""
    if state[WINNER] != NOBODY:
        return 0
    mover = np.int64(state[MOVER])
    first, second, columns = state[0], state[1], state[COLUMNS]
    to_first, to_second = state[GOALS], state[GOALS + 1]
    before, behind = columns - ONE, columns + ONE
    plies = 0
    if mover == 1:
        left, ahead, right = targets(state, second, first, 1)
        end, direction = _draw(left, ahead, right, stream)
        second ^= end | (end << (behind if direction == 0 else columns if direction == 1 else before))
        first &= ~end
        plies = 1
        if end & to_second != ZERO or first == ZERO:
            state[WINNER] = np.uint64(2)
            return plies
    while True:
        left, ahead, right = targets(state, first, second, 0)
        end, direction = _draw(left, ahead, right, stream)
        first ^= end | (end >> (before if direction == 0 else columns if direction == 1 else behind))
        second &= ~end
        if end & to_first != ZERO or second == ZERO:
            state[WINNER] = np.uint64(1)
            return plies + 1
        left, ahead, right = targets(state, second, first, 1)
        end, direction = _draw(left, ahead, right, stream)
        second ^= end | (end << (behind if direction == 0 else columns if direction == 1 else before))
        first &= ~end
        plies += 2
        if end & to_second != ZERO or first == ZERO:
            state[WINNER] = np.uint64(2)
            return plies


@njit
def _draw(left: np.uint64, ahead: np.uint64, right: np.uint64, stream: Stream) -> tuple[np.uint64, int]:
    """A random one of the cells of three masks, and the number of its mask; a cell may be in several."""
    num_left, num_ahead = count(left), count(ahead)
    rank = ((next_uint64(stream) >> _S32) * (num_left + num_ahead + count(right))) >> _S32
    mask, direction = left, 0
    if rank >= num_left:
        rank -= num_left
        mask, direction = ahead, 1
        if rank >= num_ahead:
            rank -= num_ahead
            mask, direction = right, 2
    return bit_of_rank(mask, rank), direction
