"""Forced wins of gomoku by sequences of fours.

Whoever makes a four, a window of five adjacent cells with four stones of one player and an empty cell, wins
at the next move unless the other player occupies that cell. So a player who has four after four decides all
moves of both, until two cells complete a five. Such wins are deep and have next to no branches. Other
programs call the search for them VCF, victory by continuous fours. Sequences with threes, which leave the
other player a choice, are left to the tree.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.bits import place_of
from games.gomoku.rules import (
    AREA,
    CANDIDATES,
    CELLS,
    EXACT,
    ROWS,
    SIZE,
    STONES,
    State,
    lines_of,
)
from games.jit import Int, called_njit, njit
from games.rng import mix
from games.rules import Moves

POSITIONS = 100
"""The most positions that one search for a sequence looks at."""

_LINES = (CELLS - ROWS) // 2
_COLUMNS, _RISING, _FALLING = 26, 46, 85
"""Numbers of the first column, rising and falling diagonal, where rows are counted from 0."""
_LEVEL = 4
GAIN, REPLY, PLACE, MUST = range(_LEVEL)
"""Of each ply of the sequence's player: its move, the other player's, where the search for fours goes on,
and 1 + the cell that has to be occupied, or 0."""

_EMPTY = [[bit for bit in range(5) if not mask >> bit & 1] for mask in range(32)]
_LOW = np.array([min(bits, default=0) for bits in _EMPTY], dtype=np.int64)
_HIGH = np.array([max(bits, default=0) for bits in _EMPTY], dtype=np.int64)
"""By the mask of a player's stones in a window: its first and last empty cell."""


@njit
def decisive_moves(state: State, moves: Moves, scratch: Moves, kept: npt.NDArray[np.uint64]) -> int:
    """See `Rules.decisive_moves`: a move that begins a winning sequence of fours; or, where the other player
    would have such a sequence, the moves after which it may not win.

    Positions in which neither has one are noted in ``kept`` by a hash.
    """
    if state[CANDIDATES] == 1:
        # The cells of a four may be too far from stones.
        return 0
    player = np.int64(state[STONES]) & 1
    key = mix(np.uint64(2 * state[EXACT] + player))
    for line in range(ROWS, ROWS + 2 * np.int64(state[SIZE])):
        key = mix(key ^ np.uint64(state[line]))
    place = key % np.uint64(len(kept))
    if kept[place] == key:
        return 0
    for turn in range(2):
        depth = _win_by_fours(state, player ^ turn, scratch)
        if depth >= 0 and turn == 0:
            moves[0] = scratch[GAIN]
            return -1
        if depth >= 0:
            return _defences(state, player, moves, scratch, depth)
    kept[place] = key
    return 0


@called_njit
def _win_by_fours(state: State, player: Int, scratch: Moves) -> int:
    """How many fours ``player``, who is to move, makes before a winning five; -1 if no such sequence was
    found.

    ``scratch``, uint16[size * size], is left with the levels of the sequence, and as one more GAIN the cell
    of the five. The state is unchanged afterwards.
    """
    depth, looked_at = np.int64(0), 0
    arrives = True
    while depth >= 0:
        level = depth * _LEVEL
        if arrives:
            looked_at += 1
            five, must, other = _fives(state, player, scratch, level)
            if five >= 0:
                scratch[level + GAIN] = five
                for above in range(depth):
                    _turn(state, player, scratch, above * _LEVEL)
                return depth  # type: ignore[return-value]
            arrives = bool(other < 0 and level + 2 * _LEVEL <= len(scratch))
            scratch[level + PLACE], scratch[level + MUST] = 0, must + 1
        else:
            _turn(state, player, scratch, level)
            arrives = True
        if arrives and looked_at < POSITIONS and _next_four(state, player, scratch, level):
            _turn(state, player, scratch, level)
            depth += 1
        else:
            arrives = False
            depth -= 1
    return -1


