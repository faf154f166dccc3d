"""The compiled rules of gomoku: one set of functions for every board size and every option.

A state is ``int32[CELLS + 2 * area]``, area = size * size. The indices before CELLS do not depend on the
size:

==========  =======================================================================
header      size, area, candidates, whether only exactly five wins; number of stones,
            length of the cell list, whether the game is over, the first player's return
SEEN        for each row, a mask of the cells that are or were in the cell list
ROWS        for each row and player, the mask of the player's stones (bit = column)
COLUMNS     for each column and player, the mask of the player's stones (bit = row)
RISING      for each diagonal row - column and player, the mask of stones (bit = column)
FALLING     for each diagonal row + column and player, the mask of stones (bit = column)
CELLS       the cell list: the playable cells in any order, packed as row * 64 + column
CELLS+area  for each move code, its index in the cell list; -1 if it is not listed
==========  =======================================================================

The two players' masks of a line are adjacent: the index of a mask is 2 * line + player. A move code is
row * size + column; row 0 is the bottom row. Operations such as ``& 63`` on indices that are always
smaller tell the compiler that the index is not negative, so that it omits the code for negative indices.

`table` follows the pattern table of an article: scores of cells and positions by windows of five.

A window is five adjacent cells of a line. A window with stones of only one player counts 1, 5, 25, 100 or
10,000 for 1 to 5 stones; other windows count 0. The value of an empty cell for a player is the sum over
the windows through it, counted with that player's stone on the cell. The value of a position is the sum over
its *empty* cells for the first player minus that for the second. So a window with k stones of one player
contributes 5 - k times the count of k + 1 stones, and the sum can be computed by windows. Empty windows
contribute equally to both players and cancel.

The sum does not include a completed five, which has no empty cell: the winning move lowers the sum by 10,000.
The evaluator ``table_printed`` keeps this, as printed in the article; ``table`` evaluates finished games by
their result.

`evaluate` adds up windows too, but asks who is to move, and whether three stones are at the ends of a window.
Its weights are a logistic regression of the values that searches of 300 simulations find in 17,863 positions
one or two moves, good ones and others, off the games below. In games that were left out the mean logarithm of
the likelihood is -0.484, where the values themselves have -0.401; by numbers of stones alone it is -0.489.

`priority` is a sum over the windows through a cell too. Its weights are a softmax regression of the visits of
searches (1,300 simulations, 16,135 positions of 1,296 games from level openings) on the numbers of windows.
In games that were left out the most visited move is among its first four in 71 % of the positions and among
its first eight in 90 %; by the table's values for both players together, in 49 and 72 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from games.jit import Int, njit
from games.rng import LOW_32, S32, Stream, below, mix
from games.rules import Moves

MAX_SIZE = 20

SIZE, AREA, CANDIDATES, EXACT = 0, 1, 2, 3
STONES, LISTED, OVER, RESULT = 4, 5, 6, 7
SEEN = 8
ROWS = SEEN + MAX_SIZE
# Six empty rows follow the last one: a test for five reads four rows ahead and handles rows in groups.
COLUMNS = ROWS + 2 * (MAX_SIZE + 6)
RISING = COLUMNS + 2 * MAX_SIZE
FALLING = RISING + 2 * (2 * MAX_SIZE - 1)
CELLS = FALLING + 2 * (2 * MAX_SIZE - 1)

State = npt.NDArray[np.int32]

_STRIDE = 16
"""Plies of a playout between two tests for a five. Fewer need more tests; more play on after the end."""

HALF = 1000.0
"""The sum that is mapped to the value 0.5."""

_STONES = [mask.bit_count() for mask in range(32)]


def _by_masks(of_mover: Sequence[float], of_other: Sequence[float]) -> npt.NDArray[Any]:
    """By the masks of the stones in a window, of the player to move and of the other one above it: the sum of
    what they are worth by their kind; 0 where there are both."""
    return np.array(
        [
            0 if ours and theirs else of_mover[_KINDS[ours]] + of_other[_KINDS[theirs]]
            for theirs in range(32)
            for ours in range(32)
        ]
    )


_KINDS = [
    stones + (stones > 3) * 2 + (stones == 3) * ((mask & 1) + (mask >> 4))
    for mask, stones in enumerate(_STONES)
]
"""By the mask of a player's stones in a window: none, one, two; three with none, one or two of them at the
window's ends; four, five."""
_COUNTS = (0, 1, 5, 25, 100, 10_000)
_PLACED = np.append([_COUNTS[min(stones + 1, 5)] for stones in _STONES], np.zeros(31 * 32, dtype=np.int64))
"""By the masks of a player's stones in a window, and of the other's above it: the count with one more."""
_LOOKS = _by_masks((4, 50, 125, 185, 185, 185, 100_000, 0), (0, 11, 79, 262, 262, 262, 10_000, 0))
"""What a window adds to the `priority` of its empty cells: hundredths of a logit."""
_TO_MOVE = 0.66
_WORTH = _by_masks(
    (0.0, 0.0, 0.165, 1.74, 0.61, 0.42, 7.03, 0.0), (0.0, 0.0, -0.124, -0.54, -0.48, -0.41, -1.7, 0.0)
)
"""What it is worth to be to move, and what a window is to the player to move, on the scale of the logarithm
of the odds to win."""
_EMPTY_CELLS = np.array([5 - stones if stones else 0 for stones in _STONES], dtype=np.int64)
_OPEN = _EMPTY_CELLS * _PLACED[:32]
"""By the mask of a player's stones in a window: the counts of all its empty cells together."""


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
    """Whether a player has five in a row or the board is full."""
    return bool(state[OVER] != 0)


