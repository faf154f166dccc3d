"""Thud's board, the array that holds a position, and codes of moves.

A cell is 16 * row + column with rows and columns from 1 to 15, row 1 the bottom row. So a step in a
direction always adds a fixed number, and column 0 is a margin on both sides. A line is a row, a column, or a
diagonal of either direction, numbered 0 to 95; the position of a cell in a line is its bit. A state is
``int32[STATE_LENGTH]``:

======  ============================================================================
header  player to move, whether the game is over, dwarfs and trolls left, for each player
        the moves since its last capture, plies; then the options (see below)
LINES   for each line a mask of the blocked cells: pieces, the Thudstone, and cells
        outside the board (bits 0 and 16 always)
NEAR    for each row a mask of its dwarfs, with an empty row at either end
DWARF   the cells of the dwarfs, in any order
TROLL   the cells of the trolls, in any order
BOARD   for each cell: EMPTY, OUTSIDE, index of the dwarf in DWARF plus 1, or index of
        the troll in TROLL plus FIRST_TROLL
======  ============================================================================

Codes of moves: code = 9 * path + variant.

A path is an ordered pair of cells in one line. There are 6,960, numbered by source cell, then by line; the
pair of a cell with itself is included so that the numbers within a line are consecutive. The variant
says what a troll takes: 0 nothing, 1 all neighbouring dwarfs; or with ``one_or_none`` 1 to 8, the
dwarf in direction variant - 1 of `AROUND`. Moves of dwarfs have variant 0; a dwarf takes the piece
that it lands on.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.jit import njit, source_of

State = npt.NDArray[np.int32]

MOVER, OVER, DWARFS, TROLLS, SINCE, PLIES = 0, 1, 2, 3, 4, 6
CAPTURE, SHOVE_CAPTURES, END, BY_PLIES, AGREEMENT, NO_CAPTURE, TURNS = 7, 8, 9, 10, 11, 12, 13
LINES = 16
NEAR = LINES + 96
DWARF = NEAR + 24
TROLL = DWARF + 32
BOARD = TROLL + 8
STATE_LENGTH = BOARD + 288

MAX_DWARFS, MAX_TROLLS = 32, 8
OUTSIDE, EMPTY, FIRST_TROLL = -1, 0, 33

ALL_FORCED, ALL_OR_NONE, ONE_OR_NONE = 0, 1, 2
"""Values of the option CAPTURE: what a troll that lands beside dwarfs takes."""
BY_AGREEMENT, BY_CAP, BY_ANNIHILATION = 0, 1, 2
"""Values of the option END: how a game ends."""

TROLL_WORTH = 4

SIZE = 15
STONE = 16 * 8 + 8
FULL = (1 << 17) - 1
STEPS = np.array([1, 16, 17, -15], dtype=np.int32)
"""The difference between neighbouring cells of a row, a column, and the two kinds of diagonals."""
AROUND = np.array([1, 16, 17, -15, -1, -16, -17, 15], dtype=np.int32)
"""The differences to the eight neighbours; direction d + 4 is the opposite of direction d."""


def on_board(row: int, column: int) -> bool:
    """Whether the cell (row and column 1 to 15) is in the octagon, which includes the Thudstone's cell."""
    return 1 <= row <= 15 and 1 <= column <= 15 and 7 <= row + column <= 25 and abs(row - column) <= 9


@njit
def line_of(cell: int, kind: int) -> tuple[int, int]:
    """The line of a kind (0 row, 1 column, 2 and 3 diagonals) through a cell, and the cell's bit in it."""
    row, column = cell >> 4, cell & 15
    if kind == 0:
        return row, column
    if kind == 1:
        return 16 + column, row
    if kind == 2:
        return 48 + row - column, column
    return 64 + row + column, column


@njit
def flip(state: State, cell: int) -> None:
    """Toggle whether the cell is blocked in its four lines; ``state`` is modified in place."""
    row, column = (cell >> 4) & 15, cell & 15
    bit = 1 << column
    state[LINES + row] ^= bit
    state[LINES + 16 + column] ^= 1 << row
    state[LINES + ((48 + row - column) & 63)] ^= bit
    state[LINES + 64 + row + column] ^= bit


@njit
def near(state: State, cell: int) -> int:
    """Nonzero if a dwarf is on the cell or on a neighbouring cell."""
    row, column = (cell >> 4) & 15, cell & 15
    rows = state[NEAR - 1 + row] | state[NEAR + row] | state[NEAR + 1 + row]
    return int(rows & (7 << (column - 1)))


@njit
def is_shut_in(state: State, cell: int) -> bool:
    """Whether no neighbouring cell is empty."""
    row, column = (cell >> 4) & 15, cell & 15
    rows = state[LINES - 1 + row] & state[LINES + row] & state[LINES + 1 + row]
    return bool((rows >> (column - 1)) & 7 == 7)


