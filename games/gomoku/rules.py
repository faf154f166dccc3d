"""The compiled rules of gomoku: one kernel for every board size and every option.

A state is ``int32[CELLS + 2 * area]``, area = size * size. Everything before CELLS has the same
place on every board:

==========  =======================================================================
header      size, area, candidates, whether only exactly five wins; stones played,
            playable cells listed, whether the game is over, the first player's return
SEEN        for each row, a mask of the cells that are or have been in the cell list
ROWS        for each row and player, the mask of the player's stones in it (bit = column)
COLUMNS     the same for each column (bit = row)
RISING      the same for each diagonal row - column (bit = column)
FALLING     the same for each diagonal row + column (bit = column)
CELLS       the playable cells in no particular order, each packed as row * 64 + column
CELLS+area  for each move code, its place in the cell list, or -1: not listed
==========  =======================================================================

The two players' masks of a line lie side by side, so a line's index is doubled and the player
added. A move code is row * size + column; row 0 is the bottom row. Masks such as ``& 63`` on
indices, where the value is already that small, show the compiler that they are not negative:
it then leaves out NumPy's wrap-around of negative indices.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.jit import njit
from games.rng import Stream, below, mix
from games.rules import Moves

MAX_SIZE = 20

SIZE, AREA, CANDIDATES, EXACT = 0, 1, 2, 3
STONES, LISTED, OVER, RESULT = 4, 5, 6, 7
SEEN = 8
ROWS = SEEN + MAX_SIZE
# A test for five looks four rows ahead and takes rows in groups: empty rows follow the last one.
COLUMNS = ROWS + 2 * (MAX_SIZE + 6)
RISING = COLUMNS + 2 * MAX_SIZE
FALLING = RISING + 2 * (2 * MAX_SIZE - 1)
CELLS = FALLING + 2 * (2 * MAX_SIZE - 1)

State = npt.NDArray[np.int32]

_LOW_32 = np.uint64(0xFFFFFFFF)
_S32 = np.uint64(32)

_STRIDE = 16
"""Plies that a playout plays between two looks for a five: fewer cost looks, more cost plies past the end."""


@njit
def current_player(state: State) -> int:
    """FIRST or SECOND, by the number of stones."""
    return int(state[STONES] & 1)


@njit
def legal_moves(state: State, moves: Moves) -> int:
    """Copy the listed cells into ``moves`` as move codes, in the list's order; returns how many."""
    size, count = state[SIZE], state[LISTED]
    for i in range(count):
        cell = state[CELLS + i]
        moves[i] = (cell >> 6) * size + (cell & 63)
    return int(count)


@njit
def play(state: State, move: int) -> None:
    """Place the mover's stone; ``state`` is modified in place."""
    _play_listed(state, state[CELLS + state[AREA] + move])


@njit
def is_terminal(state: State) -> bool:
    """Whether somebody has five, or the board is full."""
    return bool(state[OVER] != 0)


@njit
def returns(state: State) -> float:
    """1.0: the first player has five, -1.0: the second, 0.0: full board."""
    return float(state[RESULT])


@njit
def playout(state: State, moves: Moves, stream: Stream) -> int:
    """Uniformly random play to the end; returns the plies. Only OVER and RESULT hold afterwards."""
    if state[OVER] != 0:
        return 0
    if state[CANDIDATES] == 0 and state[EXACT] == 0:
        return _playout_in_strides(state, stream)
    plies = 0
    while state[OVER] == 0:
        _play_listed(state, below(stream, state[LISTED]))
        plies += 1
    return plies


@njit
def _play_listed(state: State, place: int) -> None:
    """Play the cell at ``place`` of the cell list; ``state`` is modified in place."""
    size = state[SIZE]
    wheres = CELLS + state[AREA]
    cell = state[CELLS + place]
    row, column = cell >> 6, cell & 63
    last = state[LISTED] - 1
    moved = state[CELLS + last]
    state[CELLS + place] = moved
    state[wheres + (moved >> 6) * size + (moved & 63)] = place
    state[wheres + row * size + column] = -1
    state[LISTED] = last
    player = state[STONES] & 1
    state[STONES] += 1
    if add_stone(state, row, column, player):
        state[OVER] = 1
        state[RESULT] = 1 - 2 * player
    elif state[STONES] == state[AREA]:
        state[OVER] = 1
    elif state[CANDIDATES] != 0:
        list_neighbours(state, row, column)


@njit
def add_stone(state: State, row: int, column: int, player: int) -> bool:
    """Set the stone's bit in its four lines; returns whether one of them has a winning five now."""
    exact = state[EXACT]
    in_row, in_column, rising, falling = lines_of(state[SIZE], row, column)
    won = _mark(state, in_row + player, column, exact)
    won |= _mark(state, in_column + player, row, exact)
    won |= _mark(state, rising + player, column, exact)
    won |= _mark(state, falling + player, column, exact)
    return won != 0