@njit
def returns(state: State) -> float:
    """The first player's return: 1.0 if the first player has five, -1.0 if the second has, else 0.0."""
    return float(state[RESULT])


@njit
def playout(state: State, moves: Moves, stream: Stream) -> int:
    """Play uniformly random moves to the end; returns the plies. Only OVER and RESULT are valid then."""
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
    """Play the cell with index ``place`` in the cell list; ``state`` is modified in place."""
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
    """The state indices of the first player's masks of the four lines through a cell.

    The second player's mask of a line is at the next index.
    """
    return (
        ROWS + 2 * (row & 31),
        COLUMNS + 2 * (column & 31),
        RISING + 2 * ((row - column + size - 1) & 63),
        FALLING + 2 * ((row + column) & 63),
    )


@njit
def _mark(state: State, line: int, bit: int, exact: int) -> int:
    """Set a bit of the mask at index ``line``; returns nonzero if the mask then has a winning five."""
    mask = state[line] | (1 << bit)
    state[line] = mask
    return fives(mask, exact)


@njit
def fives(mask: int, exact: int) -> int:
    """The mask of the lowest bits of all winning fives in a line's mask."""
    pairs = mask & (mask >> 1)
    starts = pairs & (pairs >> 2) & (mask >> 4)
    if exact != 0:
        # A run of more than five has at least two adjacent bits here.
        starts &= ~(starts << 1) & ~(starts >> 1)
    return starts


