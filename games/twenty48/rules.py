"""The compiled rules of 2048: a board of 64 bits, whose rows or columns all slide at once.

A state is ``uint64[LENGTH]``: the board, the score (the sum of all tiles that were made by merging), the
phase (MOVE: the player is to move; TILE: a new tile is due; OVER), and the exponent of the tile that ends
the game.

The board has four bits for each cell, cell 4 * row + column from the lowest bits on, row 0 at the bottom: the
exponent of its tile (1 for a 2, 2 for a 4), or 0. A row is a lane of 16 bits. To slide, the board is turned
so that the direction is towards the lowest bits of each lane.

Move codes are DIRECTION and above: up, right, down, left. An outcome of chance is the cell, times two, plus 0
for a 2 or 1 for a 4.

What a board is worth, and which move looks best, comes from tables of all rows. The worth of a row or a
column is set by hand from four marks: its empty cells, equal tiles that can merge, the sizes of its tiles,
and how far they are from rising or falling from one end to the other. The largest part of it is the same for
every board: not to be stuck.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.bits import ONE, ZERO, bit_of_rank, count, place_of, random_bit
from games.jit import Int, njit
from games.rng import LOW_32, S32, Stream, below, next_uint64
from games.rules import CHANCE, Moves

BOARD, SCORE, PHASE, LAST = 0, 1, 2, 3
"""Indices into a state."""
LENGTH = 4
MOVE, TILE, OVER = 0, 1, 2
"""Values of PHASE."""
DIRECTION = 32
UP, RIGHT, DOWN, LEFT = 0, 1, 2, 3
FOURS = 429_496_729
"""Of 2**32 random numbers, how many give a 4: a tenth."""

State = npt.NDArray[np.uint64]

_S1, _S2, _S4, _S8, _S12, _S16, _S24 = (np.uint64(shift) for shift in (1, 2, 4, 8, 12, 16, 24))
_CELLS = np.uint64(0x1111111111111111)
"""The lowest bit of each nibble."""
_NOT_RIGHT = np.uint64(0x0111011101110111)
_NOT_TOP = np.uint64(0x0000111111111111)
_FOURS = np.uint64(FOURS)

ALIVE, EMPTY, MERGING, DISORDER, WEIGHT = 25_000.0, 34.0, 88.0, 6.0, 1.4
"""Points of a row or a column: ALIVE to begin with, EMPTY for each empty cell, MERGING for each tile that can
merge, less DISORDER for each step against the order and WEIGHT for each tile, times powers of exponents."""
ORDER_POWER, WEIGHT_POWER = 4.0, 3.5
LARGEST = 15
"""The largest exponent, whose tile ends the game."""

_ROWS = 1 << 16
_LANE = np.uint64(0xFFFF)


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


def _slid_rows() -> npt.NDArray[np.uint32]:
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
SLID = _slid_rows()


@njit
def current_player(state: State) -> int:
    """0, or CHANCE where a new tile is due."""
    return CHANCE if state[PHASE] == np.uint64(TILE) else 0


@njit
def _taken(board: np.uint64) -> np.uint64:
    """The lowest bit of each nibble that is not zero."""
    folded = board | (board >> _S2)
    return (folded | (folded >> _S1)) & _CELLS


@njit
def open_directions(board: np.uint64) -> np.uint64:
    """Bit d is set if a move in direction d changes the board."""
    taken = _taken(board)
    aside, above = taken >> _S4, taken >> _S16
    equal_aside = taken & ~_taken(board ^ (board >> _S4)) & _NOT_RIGHT
    equal_above = taken & ~_taken(board ^ (board >> _S16)) & _NOT_TOP
    up = ((taken & ~above & _NOT_TOP) | equal_above) != ZERO
    right = ((taken & ~aside & _NOT_RIGHT) | equal_aside) != ZERO
    down = ((above & ~taken) | equal_above) != ZERO
    left = ((aside & ~taken & _NOT_RIGHT) | equal_aside) != ZERO
    return np.uint64(np.int64(up) | np.int64(right) << 1 | np.int64(down) << 2 | np.int64(left) << 3)


@njit
def legal_moves(state: State, moves: Moves) -> int:
    """Write the directions that change the board, or the tiles that can come, in ascending order; returns how
    many."""
    number = 0
    if state[PHASE] == np.uint64(TILE):
        free = ~_taken(state[BOARD]) & _CELLS
        while free != ZERO:
            cell = place_of(free & (~free + ONE)) >> 2
            free &= free - ONE
            moves[number], moves[number + 1] = 2 * cell, 2 * cell + 1
            number += 2
        return number
    directions = np.int64(open_directions(state[BOARD]))
    for direction in range(4):
        if (directions >> direction) & 1:
            moves[number] = DIRECTION + direction
            number += 1
    return number


@njit
def transposed(board: np.uint64) -> np.uint64:
    """The board with rows and columns exchanged."""
    odd = (board ^ (board >> _S12)) & np.uint64(0x0000F0F00000F0F0)
    board ^= odd ^ (odd << _S12)
    far = (board ^ (board >> _S24)) & np.uint64(0x00000000FF00FF00)
    return board ^ far ^ (far << _S24)


@njit
def mirrored(board: np.uint64) -> np.uint64:
    """The board with left and right exchanged."""
    board = ((board >> _S8) & np.uint64(0x00FF00FF00FF00FF)) | (
        (board & np.uint64(0x00FF00FF00FF00FF)) << _S8
    )
    return ((board >> _S4) & np.uint64(0x0F0F0F0F0F0F0F0F)) | ((board & np.uint64(0x0F0F0F0F0F0F0F0F)) << _S4)


@njit
def turned_to(board: np.uint64, direction: Int) -> np.uint64:
    """The board turned so that the direction is towards the lowest bits of each lane."""
    if direction in (UP, DOWN):
        board = transposed(board)
    return mirrored(board) if direction in (UP, RIGHT) else board


@njit
def _slid(board: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The board after all rows slide towards their lowest bits, and a quarter of the tiles that are made."""
    after, made = ZERO, ZERO
    for row in range(4):
        slid = np.uint64(SLID[(board >> np.uint64(16 * row)) & _LANE])
        after |= (slid & _LANE) << np.uint64(16 * row)
        made += slid >> _S16
    return after, made


