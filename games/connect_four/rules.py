"""The compiled rules of connect four: one set of functions for every size of the board.

A state is ``int64[LENGTH]``: the bitboards of the first and of the second player, the number of stones,
whether the game is over, the first player's return, the columns that are not full (how many, and their
numbers in ascending order, four bits each), and constants of the size: rows + 1, and the bitboard of the
bottom row.

A bitboard has rows + 1 bits for each column, from the left; the bit of a cell is column * (rows + 1) + row,
row 0 at the bottom. The last bit of each column is never set, so that a line of four cannot run from the top
of one column into the next. Adding 1 to the taken cells of a column gives the bit of its lowest free cell
(John Tromp, Fhourstones). All bitboards fit 63 bits, so they are never negative.

A move code is the number of the column.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.jit import njit
from games.rng import Stream, mix, next_uint64
from games.rules import Moves

STONES, OVER, RESULT, NUM_OPEN, OPEN, HEIGHT, BOTTOM, CELLS = 2, 3, 4, 5, 6, 7, 8, 9
LENGTH = 10
"""Indices into a state, after the bitboards of the players FIRST and SECOND, and its length."""

State = npt.NDArray[np.int64]

_FOUR = np.uint64(4)
_S60 = np.uint64(60)
_FRACTION = np.uint64((1 << 60) - 1)


@njit
def current_player(state: State) -> int:
    """FIRST or SECOND, by the number of stones."""
    return int(state[STONES] & 1)


@njit
def legal_moves(state: State, moves: Moves) -> int:
    """Write the columns that are not full in ascending order; returns how many."""
    open_columns = state[OPEN]
    for i in range(state[NUM_OPEN]):
        moves[i] = open_columns & 15
        open_columns >>= 4
    return int(state[NUM_OPEN])


@njit
def play(state: State, move: int) -> None:
    """Drop the mover's stone into a column; ``state`` is modified in place."""
    player = state[STONES] & 1
    taken = state[0] | state[1]
    stone = (taken + (1 << (move * state[HEIGHT]))) & ~taken
    mine = state[player] | stone
    state[player] = mine
    state[STONES] += 1
    if stone & (state[BOTTOM] << (state[HEIGHT] - 2)):
        _close(state, move)
    if has_four(mine, state[HEIGHT]):
        state[OVER] = 1
        state[RESULT] = 1 - 2 * player
    elif state[NUM_OPEN] == 0:
        state[OVER] = 1


@njit
def _close(state: State, move: int) -> None:
    """Take a full column out of the open ones; ``state`` is modified in place."""
    place = 0
    while (state[OPEN] >> place) & 15 != move:
        place += 4
    state[OPEN] = without(state[OPEN], place)
    state[NUM_OPEN] -= 1


@njit
def without(columns: int, place: int) -> int:
    """A list of numbers of four bits without the one that begins at the bit ``place``."""
    lower = (1 << place) - 1
    return (columns & lower) | ((columns >> 4) & ~lower)


@njit
def is_terminal(state: State) -> bool:
    """Whether a player has four in a row or the board is full."""
    return bool(state[OVER] != 0)


@njit
def returns(state: State) -> float:
    """The first player's return: 1.0 if the first player has four in a row, -1.0 if the second, else 0.0."""
    return float(state[RESULT])


@njit
def has_four(stones: int, height: int) -> bool:
    """Whether a bitboard has four in a row; ``height`` is rows + 1, the bits of a column."""
    rising = stones & (stones >> (height + 1))
    level = stones & (stones >> height)
    falling = stones & (stones >> (height - 1))
    upright = stones & (stones >> 1)
    found = rising & (rising >> 2 * (height + 1))
    found |= level & (level >> 2 * height)
    found |= falling & (falling >> 2 * (height - 1))
    found |= upright & (upright >> 2)
    return found != 0


@njit
def _drop(
    fraction: np.uint64, taken: int, columns: int, num_columns: int, height: int, top: int
) -> tuple[np.uint64, int, int, int]:
    """A random stone as (rest of the fraction, bit of the stone, open columns, their number).

    The random fraction, a multiple of 2**-60, times the number of choices has the choice as its integer part;
    the fractional part is left for the next choice.
    """
    fraction *= np.uint64(num_columns)
    place: int = np.int64(fraction >> _S60) << 2  # type: ignore[assignment]
    stone = (taken + (1 << (((columns >> place) & 15) * height))) & ~taken
    if stone & top:
        columns = without(columns, place)
        num_columns -= 1
    return fraction & _FRACTION, stone, columns, num_columns