@njit
def list_neighbours(state: State, row: int, column: int) -> None:
    """Add the cells within distance ``candidates`` of (row, column) that were never in the cell list.

    ``state`` is modified in place.
    """
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
    """Play a random game, testing for a five only after every few plies; returns the plies.

    Cells are drawn by a Fisher-Yates shuffle from the end of the cell list, so the list records the moves.
    Only the row masks are updated. A five never disappears, so the ply that made the first one is found by
    bisection: stones are removed and put back.
    """
    counter, increment = stream[0], stream[1]
    num_cells = state[LISTED]
    mover = state[STONES] & 1
    clear, plies = 0, 0
    while True:
        clear = plies
        # A five is rare while less than a quarter of the board is occupied.
        plies = min(plies + max(_STRIDE, state[AREA] // 4 - state[STONES] - plies), num_cells)
        player = mover ^ (clear & 1)
        left = num_cells - clear
        for _ in range((plies - clear + 1) >> 1):
            counter += increment
            bits = mix(counter)
            _draw(state, bits >> S32, left, player)
            left -= 1
            if left > num_cells - plies:
                _draw(state, bits & LOW_32, left, player ^ 1)
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
    """Put a stone on one of the first ``left`` cells, chosen by 32 random bits, and swap it to their end."""
    place = np.int64((fraction * np.uint64(left)) >> S32)
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


@njit
def table_sum(state: State) -> int:
    """The sum over empty cells for the first player minus that for the second player, an integer."""
    size = state[SIZE]
    total = np.int64(0)
    for i in range(size):
        total += _line(state, ROWS + 2 * i, 0, size)
        total += _line(state, COLUMNS + 2 * i, 0, size)
    # The diagonals with at least five cells; bits are columns.
    for i in range(4, 2 * size - 5):
        beyond = i - size + 1
        total += _line(state, RISING + 2 * i, max(0, -beyond), size - max(0, beyond))
        total += _line(state, FALLING + 2 * i, max(0, beyond), min(size, i + 1))
    return total  # type: ignore[return-value]


@njit
def _line(state: State, line: int, first: int, end: int) -> int:
    """The contribution to the sum of a line whose cells are the bits in [first, end)."""
    ours, theirs = np.int64(state[line]) >> first, np.int64(state[line + 1]) >> first
    total = np.int64(0)
    if ours | theirs != 0:
        for _ in range(first + 4, end):
            our_window, their_window = ours & 31, theirs & 31
            if their_window == 0:
                total += _OPEN[our_window]
            elif our_window == 0:
                total -= _OPEN[their_window]
            ours >>= 1
            theirs >>= 1
    return total  # type: ignore[return-value]


@njit
def table(state: State) -> float:
    """The table's sum mapped monotonically to (-1, 1), from the first player's viewpoint."""
    total = float(table_sum(state))
    return total / (abs(total) + HALF)


@njit
def evaluate(state: State) -> float:
    """The value of a position by its windows and by who is to move, from the first player's viewpoint."""
    size = state[SIZE]
    player = np.int64(state[STONES]) & 1
    total = _TO_MOVE
    for i in range(size):
        total += _worth(state, ROWS + 2 * i, player, 0, size)
        total += _worth(state, COLUMNS + 2 * i, player, 0, size)
    for i in range(4, 2 * size - 5):
        beyond = i - size + 1
        total += _worth(state, RISING + 2 * i, player, max(0, -beyond), size - max(0, beyond))
        total += _worth(state, FALLING + 2 * i, player, max(0, beyond), min(size, i + 1))
    return (1 - 2 * player) * math.tanh(0.5 * total)


@njit
def _worth(state: State, line: Int, player: Int, first: Int, end: Int) -> float:
    """The sum over a line whose cells are the bits in [first, end), for ``player``, who is to move."""
    ours, theirs = np.int64(state[line + player]) >> first, np.int64(state[line + 1 - player]) >> first
    total = 0.0
    if ours | theirs != 0:
        for _ in range(first + 4, end):
            total += _WORTH[(ours & 31) | (theirs & 31) << 5]
            ours >>= 1
            theirs >>= 1
    return total


@njit
def priority(state: State, move: int) -> float:
    """The sum over the windows through an empty cell of what they add for the player to move."""
    return float(_over_cell(state, move, state[STONES] & 1, _LOOKS))


@njit
def cell_worth(state: State, move: int, player: Int) -> int:
    """The value of an empty cell for ``player`` by the table."""
    return _over_cell(state, move, player, _PLACED)


@njit
def _over_cell(state: State, move: int, player: Int, table: npt.NDArray[np.int64]) -> int:
    """The sum of the table over the windows through a cell, by the masks of ``player`` and the other one."""
    size = state[SIZE]
    row = np.int64(move) // size
    column = np.int64(move) - row * size
    in_row, in_column, rising, falling = lines_of(size, row, column)
    total = _through(state, in_row, player, table, column, 0, size)
    total += _through(state, in_column, player, table, row, 0, size)
    beyond = row - column
    total += _through(state, rising, player, table, column, max(0, -beyond), size - max(0, beyond))
    beyond = row + column - size + 1
    first, end = max(0, beyond), min(size, row + column + 1)
    return total + _through(state, falling, player, table, column, first, end)


@njit
def _through(
    state: State, line: int, player: Int, table: npt.NDArray[np.int64], bit: int, first: int, end: int
) -> int:
    """The sum of the table over the windows of one line that contain the cell at ``bit``."""
    ours, theirs = np.int64(state[line + player]), np.int64(state[line + 1 - player])
    total = np.int64(0)
    for start in range(max(first, bit - 4), min(bit, end - 5) + 1):
        total += table[((ours >> start) & 31) | ((theirs >> start) & 31) << 5]
    return total  # type: ignore[return-value]


@njit
def priorities(state: State, scores: npt.NDArray[np.float64]) -> None:
    """`priority` of all moves at once: ``scores`` (float64[area], by move code) is written."""
    size = state[SIZE]
    player = np.int64(state[STONES]) & 1
    for move in range(state[AREA]):
        scores[move] = 0.0
    for i in range(size):
        _along(state, scores, player, ROWS + 2 * i, 0, size, i * size, 1)
        _along(state, scores, player, COLUMNS + 2 * i, 0, size, i, size)
    for i in range(4, 2 * size - 5):
        beyond = i - size + 1
        first, end = max(0, -beyond), size - max(0, beyond)
        _along(state, scores, player, RISING + 2 * i, first, end, beyond * size, size + 1)
        first, end = max(0, beyond), min(size, i + 1)
        _along(state, scores, player, FALLING + 2 * i, first, end, i * size, 1 - size)


@njit
def _along(
    state: State,
    scores: npt.NDArray[np.float64],
    player: Int,
    line: Int,
    first: Int,
    end: Int,
    base: Int,
    step: Int,
) -> None:
    """Add what a line's windows are worth to the scores of their cells: bit b is the move base + b * step."""
    ours, theirs = np.int64(state[line + player]), np.int64(state[line + 1 - player])
    # What the five windows that contain the cell add, and their sum.
    a, b, c, d, total = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for bit in range(first, end):
        e = np.int64(0)
        if bit < end - 4:
            e = _LOOKS[((ours >> bit) & 31) | ((theirs >> bit) & 31) << 5]
        total += e
        scores[base + bit * step] += total
        total -= a
        a, b, c, d = b, c, d, e
