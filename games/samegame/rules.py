"""The compiled rules of SameGame: bitboards of 16 bits a column, flood fill on all columns at once.

A state is ``uint64[LENGTH]``: three planes of four words, the number of stones of each colour, the points of
all moves, the bonus and the penalty of the end, whether the game is over, and the number of columns of the
board.

The colours are 1 to 7; plane p has bit p of the colour of each cell, and an empty cell is 0 in all of them. A
word has four columns of 16 bits, a column its rows from the bottom; its last bit is never set. A set of cells
is four words too.

A move code is row * columns + column, row 0 at the bottom, of the first cell of the group: of its leftmost
column the lowest cell.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.bits import ONE, ZERO, bit_of_rank, count, place_of
from games.jit import Int, njit
from games.rng import Stream, next_uint64
from games.rules import Moves

WORDS = 4
PLANES = 3
COUNTS, POINTS, BONUS, PENALTY, OVER, COLUMNS = 12, 20, 21, 22, 23, 24
"""Indices into a state, after the planes; the stones of colour c are counted at COUNTS + c."""
LENGTH = 25
MOST_COLOURS = 7
CLEARED = 1000
"""The bonus for an empty board."""

State = npt.NDArray[np.uint64]
Cells = tuple[np.uint64, np.uint64, np.uint64, np.uint64]

_S16, _S32, _S48 = np.uint64(16), np.uint64(32), np.uint64(48)
_COLUMN = np.uint64(0xFFFF)


@njit
def current_player(state: State) -> int:
    """Always 0, the only player."""
    return 0


@njit
def is_terminal(state: State) -> bool:
    """Whether no two neighbours have the same colour."""
    return bool(state[OVER] != ZERO)


@njit
def returns(state: State) -> float:
    """The points so far; at the end with the bonus for an empty board or the penalty for stones."""
    return float(state[POINTS]) + float(state[BONUS]) - float(state[PENALTY])


@njit
def _equal_neighbours(state: State, word: int) -> tuple[np.uint64, np.uint64]:
    """The cells of a word with the same colour as (the cell above, the cell to the right)."""
    above = aside = taken = ZERO
    for plane in range(0, PLANES * WORDS, WORDS):
        bits = state[plane + word]
        shifted = bits >> _S16
        if word < WORDS - 1:
            shifted |= state[plane + word + 1] << _S48
        above |= bits ^ (bits >> ONE)
        aside |= bits ^ shifted
        taken |= bits
    return taken & ~above, taken & ~aside


@njit
def _groups(state: State) -> tuple[Cells, Cells]:
    """(all cells of groups of two or more, those with no cell of their group to the left or below)."""
    up_0, right_0 = _equal_neighbours(state, 0)
    up_1, right_1 = _equal_neighbours(state, 1)
    up_2, right_2 = _equal_neighbours(state, 2)
    up_3, right_3 = _equal_neighbours(state, 3)
    after_0 = (up_0 << ONE) | (right_0 << _S16)
    after_1 = (up_1 << ONE) | (right_1 << _S16) | (right_0 >> _S48)
    after_2 = (up_2 << ONE) | (right_2 << _S16) | (right_1 >> _S48)
    after_3 = (up_3 << ONE) | (right_3 << _S16) | (right_2 >> _S48)
    before_0, before_1, before_2, before_3 = up_0 | right_0, up_1 | right_1, up_2 | right_2, up_3 | right_3
    grouped = before_0 | after_0, before_1 | after_1, before_2 | after_2, before_3 | after_3
    corners = before_0 & ~after_0, before_1 & ~after_1, before_2 & ~after_2, before_3 & ~after_3
    return grouped, corners


@njit
def _colour_at(state: State, word: Int, bit: np.uint64) -> Int:
    """The colour of the cell with this bit of a word, 0 if it is empty."""
    first = np.int64((state[word] & bit) != ZERO)
    second = np.int64((state[WORDS + word] & bit) != ZERO)
    return first | second << 1 | np.int64((state[2 * WORDS + word] & bit) != ZERO) << 2


@njit
def _of_colour(state: State, word: int, colour: Int) -> np.uint64:
    """The cells of a word that have this colour."""
    flip_0, flip_1, flip_2 = _when_not(colour, 0), _when_not(colour, 1), _when_not(colour, 2)
    first, second, third = state[word], state[WORDS + word], state[2 * WORDS + word]
    cells: np.uint64 = (first ^ flip_0) & (second ^ flip_1) & (third ^ flip_2)
    return cells


@njit
def _when_not(colour: Int, plane: int) -> np.uint64:
    """All bits if the colour does not have the bit of the plane, else none."""
    return ZERO if (colour >> plane) & 1 else ~ZERO


@njit
def _group_of(state: State, word: Int, bit: np.uint64) -> Cells:
    """The cells of the group of a cell, by growing in all four directions until nothing is new."""
    colour = _colour_at(state, word, bit)
    like_0, like_1 = _of_colour(state, 0, colour), _of_colour(state, 1, colour)
    like_2, like_3 = _of_colour(state, 2, colour), _of_colour(state, 3, colour)
    g0 = bit if word == 0 else ZERO
    g1 = bit if word == 1 else ZERO
    g2 = bit if word == 2 else ZERO
    g3 = bit if word == 3 else ZERO
    while True:
        n0 = (g0 | (g0 << ONE) | (g0 >> ONE) | (g0 << _S16) | (g0 >> _S16) | (g1 << _S48)) & like_0
        n1 = g1 | (g1 << ONE) | (g1 >> ONE) | (g1 << _S16) | (g1 >> _S16) | (g0 >> _S48) | (g2 << _S48)
        n2 = g2 | (g2 << ONE) | (g2 >> ONE) | (g2 << _S16) | (g2 >> _S16) | (g1 >> _S48) | (g3 << _S48)
        n3 = (g3 | (g3 << ONE) | (g3 >> ONE) | (g3 << _S16) | (g3 >> _S16) | (g2 >> _S48)) & like_3
        n1 &= like_1
        n2 &= like_2
        if n0 == g0 and n1 == g1 and n2 == g2 and n3 == g3:
            return g0, g1, g2, g3
        g0, g1, g2, g3 = n0, n1, n2, n3


@njit
def _first_of(cells: Cells) -> tuple[int, np.uint64]:
    """The (word, bit) of the first cell of a set that is not empty."""
    if cells[0] != ZERO:
        return 0, cells[0] & (~cells[0] + ONE)
    if cells[1] != ZERO:
        return 1, cells[1] & (~cells[1] + ONE)
    if cells[2] != ZERO:
        return 2, cells[2] & (~cells[2] + ONE)
    return 3, cells[3] & (~cells[3] + ONE)


@njit
def _code_of(state: State, word: int, bit: np.uint64) -> int:
    """The move code of a cell."""
    place = place_of(bit)
    return int((place & 15) * np.int64(state[COLUMNS]) + WORDS * word + (place >> 4))


@njit
def _cell_of(state: State, move: int) -> tuple[Int, np.uint64]:
    """The (word, bit) of a move code."""
    columns = np.int64(state[COLUMNS])
    row, column = move // columns, move % columns
    return column >> 2, ONE << np.uint64(16 * (column & 3) + row)


@njit
def legal_moves(state: State, moves: Moves) -> int:
    """Write the first cell of each group of two or more, column by column from the left; returns how many."""
    left, _ = _groups(state)
    number = 0
    while (left[0] | left[1] | left[2] | left[3]) != ZERO:
        word, bit = _first_of(left)
        moves[number] = _code_of(state, word, bit)
        number += 1
        group = _group_of(state, word, bit)
        left = left[0] & ~group[0], left[1] & ~group[1], left[2] & ~group[2], left[3] & ~group[3]
    return number


@njit
def play(state: State, move: int) -> None:
    """Remove the group of a cell; ``state`` is modified in place."""
    word, bit = _cell_of(state, move)
    _remove(state, _group_of(state, word, bit))
    grouped, _ = _groups(state)
    if (grouped[0] | grouped[1] | grouped[2] | grouped[3]) == ZERO:
        finish(state)


@njit
def finish(state: State) -> None:
    """Mark the game as over, with the bonus or the penalty; ``state`` is modified in place."""
    state[OVER] = ONE
    left = ZERO
    for colour in range(1, MOST_COLOURS + 1):
        number = np.int64(state[COUNTS + colour])
        left += state[COUNTS + colour]
        if number > 0:
            state[PENALTY] += np.uint64((number - 2) * (number - 2))
    if left == ZERO:
        state[BONUS] = np.uint64(CLEARED)


@njit
def _remove(state: State, group: Cells) -> None:
    """Remove these cells, let stones fall, close empty columns, and count; ``state`` is modified in place."""
    word, bit = _first_of(group)
    number = count(group[0]) + count(group[1]) + count(group[2]) + count(group[3])
    state[COUNTS + _colour_at(state, word, bit)] -= number
    state[POINTS] += (number - np.uint64(2)) * (number - np.uint64(2))
    empty = _fall(state, 0, group[0]) | _fall(state, 1, group[1]) << 4
    empty |= _fall(state, 2, group[2]) << 8 | _fall(state, 3, group[3]) << 12
    column = 4 * WORDS - 1
    while empty != 0:
        if (empty >> column) & 1:
            _close(state, column)
            empty ^= 1 << column
        column -= 1


@njit
def _fall(state: State, word: int, group: np.uint64) -> int:
    """Remove cells of a word; the stones above them fall. Bit c of the answer: column c became empty."""
    empty = 0
    for column in range(4):
        shift = np.uint64(16 * column)
        removed = (group >> shift) & _COLUMN
        if removed == ZERO:
            continue
        old_0, old_1, old_2 = state[word], state[WORDS + word], state[2 * WORDS + word]
        first = (old_0 >> shift) & _COLUMN
        second = (old_1 >> shift) & _COLUMN
        third = (old_2 >> shift) & _COLUMN
        while removed != ZERO:
            below = (removed & (~removed + ONE)) - ONE
            first = (first & below) | ((first >> ONE) & ~below)
            second = (second & below) | ((second >> ONE) & ~below)
            third = (third & below) | ((third >> ONE) & ~below)
            removed = (removed & (removed - ONE)) >> ONE
        others = ~(_COLUMN << shift)
        state[word] = (old_0 & others) | (first << shift)
        state[WORDS + word] = (old_1 & others) | (second << shift)
        state[2 * WORDS + word] = (old_2 & others) | (third << shift)
        if (first | second | third) == ZERO:
            empty |= 1 << column
    return empty


@njit
def _close(state: State, column: int) -> None:
    """Move all columns to the right of an empty one to the left by one; ``state`` is modified in place."""
    first = column >> 2
    keep = (ONE << np.uint64(16 * (column & 3))) - ONE
    for plane in range(0, PLANES * WORDS, WORDS):
        for word in range(first, WORDS):
            bits = state[plane + word]
            moved = bits >> _S16
            if word < WORDS - 1:
                moved |= state[plane + word + 1] << _S48
            state[plane + word] = (bits & keep) | (moved & ~keep) if word == first else moved


@njit
def _rank_in(cells: Cells, random: np.uint64) -> tuple[int, np.uint64]:
    """The (word, bit) of a uniformly random cell of a set that is not empty, drawn by 64 random bits."""
    n0, n1, n2 = count(cells[0]), count(cells[1]), count(cells[2])
    rank = ((random >> _S32) * (n0 + n1 + n2 + count(cells[3]))) >> _S32
    if rank < n0:
        return 0, bit_of_rank(cells[0], rank)
    rank -= n0
    if rank < n1:
        return 1, bit_of_rank(cells[1], rank)
    rank -= n1
    if rank < n2:
        return 2, bit_of_rank(cells[2], rank)
    return 3, bit_of_rank(cells[3], rank - n2)


@njit
def _random_group(state: State, corners: Cells, stream: Stream) -> Cells:
    """A uniformly random group of those with a cell among ``corners``.

    These are all cells of groups that have no cell of their group to the left or below, so the first cell of
    each group and some others, which are drawn again.
    """
    while True:
        word, bit = _rank_in(corners, next_uint64(stream))
        group = _group_of(state, word, bit)
        first_word, first_bit = _first_of(group)
        if first_word == word and first_bit == bit:
            return group


@njit
def random_move(state: State, moves: Moves, stream: Stream) -> int:
    """A uniformly random legal move."""
    _, corners = _groups(state)
    word, bit = _first_of(_random_group(state, corners, stream))
    return _code_of(state, word, bit)


@njit
def playout(state: State, moves: Moves, stream: Stream) -> int:
    """Play uniformly random moves to the end; returns the plies."""
    plies = 0
    if state[OVER] != ZERO:
        return plies
    while True:
        grouped, corners = _groups(state)
        if (grouped[0] | grouped[1] | grouped[2] | grouped[3]) == ZERO:
            finish(state)
            return plies
        _remove(state, _random_group(state, corners, stream))
        plies += 1


@njit
def tabu_colour(state: State) -> int:
    """The colour of most stones; of several the one with the lowest number."""
    tabu = 1
    for colour in range(2, MOST_COLOURS + 1):
        if state[COUNTS + colour] > state[COUNTS + tabu]:
            tabu = colour
    return tabu


@njit
def priority(state: State, move: int) -> float:
    """0.0 for a group of the colour of most stones, 1.0 for others.

    Stones of that colour are kept, to become one large group (TabuColorRandom: Schadd, Winands, van den
    Herik, Chaslot, Uiterwijk, "Single-player Monte-Carlo tree search", CG 2008).
    """
    word, bit = _cell_of(state, move)
    return 0.0 if _colour_at(state, word, bit) == tabu_colour(state) else 1.0


@njit
def greedy_move(state: State, moves: Moves, stream: Stream) -> int:
    """A uniformly random move of another colour than that of most stones, if there is one."""
    _, corners = _groups(state)
    tabu = tabu_colour(state)
    others = (
        corners[0] & ~_of_colour(state, 0, tabu),
        corners[1] & ~_of_colour(state, 1, tabu),
        corners[2] & ~_of_colour(state, 2, tabu),
        corners[3] & ~_of_colour(state, 3, tabu),
    )
    if (others[0] | others[1] | others[2] | others[3]) != ZERO:
        corners = others
    word, bit = _first_of(_random_group(state, corners, stream))
    return _code_of(state, word, bit)
