"""The compiled rules of 2048: a board of 64 bits, whose rows or columns all slide at once.

A state is ``uint64[LENGTH]``: the board, the score (the sum of all tiles that were made by merging), the
phase (MOVE: the player is to move; TILE: a new tile is due; OVER), and the exponent of the tile that ends
the game.

The board has four bits for each cell, cell 4 * row + column from the lowest bits on, row 0 at the bottom: the
exponent of its tile (1 for a 2, 2 for a 4), or 0. A row is a lane of 16 bits. To slide, the board is turned
so that the direction is towards the lowest bits of each lane.

Move codes are DIRECTION and above: up, right, down, left. An outcome of chance is the cell, times two, plus 0
for a 2 or 1 for a 4.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.bits import ONE, ZERO, bit_of_rank, count, place_of, random_bit
from games.jit import Int, njit
from games.rng import Stream, next_uint64
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

_S1, _S2, _S4, _S8, _S12, _S16, _S24, _S32 = (np.uint64(shift) for shift in (1, 2, 4, 8, 12, 16, 24, 32))
_LANES = np.uint64(0x0001000100010001)
"""The lowest bit of each lane."""
_NIBBLE = np.uint64(0x000F000F000F000F)
"""The lowest nibble of each lane."""
_CELLS = np.uint64(0x1111111111111111)
"""The lowest bit of each nibble."""
_NOT_RIGHT = np.uint64(0x0111011101110111)
_NOT_TOP = np.uint64(0x0000111111111111)
_ABOVE_0 = np.uint64(0xFFF0FFF0FFF0FFF0)
_ABOVE_1 = np.uint64(0xFF00FF00FF00FF00)
_ABOVE_2 = np.uint64(0xF000F000F000F000)
_ABOVE_3 = ZERO
"""The nibbles of each lane above its first, second, third and fourth."""
_15 = np.uint64(15)
_LOW_32 = np.uint64(0xFFFFFFFF)
_FOURS = np.uint64(FOURS)


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
    """Write the directions that change the board, or the tiles that can come, in ascending order."""
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
def _whole_lanes(lowest: np.uint64) -> np.uint64:
    """All bits of the lanes whose lowest bit is set."""
    return (lowest << _S16) - lowest


@njit
def _lanes_without(board: np.uint64, place: np.uint64) -> np.uint64:
    """The lowest bit of the lanes whose nibble at the bit ``place`` is zero."""
    return ((((((board >> place) & _NIBBLE) + _NIBBLE) >> _S4) & _LANES) ^ _LANES) & _LANES


@njit
def _close(board: np.uint64, place: np.uint64, above: np.uint64) -> np.uint64:
    """Where the nibble at ``place`` is zero, those ``above`` it move down by one."""
    falling = board & _whole_lanes(_lanes_without(board, place)) & above
    return board ^ falling ^ (falling >> _S4)


@njit
def _merge(
    board: np.uint64, place: np.uint64, above: np.uint64, beyond: np.uint64, score: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Where the nibbles at ``place`` and after it are equal tiles, merge them; (board, new score).

    ``above`` are the nibbles above ``place``, ``beyond`` those above the next one.
    """
    equal = _lanes_without(board ^ (board >> _S4), place) & ~_lanes_without(board, place)
    if equal == ZERO:
        return board, score
    rest = board & _whole_lanes(equal) & above
    board = (board ^ rest ^ ((rest & beyond) >> _S4)) + (equal << place)
    while equal != ZERO:
        lane = place_of(equal & (~equal + ONE))
        equal &= equal - ONE
        score += ONE << ((board >> (np.uint64(lane) + place)) & _15)
    return board, score


@njit
def turned_to(board: np.uint64, direction: Int) -> np.uint64:
    """The board turned so that the direction is towards the lowest bits of each lane."""
    if direction in (UP, DOWN):
        board = transposed(board)
    return mirrored(board) if direction in (UP, RIGHT) else board


@njit
def slide(board: np.uint64, direction: Int) -> tuple[np.uint64, np.uint64]:
    """The board after a move, without a new tile, and the sum of the tiles that were made."""
    board = turned_to(board, direction)
    board = _close(board, _S8, _ABOVE_2)
    board = _close(board, _S4, _ABOVE_1)
    board = _close(board, ZERO, _ABOVE_0)
    board, score = _merge(board, ZERO, _ABOVE_0, _ABOVE_1, ZERO)
    board, score = _merge(board, _S4, _ABOVE_1, _ABOVE_2, score)
    board, score = _merge(board, _S8, _ABOVE_2, _ABOVE_3, score)
    if direction in (UP, RIGHT):
        board = mirrored(board)
    if direction in (UP, DOWN):
        board = transposed(board)
    return board, score


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
    cell = random_bit(~_taken(board) & _CELLS, random >> _S32)
    return cell << ONE if random & _LOW_32 < _FOURS else cell


@njit
def _random_direction(directions: np.uint64, random: np.uint64) -> int:
    """One of the bits of ``directions``, drawn by 64 random bits: its place."""
    return place_of(bit_of_rank(directions, ((random >> _S32) * count(directions)) >> _S32))


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
