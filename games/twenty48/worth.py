"""What a board of 2048 is worth, and moves that are good at first sight.

The worth adds up four marks of the rows and the columns, set by hand: empty cells, equal tiles that can merge,
small numbers of tiles, and order, that is tiles that rise or fall from one end to the other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.bits import ONE
from games.jit import Int, njit
from games.rng import Stream, below
from games.rules import Moves
from games.twenty48 import rules

BASE, EMPTY, MERGING, DISORDER, WEIGHT = 25_000.0, 34.0, 88.0, 6.0, 1.4
"""Points for each row and column: to begin with, for an empty cell, for each tile that can merge, and off for
each step against the order and for each tile, by powers of its exponent."""
ORDER_POWER, WEIGHT_POWER = 4.0, 3.5
LANES = 1 << 16

_S16 = np.uint64(16)
_LANE = np.uint64(0xFFFF)


def _tiles() -> list[npt.NDArray[np.int64]]:
    """The exponents at the four places of each lane of 16 bits."""
    return [np.arange(LANES) >> 4 * place & 15 for place in range(4)]


def _worths() -> npt.NDArray[np.int32]:
    """The worth of each lane."""
    tiles = _tiles()
    worth = np.full(LANES, BASE)
    rising, falling = np.zeros(LANES), np.zeros(LANES)
    before, length = np.zeros(LANES, dtype=np.int64), np.zeros(LANES, dtype=np.int64)
    for place, tile in enumerate(tiles):
        worth += EMPTY * (tile == 0) - WEIGHT * tile**WEIGHT_POWER
        if place:
            step = tile**ORDER_POWER - tiles[place - 1] ** ORDER_POWER
            rising, falling = rising + np.maximum(step, 0.0), falling + np.maximum(-step, 0.0)
        equal = (tile > 0) & (tile == before)
        worth += MERGING * (equal * np.where(length == 1, 2, 1))
        length = np.where(tile == 0, length, np.where(equal, length + 1, 1))
        before = np.where(tile == 0, before, tile)
    return np.rint(worth - DISORDER * np.minimum(rising, falling)).astype(np.int32)


def _slid() -> npt.NDArray[np.uint32]:
    """Each lane after a move towards its lowest bits; above its 16 bits a quarter of the tiles made."""
    tiles = _tiles()
    for _ in range(3):
        for place in range(3):
            gap = tiles[place] == 0
            tiles[place], tiles[place + 1] = (
                np.where(gap, tiles[place + 1], tiles[place]),
                np.where(gap, 0, tiles[place + 1]),
            )
    score = np.zeros(LANES, dtype=np.int64)
    for place in range(3):
        equal = (tiles[place] == tiles[place + 1]) & (tiles[place] > 0) & (tiles[place] < 15)
        tiles[place] += equal
        score += equal << tiles[place]
        for above in range(place + 1, 4):
            after = tiles[above + 1] if above < 3 else 0
            tiles[above] = np.where(equal, after, tiles[above])
    slid = sum(tile << 4 * place for place, tile in enumerate(tiles)) | score >> 2 << 16
    return np.asarray(slid, dtype=np.uint32)


WORTH = _worths()
SLID = _slid()


@njit
def worth_of(board: np.uint64) -> Int:
    """The worth of all rows and columns of a board, in points."""
    turned = rules._transposed(board)
    total = np.int64(0)
    for _ in range(4):
        total += np.int64(WORTH[board & _LANE]) + np.int64(WORTH[turned & _LANE])
        board >>= _S16
        turned >>= _S16
    return total


@njit
def evaluate(state: rules.State) -> float:
    """The points that are still to come, estimated as the worth of the board."""
    return float(max(worth_of(state[rules.BOARD]), 0))


@njit
def slid_worth(board: np.uint64) -> Int:
    """The worth of a board after all its rows slide towards their lowest bits, with the tiles made; -1 if nothing moves."""
    after = np.uint64(0)
    made = np.uint64(0)
    rest = board
    for row in range(4):
        lane = np.uint64(SLID[rest & _LANE])
        after |= (lane & _LANE) << np.uint64(16 * row)
        made += lane >> _S16
        rest >>= _S16
    if after == board:
        return np.int64(-1)
    return max(worth_of(after), 0) + 4 * np.int64(made)


@njit
def priority(state: rules.State, move: int) -> float:
    after, score = rules.slide(state[rules.BOARD], move - rules.DIRECTION)
    return float(max(worth_of(after), 0) + np.int64(score))


@njit
def greedy_move(state: rules.State, moves: Moves, stream: Stream) -> int:
    """A uniformly random one of the moves with the highest priority."""
    board = state[rules.BOARD]
    turned = rules._transposed(board)
    best, number = np.int64(-1), 0
    for direction in range(4):
        way = turned if direction in (rules.UP, rules.DOWN) else board
        if direction in (rules.UP, rules.RIGHT):
            way = rules._mirrored(way)
        worth = slid_worth(way)
        if worth > best:
            best, number = worth, 0
        if worth == best and worth >= 0:
            moves[number] = rules.DIRECTION + direction
            number += 1
    return int(moves[0] if number == 1 else moves[below(stream, number)])