@called_njit
def _defences(state: State, player: Int, moves: Moves, scratch: Moves, depth: Int) -> int:
    """Write to ``moves`` what ``player``, who is to move, can play against the sequence of `_win_by_fours`;
    returns how many.

    After any other move the same sequence wins: the stone is on none of its cells, and with all its replies
    no window of the player's has four stones with the new one, so that nothing interrupts it.
    """
    count = _add(state, moves, 0, np.int64(scratch[depth * _LEVEL + GAIN]))
    if depth == 0:
        return count
    for level in range(0, depth * _LEVEL, _LEVEL):
        count = _add(state, moves, count, np.int64(scratch[level + GAIN]))
        count = _add(state, moves, count, np.int64(scratch[level + REPLY]))
        _turn_one(state, player, np.int64(scratch[level + REPLY]))
    for number in range(_LINES):
        ours = np.int64(state[ROWS + 2 * number + player])
        if _fewer_than_three(ours):
            continue
        threes, fours = _windows(state, number, player, 0)
        found = threes | fours
        while found != 0:
            start = _low_bit(found)
            found &= found - 1
            for bit in range(start, start + 5):
                if (ours >> bit) & 1 == 0:
                    count = _add(state, moves, count, _cell(state, number, bit))
    for level in range(0, depth * _LEVEL, _LEVEL):
        _turn_one(state, player, np.int64(scratch[level + REPLY]))
    return count


@njit
def _add(state: State, moves: Moves, count: Int, cell: Int) -> int:
    """Append a cell to the first ``count`` of ``moves``, if it is playable and not among them; returns how
    many there are then."""
    for i in range(count):
        if moves[i] == cell:
            return count  # type: ignore[return-value]
    if state[CELLS + state[AREA] + cell] < 0:
        return count  # type: ignore[return-value]
    moves[count] = cell
    return count + 1  # type: ignore[return-value]


@called_njit
def _fives(state: State, player: Int, scratch: Moves, level: Int) -> tuple[int, int, int]:
    """At a level of the sequence a cell with which ``player`` completes a five, and two different ones of the
    other player; -1 for those that there are not."""
    size = np.int64(state[SIZE])
    five, must, other = -1, -1, -1
    for turn in range(2):
        # Above the first level new fours are on the four lines through the last stones.
        last = np.int64(scratch[level - _LEVEL + turn]) if level > 0 else 0
        row = last // size
        column = last - row * size
        found, second = -1, -1
        for number in range(_LINES if level == 0 else 4):
            if level > 0:
                number = (  # type: ignore[assignment]
                    row,
                    _COLUMNS + column,
                    _RISING + row - column + size - 1,
                    _FALLING + row + column,
                )[number]
            found, second = _in_line(state, player ^ turn, number, found, second)
        if turn == 0:
            five = found
        else:
            must, other = found, second
    return five, must, other


@njit
def _in_line(state: State, player: Int, number: Int, found: Int, other: Int) -> tuple[int, int]:
    """Two different cells with which ``player`` completes a five: ``found`` and ``other``, or where they are
    -1 those of a line."""
    if not _fewer_than_three(np.int64(state[ROWS + 2 * number + player])):
        _, fours = _windows(state, number, player, np.int64(state[EXACT]))
        while fours != 0:
            start = _low_bit(fours)
            fours &= fours - 1
            cell = _cell(state, number, start + _LOW[_stones(state, number, player, start)])
            if found < 0:
                found = cell
            elif cell != found:
                other = cell
    return found, other  # type: ignore[return-value]


@called_njit
def _next_four(state: State, player: Int, scratch: Moves, level: Int) -> bool:
    """Note in ``scratch`` the next move of ``player`` that makes a four, and the only reply; False if there
    is none."""
    place = np.int64(scratch[level + PLACE])
    must = np.int64(scratch[level + MUST]) - 1
    for number in range(place >> 6, _LINES):
        ours = np.int64(state[ROWS + 2 * number + player])
        if _fewer_than_three(ours):
            continue
        threes, _ = _windows(state, number, player, np.int64(state[EXACT]))
        while threes != 0:
            start = _low_bit(threes)
            threes &= threes - 1
            window = _stones(state, number, player, start)
            low = _cell(state, number, start + _LOW[window])
            high = _cell(state, number, start + _HIGH[window])
            here = np.int64(number) << 6 | start << 1
            if here >= place and (must < 0 or must == low):
                scratch[level + GAIN], scratch[level + REPLY], scratch[level + PLACE] = low, high, here | 1
                return True
            if here | 1 >= place and (must < 0 or must == high):
                scratch[level + GAIN], scratch[level + REPLY], scratch[level + PLACE] = high, low, here + 2
                return True
    return False


