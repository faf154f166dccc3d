"""What a board of 2048 is worth, and which move looks best, with tables of all rows.

The worth of a row or a column is set by hand from four marks: its empty cells, equal tiles that can merge,
the sizes of its tiles, and how far they are from rising or falling from one end to the other. The largest
part of it is the same for every board: not to be stuck.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.bits import ZERO
from games.jit import Int, njit
from games.rng import Stream, below
from games.rules import Moves
from games.twenty48 import rules

ALIVE, EMPTY, MERGING, DISORDER, WEIGHT = 25_000.0, 34.0, 88.0, 6.0, 1.4
"""Points for a row or a column: to begin with, for each empty cell, for each tile that can merge, and off for
each step against the order and for each tile, by a power of the exponents."""
ORDER_POWER, WEIGHT_POWER = 4.0, 3.5
LARGEST = 15
"""The largest exponent, whose tile ends the game."""

_ROWS = 1 << 16
_LANE = np.uint64(0xFFFF)
_S16 = np.uint64(16)


def _exponents() -> list[npt.NDArray[np.int64]]:
    """Of all rows, the exponents of the tiles on their four cells; 0 for none."""
    return [np.arange(_ROWS) >> 4 * cell & 15 for cell in range(4)]


def _worths() -> npt.NDArray[np.int32]:
    """The worth of each row, by its bits."""
    tiles = _exponents()
    worth, rising, falling = np.full(_ROWS, ALIVE), np.zeros(_ROWS), np.zeros(_ROWS)
    last, alike = np.zeros(_ROWS, dtype=np.int64), np.zeros(_ROWS, dtype=np.int64)
    for cell, tile in enumerate(tiles):
        worth += EMPTY * (tile == 0) - WEIGHT * tile**WEIGHT_POWER
        if cell:
            step = tile**ORDER_POWER - tiles[cell - 1] ** ORDER_POWER
            rising += np.maximum(step, 0.0)
            falling -= np.minimum(step, 0.0)
        equal = (tile > 0) & (tile == last)
        worth += MERGING * equal * np.where(alike == 1, 2, 1)
        alike = np.where(tile == 0, alike, np.where(equal, alike + 1, 1))
        last = np.where(tile == 0, last, tile)
    worth -= DISORDER * np.minimum(rising, falling)
    rounded: npt.NDArray[np.int32] = np.rint(worth).astype(np.int32)
    return rounded


def _slid() -> npt.NDArray[np.uint32]:
    """By the bits of each row: the row after it slides towards its lowest bits, in the lower half.

    In the upper half is a quarter of the tiles that are made.
    """
    tiles = _exponents()
    for _ in range(3):
        for cell in range(3):
            empty = tiles[cell] == 0
            tiles[cell] = np.where(empty, tiles[cell + 1], tiles[cell])
            tiles[cell + 1] = np.where(empty, 0, tiles[cell + 1])
    made = np.zeros(_ROWS, dtype=np.int64)
    tiles.append(np.zeros(_ROWS, dtype=np.int64))
    for cell in range(3):
        equal = (tiles[cell] == tiles[cell + 1]) & (tiles[cell] > 0) & (tiles[cell] < LARGEST)
        tiles[cell] += equal
        made += equal << tiles[cell]
        for above in range(cell + 1, 4):
            tiles[above] = np.where(equal, tiles[above + 1], tiles[above])
    rows = tiles[0] | tiles[1] << 4 | tiles[2] << 8 | tiles[3] << 12
    return (rows | made >> 2 << 16).astype(np.uint32)


WORTHS = _worths()
SLID = _slid()


@njit
def worth_of(board: np.uint64) -> Int:
    """The worth of all rows and columns of a board in points, at least 0."""
    turned = rules.transposed(board)
    total = np.int64(0)
    for _ in range(4):
        total += np.int64(WORTHS[board & _LANE]) + np.int64(WORTHS[turned & _LANE])
        board >>= _S16
        turned >>= _S16
    return max(total, np.int64(0))


@njit
def evaluate(state: rules.State) -> float:
    """The points that are still to come, estimated by the worth of the board."""
    return float(worth_of(state[rules.BOARD]))


@njit
def worth_after(board: np.uint64) -> Int:
    """The tiles that are made when all rows slide towards their lowest bits, and the worth of the board then.

    -1 if nothing moves.
    """
    after, made, rest = ZERO, ZERO, board
    for row in range(4):
        slid = np.uint64(SLID[rest & _LANE])
        after |= (slid & _LANE) << np.uint64(16 * row)
        made += slid >> _S16
        rest >>= _S16
    if after == board:
        return np.int64(-1)
    return worth_of(after) + 4 * np.int64(made)


@njit
def priority(state: rules.State, move: int) -> float:
    """The tiles that a move makes, and the worth of the board after it; 0.0 for a new tile."""
    if move < rules.DIRECTION:
        return 0.0
    return float(worth_after(rules.turned_to(state[rules.BOARD], move - rules.DIRECTION)))


@njit
def greedy_move(state: rules.State, moves: Moves, stream: Stream) -> int:
    """A uniformly random one of the moves with the highest priority."""
    number = 0
    if state[rules.PHASE] == np.uint64(rules.TILE):
        number = rules.legal_moves(state, moves)
    else:
        best: Int = np.int64(0)
        for direction in range(4):
            worth = worth_after(rules.turned_to(state[rules.BOARD], direction))
            if worth > best:
                best, number = worth, 0
            if worth == best:
                moves[number] = rules.DIRECTION + direction
                number += 1
    return int(moves[0] if number == 1 else moves[below(stream, number)])