@njit
def take(state: State, cell: int) -> None:
    """Remove the piece on the cell; the last piece of its kind takes its index. ``state`` is modified in
    place."""
    piece = state[BOARD + cell]
    if piece < FIRST_TROLL:
        state[DWARFS] -= 1
        last = state[DWARFS]
        state[NEAR + (cell >> 4)] ^= 1 << (cell & 15)
    else:
        state[TROLLS] -= 1
        last = MAX_DWARFS + state[TROLLS]
    moved = state[DWARF + last]
    state[DWARF - 1 + piece] = moved
    state[BOARD + moved] = piece
    state[BOARD + cell] = EMPTY
    state[DWARF + last] = 0
    flip(state, cell)


@njit
def shift(state: State, source: int, target: int) -> None:
    """Move the piece on ``source`` to the empty ``target``; ``state`` is modified in place."""
    piece = state[BOARD + (source & 255)]
    state[BOARD + (source & 255)] = EMPTY
    state[BOARD + (target & 255)] = piece
    state[DWARF - 1 + (piece & 63)] = target
    if piece < FIRST_TROLL:
        state[NEAR + ((source >> 4) & 15)] ^= 1 << (source & 15)
        state[NEAR + ((target >> 4) & 15)] ^= 1 << (target & 15)
    flip(state, source)
    flip(state, target)


def state_of(dwarfs: list[int], trolls: list[int]) -> State:
    """The state with pieces on these cells, listed in this order; of the header only their counts are set."""
    state = np.zeros(STATE_LENGTH, dtype=np.int32)
    state[LINES:NEAR] = FULL
    state[BOARD:] = OUTSIDE
    state[[BOARD + cell for cell in CELLS if cell != STONE]] = EMPTY
    pieces = [*dwarfs, *trolls]
    for cell in CELLS:
        if cell != STONE and cell not in pieces:
            for line, bit in (LINE_OF[cell, kind] for kind in range(4)):
                state[LINES + line] ^= 1 << bit
    for place, cell in enumerate(dwarfs):
        state[DWARF + place], state[BOARD + cell] = cell, 1 + place
        state[NEAR + (cell >> 4)] |= 1 << (cell & 15)
    for place, cell in enumerate(trolls):
        state[TROLL + place], state[BOARD + cell] = cell, FIRST_TROLL + place
    state[DWARFS], state[TROLLS] = len(dwarfs), len(trolls)
    return state


CELLS = [16 * row + column for row in range(1, 16) for column in range(1, 16) if on_board(row, column)]
"""The 165 cells of the octagon, including the Thudstone's cell."""
LINE_OF = {(cell, kind): source_of(line_of)(cell, kind) for cell in CELLS for kind in range(4)}
"""By (cell, kind of line): the line, and the cell's bit in it; see `line_of`."""

TROLL_STARTS = sorted(STONE + int(step) for step in AROUND)
DWARF_STARTS = [
    cell
    for cell in CELLS
    if not {cell + 1, cell - 1, cell + 16, cell - 16} <= set(CELLS) and 8 not in (cell >> 4, cell & 15)
]
"""The start cells of the dwarfs: the border of the octagon except the middle cells of its four long sides."""

NUM_VARIANTS = 9


def _paths() -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint16]]:
    """Compute the tables FIRST_PATH and ENDS."""
    first = np.zeros(4 * 256, dtype=np.int32)
    ends: list[int] = []
    for (cell, kind), (line, _) in LINE_OF.items():
        others = sorted(
            (LINE_OF[other, kind][1], other) for other in CELLS if LINE_OF[other, kind][0] == line
        )
        first[4 * cell + kind] = len(ends) - others[0][0]
        ends += [256 * cell + other for _, other in others]
    return first, np.array(ends, dtype=np.uint16)


FIRST_PATH, ENDS = _paths()
"""FIRST_PATH: by (cell, kind of line), the number of the path to the line's bit 0. ENDS: by path,
256 * source + target."""

PATH_OF = {(int(ends) >> 8, int(ends) & 255): path for path, ends in enumerate(ENDS)}
"""The number of a path by (source, target)."""


@njit
def encode(source: int, target: int, kind: int, variant: int) -> int:
    """The code of a move along a line of kind ``kind`` (see `line_of`)."""
    _, bit = line_of(target, kind)
    return int(NUM_VARIANTS * (FIRST_PATH[4 * source + kind] + bit) + variant)


@njit
def decode(move: int) -> tuple[int, int, int]:
    """The (source, target, variant) of a move code."""
    path = move // NUM_VARIANTS
    ends = int(ENDS[path])
    return ends >> 8, ends & 255, move - NUM_VARIANTS * path
