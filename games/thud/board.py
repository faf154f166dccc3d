"""Thud's board and the array that holds a position.

A cell is 16 * row + column with rows and columns from 1 to 15, row 1 the bottom row; so a step is
always the same difference, and column 0 is a margin on both sides. A line is a row, a column, or a
diagonal of either direction, numbered 0 to 95; a cell's place in a line is its bit. A state is
``int32[STATE_LENGTH]``:

======  ============================================================================
header  who moves, whether the game is over, dwarfs and trolls left, for each player
        the moves since its last capture, plies; then the options (see below)
LINES   for each line a mask of the cells that nothing may land on or cross: pieces,
        the Thudstone, and all that is not board (bits 0 and 16 always)
NEAR    for each row a mask of its dwarfs, with an empty row at either end
DWARF   the cells of the dwarfs, in no particular order
TROLL   the cells of the trolls
BOARD   for each cell EMPTY, OUTSIDE, a dwarf's place in DWARF + 1, or a troll's in
        TROLL + FIRST_TROLL
======  ============================================================================
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
"""Values of CAPTURE."""
BY_AGREEMENT, BY_CAP, BY_ANNIHILATION = 0, 1, 2
"""Values of END."""

SIZE = 15
STONE = 16 * 8 + 8
FULL = (1 << 17) - 1
STEPS = np.array([1, 16, 17, -15], dtype=np.int32)
"""What is added to a cell for the next bit of its row, column, and diagonals."""
AROUND = np.array([1, 16, 17, -15, -1, -16, -17, 15], dtype=np.int32)
"""The eight neighbours; direction d + 4 is the opposite of d."""


def on_board(row: int, column: int) -> bool:
    """Whether the row and column (1 to 15) are of the octagon, the Thudstone's cell included."""
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
    """The cell becomes blocked in its four lines, or free again."""
    row, column = (cell >> 4) & 15, cell & 15
    bit = 1 << column
    state[LINES + row] ^= bit
    state[LINES + 16 + column] ^= 1 << row
    state[LINES + ((48 + row - column) & 63)] ^= bit
    state[LINES + 64 + row + column] ^= bit


@njit
def near(state: State, cell: int) -> int:
    """Nonzero if a dwarf stands on the cell or beside it."""
    row, column = (cell >> 4) & 15, cell & 15
    rows = state[NEAR - 1 + row] | state[NEAR + row] | state[NEAR + 1 + row]
    return int(rows & (7 << (column - 1)))


@njit
def is_shut_in(state: State, cell: int) -> bool:
    """Whether there is no empty cell beside this one."""
    row, column = (cell >> 4) & 15, cell & 15
    rows = state[LINES - 1 + row] & state[LINES + row] & state[LINES + 1 + row]
    return bool((rows >> (column - 1)) & 7 == 7)


@njit
def take_dwarf(state: State, cell: int) -> None:
    """Remove the dwarf on the cell; the last one of the list takes its place there."""
    place = state[BOARD + cell] - 1
    last = state[DWARFS] - 1
    moved = state[DWARF + last]
    state[DWARF + place] = moved
    state[BOARD + moved] = 1 + place
    state[BOARD + cell] = EMPTY
    state[DWARF + last] = 0
    state[DWARFS] = last
    state[NEAR + (cell >> 4)] ^= 1 << (cell & 15)
    flip(state, cell)


@njit
def take_troll(state: State, cell: int) -> None:
    """Remove the troll on the cell; the last one of the list takes its place there."""
    place = state[BOARD + cell] - FIRST_TROLL
    last = state[TROLLS] - 1
    moved = state[TROLL + last]
    state[TROLL + place] = moved
    state[BOARD + moved] = FIRST_TROLL + place
    state[BOARD + cell] = EMPTY
    state[TROLL + last] = 0
    state[TROLLS] = last
    flip(state, cell)


@njit
def shift(state: State, source: int, target: int) -> None:
    """Move the piece on ``source`` to the empty ``target``."""
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
    """The state with pieces on these cells, listed in their order; the header has their numbers alone."""
    state = np.zeros(STATE_LENGTH, dtype=np.int32)
    state[LINES:NEAR] = FULL
    state[BOARD:] = OUTSIDE
    state[[BOARD + cell for cell in CELLS if cell != STONE]] = EMPTY
    pieces = [*dwarfs, *trolls]
    for cell in CELLS:
        if cell != STONE and cell not in pieces:
            for kind in range(4):
                line, bit = source_of(line_of)(cell, kind)
                state[LINES + line] ^= 1 << bit
    for place, cell in enumerate(dwarfs):
        state[DWARF + place], state[BOARD + cell] = cell, 1 + place
        state[NEAR + (cell >> 4)] |= 1 << (cell & 15)
    for place, cell in enumerate(trolls):
        state[TROLL + place], state[BOARD + cell] = cell, FIRST_TROLL + place
    state[DWARFS], state[TROLLS] = len(dwarfs), len(trolls)
    return state


CELLS = [16 * row + column for row in range(1, 16) for column in range(1, 16) if on_board(row, column)]
"""The 165 cells of the octagon, the Thudstone's among them."""

TROLL_STARTS = sorted(STONE + int(step) for step in AROUND)
DWARF_STARTS = [
    cell
    for cell in CELLS
    if not {cell + 1, cell - 1, cell + 16, cell - 16} <= set(CELLS) and 8 not in (cell >> 4, cell & 15)
]
"""On the border of the octagon, which four cells in the middle of its long sides are left out of."""