@njit
def _windows(state: State, number: Int, player: Int, exact: Int) -> tuple[int, int]:
    """The windows of a line without stones of the other player, with three and with four of the player's:
    masks of their first bits. If ``exact``, without those where five stones would be part of a longer row.
    Stones are counted in all windows at once, each bit of the sums in a mask."""
    ours = np.int64(state[ROWS + 2 * number + player])
    theirs = np.int64(state[ROWS + 2 * number + 1 - player])
    first, end = _extent(state, number)
    closed = theirs | theirs >> 1 | theirs >> 2 | theirs >> 3 | theirs >> 4
    if exact != 0:
        closed |= ours << 1 | ours >> 5
    open_ = ((1 << max(end - 4, first)) - (1 << first)) & ~closed
    second, third, fourth, fifth = ours >> 1, ours >> 2, ours >> 3, ours >> 4
    odd = ours ^ second ^ third
    carried = (ours & second) | (ours & third) | (second & third)
    carried_too = (odd & fourth) | (odd & fifth) | (fourth & fifth)
    odd ^= fourth ^ fifth
    few, many = (carried ^ carried_too) & open_, carried & carried_too & open_
    return few & odd, many & ~odd  # type: ignore[return-value]


@njit
def _stones(state: State, number: Int, player: Int, start: Int) -> int:
    """The mask of the player's stones in the window of a line that begins at bit ``start``."""
    return (np.int64(state[ROWS + 2 * number + player]) >> start) & 31  # type: ignore[return-value]


@njit
def _low_bit(mask: Int) -> int:
    """The place of the lowest bit of a mask that is not empty."""
    return place_of(np.uint64(mask & -mask))


@njit
def _fewer_than_three(mask: Int) -> bool:
    once = mask & (mask - 1)
    return once & (once - 1) == 0


@njit
def _extent(state: State, number: Int) -> tuple[int, int]:
    """The first bit of a line's cells, and the bit after the last."""
    size = np.int64(state[SIZE])
    if number < _RISING:
        return 0, size  # type: ignore[return-value]
    if number < _FALLING:
        beyond = number - _RISING - size + 1
        return max(0, -beyond), size - max(0, beyond)  # type: ignore[return-value]
    beyond = number - _FALLING - size + 1
    return max(0, beyond), min(size, size + beyond)  # type: ignore[return-value]


@njit
def _cell(state: State, number: Int, bit: Int) -> int:
    """The move code of a line's cell."""
    size = np.int64(state[SIZE])
    row, column = np.int64(number), np.int64(bit)
    if number >= _FALLING:
        row = row - _FALLING - column
    elif number >= _RISING:
        row = row - _RISING - size + 1 + column
    elif number >= _COLUMNS:
        row, column = column, row - _COLUMNS
    return row * size + column  # type: ignore[return-value]


@njit
def _turn(state: State, player: Int, scratch: Moves, level: Int) -> None:
    """Set the stones of a level that are not there, or take them away again."""
    _turn_one(state, player, np.int64(scratch[level + GAIN]))
    _turn_one(state, 1 - player, np.int64(scratch[level + REPLY]))


@called_njit
def _turn_one(state: State, owner: Int, cell: Int) -> None:
    """Set a stone in the lines through a cell, or take it away again."""
    size = np.int64(state[SIZE])
    row = cell // size
    column = cell - row * size
    in_row, in_column, rising, falling = lines_of(size, row, column)  # type: ignore[arg-type]
    state[in_row + owner] ^= np.int32(1 << column)
    state[in_column + owner] ^= np.int32(1 << row)
    state[rising + owner] ^= np.int32(1 << column)
    state[falling + owner] ^= np.int32(1 << column)