@njit
def _first_four(mine_once: int, theirs_once: int, mine: int, height: int) -> int:
    """Which of the last four plies, 0 to 3, made the first four in a row, if one of them did.

    The arguments are the mover's stones after the first of them, the other's after the second, the mover's
    after the third.
    """
    found = int(has_four(mine_once, height)) | int(has_four(theirs_once, height)) << 1
    found |= int(has_four(mine, height)) << 2 | 8
    found &= -found
    return (found >> 1) - (found >> 3)


@njit
def playout(state: State, moves: Moves, stream: Stream) -> int:
    """Play uniformly random moves to the end; returns the plies. Only OVER and RESULT are valid then.

    A test for four in a row costs as much as a ply. A four never disappears, so while four cells or more are
    free there is one test after four plies, and the ply that made the first four is found afterwards.
    """
    if state[OVER] != 0:
        return 0
    start, height, num_cells = state[STONES], state[HEIGHT], state[CELLS]
    top = state[BOTTOM] << (height - 2)
    mine, theirs = state[start & 1], state[1 - (start & 1)]
    taken = mine | theirs
    columns, num_columns = state[OPEN], state[NUM_OPEN]
    counter = stream[0]
    state[OVER] = 1
    ply = start
    while ply + 4 <= num_cells:
        counter += stream[1]
        fraction = mix(counter) >> _FOUR
        fraction, stone, columns, num_columns = _drop(fraction, taken, columns, num_columns, height, top)
        taken |= stone
        mine_once = mine | stone
        fraction, stone, columns, num_columns = _drop(fraction, taken, columns, num_columns, height, top)
        taken |= stone
        theirs_once = theirs | stone
        fraction, stone, columns, num_columns = _drop(fraction, taken, columns, num_columns, height, top)
        taken |= stone
        mine = mine_once | stone
        fraction, stone, columns, num_columns = _drop(fraction, taken, columns, num_columns, height, top)
        taken |= stone
        theirs = theirs_once | stone
        if has_four(mine, height) or has_four(theirs, height):
            ply += _first_four(mine_once, theirs_once, mine, height)
            state[RESULT] = 1 - 2 * (ply & 1)
            stream[0] = counter
            return int(ply + 1 - start)
        ply += 4
    stream[0] = counter
    while ply < num_cells:
        fraction = next_uint64(stream) >> _FOUR
        fraction, stone, columns, num_columns = _drop(fraction, taken, columns, num_columns, height, top)
        taken |= stone
        mine, theirs = theirs, mine | stone
        ply += 1
        if has_four(theirs, height):
            state[RESULT] = 1 - 2 * ((ply - 1) & 1)
            break
    return int(ply - start)


@njit
def pack(state: State) -> np.uint64:
    """The position as one number of at most 63 bits.

    In each column, the bit of the lowest free cell is set, and below it those of the first player's stones.
    """
    return np.uint64((state[0] | state[1]) + state[BOTTOM] + state[0])


@njit
def unpack(key: np.uint64, state: State) -> None:
    """Write the position with this packed number into ``state``, modified in place."""
    height = state[HEIGHT]
    bits = np.int64(key)
    taken, columns, count, stones = 0, 0, 0, 0
    column = 0
    while (state[BOTTOM] >> (column * height)) & 1:
        free = height - 1
        while (bits >> (column * height + free)) & 1 == 0:
            free -= 1
        taken |= ((1 << free) - 1) << (column * height)
        stones += free
        if free != height - 1:
            columns |= column << 4 * count
            count += 1
        column += 1
    first: int = bits & taken  # type: ignore[assignment]
    set_position(state, first, taken ^ first, stones, columns, count)


@njit
def set_position(state: State, first: int, second: int, stones: int, columns: int, count: int) -> None:
    """Write a position into ``state``, modified in place: bitboards, number of stones, and open columns."""
    state[0], state[1], state[STONES] = first, second, stones
    state[OPEN], state[NUM_OPEN] = columns, count
    won, lost = has_four(first, state[HEIGHT]), has_four(second, state[HEIGHT])
    state[OVER], state[RESULT] = won or lost or count == 0, int(won) - int(lost)