@njit
def slide(board: np.uint64, direction: Int) -> tuple[np.uint64, np.uint64]:
    """The board after a move, without a new tile, and the sum of the tiles that were made."""
    board, made = _slid(turned_to(board, direction))
    if direction in (UP, RIGHT):
        board = mirrored(board)
    if direction in (UP, DOWN):
        board = transposed(board)
    return board, made << _S2


@njit
def has_tile(board: np.uint64, exponent: np.uint64) -> bool:
    """Whether there is a tile with this exponent."""
    return bool(_taken(board ^ (exponent * _CELLS)) != _CELLS)


@njit
def play(state: State, move: int) -> None:
    """Slide all tiles, or place a new one; ``state`` is modified in place."""
    if state[PHASE] == np.uint64(TILE):
        state[BOARD] |= np.uint64(1 + (move & 1)) << np.uint64(4 * (move >> 1))
        state[PHASE] = np.uint64(MOVE) if open_directions(state[BOARD]) != ZERO else np.uint64(OVER)
        return
    board, score = slide(state[BOARD], move - DIRECTION)
    state[BOARD] = board
    state[SCORE] += score
    made = score >= ONE << state[LAST] and has_tile(board, state[LAST])
    state[PHASE] = np.uint64(OVER) if made else np.uint64(TILE)


@njit
def is_terminal(state: State) -> bool:
    """Whether no move changes the board, or the tile that ends the game was made."""
    return bool(state[PHASE] == np.uint64(OVER))


