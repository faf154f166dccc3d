"""Evaluation of gomoku by the pattern table of an article: scores of cells and positions by windows of five.

A window is five adjacent cells of a line. A window with stones of only one player counts 1, 5, 25, 100 or
10,000 for 1 to 5 stones; other windows count 0. The value of an empty cell for a player is the sum over
the windows through it, counted with that player's stone on the cell. The value of a position is the sum over
its *empty* cells for the first player minus that for the second. So a window with k stones of one player
contributes 5 - k times the count of k + 1 stones, and the sum can be computed by windows. Empty windows
contribute equally to both players and cancel.

The sum does not include a completed five, which has no empty cell: the winning move lowers the sum by 10,000.
The evaluator ``table_printed`` keeps this, as printed in the article; ``table`` evaluates finished games by
their result.
"""

from __future__ import annotations

import numpy as np

from games.gomoku.rules import COLUMNS, FALLING, RISING, ROWS, SIZE, STONES, State, lines_of
from games.jit import Int, njit

HALF = 1000.0
"""The sum that is mapped to the value 0.5."""

_COUNTS = (0, 1, 5, 25, 100, 10_000)
_STONES = [mask.bit_count() for mask in range(32)]
_PLACED = np.array([_COUNTS[min(stones + 1, 5)] for stones in _STONES], dtype=np.int64)
"""By the mask of a player's stones in a window: the count with one more stone."""
_EMPTY_CELLS = np.array([5 - stones if stones else 0 for stones in _STONES], dtype=np.int64)
_OPEN = _EMPTY_CELLS * _PLACED
"""By the mask of a player's stones in a window: the counts of all its empty cells together."""


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
def evaluate(state: State) -> float:
    """The table's sum mapped monotonically to (-1, 1), from the first player's viewpoint."""
    total = float(table_sum(state))
    return total / (abs(total) + HALF)


@njit
def priority(state: State, move: int) -> float:
    """The value of the cell for the player to move plus that for the other player: attack and defence."""
    player = state[STONES] & 1
    return float(cell_worth(state, move, player) + cell_worth(state, move, 1 - player))


@njit
def cell_worth(state: State, move: int, player: Int) -> int:
    """The value of an empty cell for ``player``."""
    size = state[SIZE]
    row = np.int64(move) // size
    column = np.int64(move) - row * size
    in_row, in_column, rising, falling = lines_of(size, row, column)
    total = _through(state, in_row, player, column, 0, size)
    total += _through(state, in_column, player, row, 0, size)
    beyond = row - column
    total += _through(state, rising, player, column, max(0, -beyond), size - max(0, beyond))
    beyond = row + column - size + 1
    return total + _through(state, falling, player, column, max(0, beyond), min(size, row + column + 1))


@njit
def _through(state: State, line: int, player: Int, bit: int, first: int, end: int) -> int:
    """The count of the windows of one line that contain the cell at ``bit``, with a stone on it."""
    ours, theirs = np.int64(state[line + player]), np.int64(state[line + 1 - player])
    total = np.int64(0)
    for start in range(max(first, bit - 4), min(bit, end - 5) + 1):
        if (theirs >> start) & 31 == 0:
            total += _PLACED[(ours >> start) & 31]
    return total  # type: ignore[return-value]