@njit
def lines_of(size: int, row: int, column: int) -> tuple[int, int, int, int]:
    """The indices of the first player's masks of the four lines through a cell; the second's come next."""
    return (
        ROWS + 2 * (row & 31),
        COLUMNS + 2 * (column & 31),
        RISING + 2 * ((row - column + size - 1) & 63),
        FALLING + 2 * ((row + column) & 63),
    )


@njit
def _mark(state: State, line: int, bit: int, exact: int) -> int:
    """Set a bit of the mask at ``line``; nonzero if the mask holds a winning five then."""
    mask = state[line] | (1 << bit)
    state[line] = mask
    return fives(mask, exact)


@njit
def fives(mask: int, exact: int) -> int:
    """A mask with the lowest bit of each winning five of a line."""
    pairs = mask & (mask >> 1)
    starts = pairs & (pairs >> 2) & (mask >> 4)
    if exact != 0:
        # A run of more than five has two or more such bits side by side.
        starts &= ~(starts << 1) & ~(starts >> 1)
    return starts


@njit
def list_neighbours(state: State, row: int, column: int) -> None:
    """List the cells within ``candidates`` of (row, column) that were never listed; modified in place."""
    size, reach = state[SIZE], state[CANDIDATES]
    wheres = CELLS + state[AREA]
    count = state[LISTED]
    left, right = max(column - reach, 0), min(column + reach, size - 1)
    window = (2 << right) - (1 << left)
    for r in range(max(row - reach, 0), min(row + reach, size - 1) + 1):
        new = window & ~state[SEEN + r]
        if new != 0:
            state[SEEN + r] |= new
            for c in range(left, right + 1):
                if (new >> c) & 1:
                    state[CELLS + count] = r * 64 + c
                    state[wheres + r * size + c] = count
                    count += 1
    state[LISTED] = count


@njit
def _playout_in_strides(state: State, stream: Stream) -> int:
    """Play many random plies at once, then look for the first five among them.

    Cells are drawn by Fisher-Yates from the end of the list, so the list itself records them.
    Only the row masks are kept. A five never goes away again, so the ply that made the first one
    is found by bisection, taking stones off and putting them back.
    """
    counter, increment = stream[0], stream[1]
    num_cells = state[LISTED]
    mover = state[STONES] & 1
    clear, plies = 0, 0
    while True:
        clear = plies
        # On a board that is less than a quarter full a five is rare.
        plies = min(plies + max(_STRIDE, state[AREA] // 4 - state[STONES] - plies), num_cells)
        player = mover ^ (clear & 1)
        left = num_cells - clear
        for _ in range((plies - clear + 1) >> 1):
            counter += increment
            bits = mix(counter)
            _draw(state, bits >> _S32, left, player)
            left -= 1
            if left > num_cells - plies:
                _draw(state, bits & _LOW_32, left, player ^ 1)
            left -= 1
        if _has_five(state):
            break
        if plies == num_cells:
            stream[0] = counter
            state[OVER] = 1
            state[RESULT] = 0
            return int(plies)
    stream[0] = counter
    shown, five = plies, plies
    while five - clear > 1:
        middle = (clear + five) >> 1
        for ply in range(min(shown, middle), max(shown, middle)):
            cell = state[CELLS + num_cells - 1 - ply]
            state[ROWS + ((cell >> 5) & 63) + ((mover + ply) & 1)] ^= 1 << (cell & 31)
        shown = middle
        if _has_five(state):
            five = middle
        else:
            clear = middle
    state[OVER] = 1
    state[RESULT] = 1 - 2 * ((mover + five - 1) & 1)
    return int(five)


@njit
def _draw(state: State, fraction: np.uint64, left: int, player: int) -> None:
    """Put a stone on one of the first ``left`` cells and swap it to their end; 32 random bits."""
    place = np.int64((fraction * np.uint64(left)) >> _S32)
    cell = state[CELLS + place]
    state[CELLS + place] = state[CELLS + left - 1]
    state[CELLS + left - 1] = cell
    state[ROWS + ((cell >> 5) & 63) + player] |= 1 << (cell & 31)


@njit
def _has_five(state: State) -> bool:
    """Whether the row masks hold five or more stones of one player in a row, in any direction."""
    found = np.int32(0)
    for i in range(ROWS, ROWS + ((2 * state[SIZE] + 7) & ~7)):
        a, b, c, d, e = state[i], state[i + 2], state[i + 4], state[i + 6], state[i + 8]
        pairs = a & (a >> 1)
        five = pairs & (pairs >> 2) & (a >> 4)
        five |= a & b & c & d & e
        five |= a & (b >> 1) & (c >> 2) & (d >> 3) & (e >> 4)
        five |= a & (b << 1) & (c << 2) & (d << 3) & (e << 4)
        found |= np.int32(five)
    return bool(found != 0)