@njit
def returns(state: State) -> float:
    """The score so far."""
    return float(state[SCORE])


@njit
def _random_tile(board: np.uint64, random: np.uint64) -> np.uint64:
    """A new tile as bits of the board, drawn by 64 random bits."""
    cell = random_bit(~_taken(board) & _CELLS, random >> S32)
    return cell << ONE if random & LOW_32 < _FOURS else cell


@njit
def _random_direction(directions: np.uint64, random: np.uint64) -> int:
    """One of the bits of ``directions``, drawn by 64 random bits: its place."""
    return place_of(bit_of_rank(directions, ((random >> S32) * count(directions)) >> S32))


@njit
def random_move(state: State, moves: Moves, stream: Stream) -> int:
    """A uniformly random legal move."""
    return DIRECTION + _random_direction(open_directions(state[BOARD]), next_uint64(stream))


@njit
def chance(state: State, moves: Moves, stream: Stream) -> int:
    """A new tile on a uniformly random empty cell: a 2, with probability 0.1 a 4."""
    tile = _random_tile(state[BOARD], next_uint64(stream))
    place = place_of(tile)
    return 2 * (place >> 2) + (place & 1)


@njit
def playout(state: State, moves: Moves, stream: Stream) -> int:
    """Play uniformly random moves, and tiles by chance, to the end; returns the plies.

    SCORE and PHASE are valid then, and the board is the last one.
    """
    if state[PHASE] == np.uint64(OVER):
        return 0
    board, total, last = state[BOARD], state[SCORE], state[LAST]
    plies = 0
    if state[PHASE] == np.uint64(TILE):
        board |= _random_tile(board, next_uint64(stream))
        plies = 1
    end = ONE << last
    directions = open_directions(board)
    while directions != ZERO:
        board, score = slide(board, _random_direction(directions, next_uint64(stream)))
        total += score
        plies += 1
        if score >= end and has_tile(board, last):
            break
        board |= _random_tile(board, next_uint64(stream))
        plies += 1
        directions = open_directions(board)
    state[BOARD], state[SCORE], state[PHASE] = board, total, np.uint64(OVER)
    return plies


@njit
def worth_of(board: np.uint64) -> Int:
    """The worth of all rows and columns of a board in points, at least 0."""
    turned = transposed(board)
    total = np.int64(0)
    for _ in range(4):
        total += np.int64(WORTHS[board & _LANE]) + np.int64(WORTHS[turned & _LANE])
        board >>= _S16
        turned >>= _S16
    return max(total, np.int64(0))


@njit
def evaluate(state: State) -> float:
    """The points that are still to come, estimated by the worth of the board."""
    return float(worth_of(state[BOARD]))


@njit
def worth_after(board: np.uint64) -> Int:
    """The tiles that are made when all rows slide towards their lowest bits, and the worth of the board then.

    -1 if nothing moves.
    """
    after, made = _slid(board)
    if after == board:
        return np.int64(-1)
    return worth_of(after) + 4 * np.int64(made)


@njit
def priority(state: State, move: int) -> float:
    """The tiles that a move makes, and the worth of the board after it; 0.0 for a new tile."""
    if move < DIRECTION:
        return 0.0
    return float(worth_after(turned_to(state[BOARD], move - DIRECTION)))


@njit
def greedy_move(state: State, moves: Moves, stream: Stream) -> int:
    """A uniformly random one of the moves with the highest priority."""
    number = 0
    if state[PHASE] == np.uint64(TILE):
        number = legal_moves(state, moves)
    else:
        best: Int = np.int64(0)
        for direction in range(4):
            worth = worth_after(turned_to(state[BOARD], direction))
            if worth > best:
                best, number = worth, 0
            if worth == best:
                moves[number] = DIRECTION + direction
                number += 1
    return int(moves[0] if number == 1 else moves[below(stream, number)])
