"""How many more shots a practised shooter needs: what `evaluate` goes by."""

from __future__ import annotations

import math

import numpy as np

from games.battleship.rules import (
    AREA,
    BLOCK,
    CELLS,
    HITS,
    LEFT,
    LENGTHS,
    NUM_SHIPS,
    PENDING,
    SHOTS,
    SIDES,
    SIZE,
    TOTAL,
    State,
    block_of,
    worth,
)
from games.jit import njit

MISSES_A_FIND = 0.3
"""Misses between a ship's first hit and its last."""
LONGEST = 6
"""Cells of the longest ship there can be."""
COUNT_BITS = 9
"""Of a number of placements: at most two for each of 144 cells."""
COUNT = (1 << COUNT_BITS) - 1
LINE_BITS = 12
LINE = (1 << LINE_BITS) - 1
"""The cells of a row as bits."""
_ALIKE = sum(1 << (LINE_BITS * k) for k in range(LONGEST - 1))
_KEPT = (1 << (LINE_BITS * (LONGEST - 2))) - 1
_ONES = np.array([bin(mask).count("1") for mask in range(LINE + 1)], dtype=np.int64)


@njit
def evaluate(state: State) -> float:
    """What is to be expected of players who know how to look for ships.

    Alone: the return of `shots_to_come`. Race: how much longer the other needs, as a share of both.
    """
    own = shots_to_come(state, 0)
    if state[SIDES] == 2:
        other = shots_to_come(state, 1)
        return (other - own) / (other + own)
    pending = 1.0 if state[PENDING] != 0 else 0.0
    return worth(state, float(state[BLOCK + SHOTS]) - pending + own)


@njit
def shots_to_come(state: State, side: int) -> float:
    """About how many; a shot that awaits its answer is not made yet.

    A hit for every cell that is left, and the misses: some for every ship that was found and not sunk,
    and those until the last of the others is found. Each of these is found, independently, after a
    number of misses that is uniform up to sqrt(untried cells * lines / 2) / its length, where lines are
    its placements on untried cells alone: nearly two a cell on an empty board. (Over all positions of
    4,000 games of a shooter by density, right to 0.2 shots in the mean.)
    """
    block = block_of(side)
    room = lines_of(state, CELLS + side * state[AREA])
    untried = float(room & COUNT)
    found = 0
    # The last of k is found at a mean of (integral of 1 - the product of their shares found by then).
    # The shorter the ship the longer it takes, so each length ends a piece of the integral.
    longest, before, share = 0.0, 0.0, 0.0
    hidden, product = 0, 1.0
    for length in range(1, LONGEST + 1):
        alike = 0
        for ship in range(state[NUM_SHIPS]):
            if state[LENGTHS + ship] == length:
                left = state[block + LEFT + ship]
                alike += left == length
                found += 0 < left < length
        if alike == 0:
            continue
        lines = float((room >> (COUNT_BITS * (length - 1))) & COUNT)
        if length == 1:
            lines *= 2.0
        search = math.sqrt(0.5 * untried * lines) / float(length)
        if hidden == 0:
            longest = search
        else:
            share += _piece(before, search, product, hidden)
        for _ in range(alike):
            product *= search
        hidden += alike
        before = search
    if hidden > 0:
        share += _piece(before, 0.0, product, hidden)
    misses = longest - share + MISSES_A_FIND * float(found)
    return min(untried, float(state[TOTAL] - state[block + HITS]) + misses)


@njit
def _piece(high: float, low: float, product: float, number: int) -> float:
    """The integral of x ** number / product from low to high."""
    power_high, power_low = high, low
    for _ in range(number):
        power_high *= high
        power_low *= low
    if product == 0.0:
        return 0.0
    return (power_high - power_low) / (product * float(number + 1))


@njit
def lines_of(state: State, cells: int) -> int:
    """For each length, from 1 on and COUNT_BITS each, the placements on untried cells alone.

    ``cells`` is where the side's cells begin. Of length 1 there is one for each cell.
    """
    size = state[SIZE]
    total = 0
    # For each length: where in the row above one less than it ends, from above to below.
    above = 0
    for row in range(size):
        line = 0
        first = cells + row * size
        for column in range(size):
            line |= ((state[first + column] & 15) == 0) << column
        down = above & (line * _ALIKE)
        above = line | ((down & _KEPT) << LINE_BITS)
        total += _ONES[line]
        across = line
        shift = 0
        for length in range(2, LONGEST + 1):
            across &= line >> (length - 1)
            number = _ONES[across] + _ONES[(down >> shift) & LINE]
            shift += LINE_BITS
            total += number << (COUNT_BITS * (length - 1))
    return total
