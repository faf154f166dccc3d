"""Heuristic priority of shots: the weighted number of placements of single ships that cover the cell.

A placement counts if its ship is not announced as sunk and it covers no miss and no cell of a sunk
ship. Its weight is HIT_WEIGHT to the number of hits that it covers. Whether ships touch or cross each other
is ignored. Which hits belong to a sunk ship is read from the position; in a simulation, from the fleets
drawn.
"""

from __future__ import annotations

import math

import numpy as np

from games.battleship.rules import (
    ANNOUNCE,
    AREA,
    CELLS,
    DEALT,
    HIT_FIRST,
    HITS,
    LENGTHS,
    MISSED,
    NUM_SHIPS,
    NUM_SUNK,
    PENDING,
    SHOOTER,
    SIZE,
    SUNK_CELL,
    SUNK_SET,
    SUNK_SHIP,
    State,
    block_of,
    legal_moves,
)
from games.jit import njit
from games.rng import Stream, below
from games.rules import Moves

HIT_WEIGHT = 100.0
REACH = 5
"""How many cells a ship can extend on either side of one of its cells: the longest ship has six."""

WEIGHTS = np.array([HIT_WEIGHT ** bin(mask).count("1") for mask in range(1 << (2 * REACH + 1))])
"""float64[2048]: by mask of hits, HIT_WEIGHT to the number of its bits."""


@njit
def priority(state: State, move: int) -> float:
    """The density of the shot's cell, a whole number; 0.0 for every answer."""
    if state[PENDING] != 0:
        return 0.0
    row, column = move // state[SIZE], move % state[SIZE]
    return _along(state, move, 1, column) + _along(state, move, int(state[SIZE]), row)


@njit
def greedy_move(state: State, moves: Moves, stream: Stream) -> int:
    """A shot of the highest density, or a possible answer; ties are broken uniformly at random."""
    if state[PENDING] != 0:
        return int(moves[below(stream, legal_moves(state, moves))])
    cells = CELLS + state[SHOOTER] * state[AREA]
    best = -math.inf
    count = 0
    for cell in range(state[AREA]):
        if state[cells + cell] & 15 == 0:
            score = priority(state, cell)
            if score > best:
                best = score
                count = 0
            if score == best:
                moves[count] = cell
                count += 1
    return int(moves[below(stream, count)])


@njit
def _along(state: State, cell: int, step: int, place: int) -> float:
    """The weight of the placements that cover the cell in one line; ``place`` is its index in the line."""
    block, cells = block_of(state[SHOOTER]), CELLS + state[SHOOTER] * state[AREA]
    # Bit REACH is the cell itself.
    low, high = REACH, REACH
    hits = 0
    while low > 0 and REACH - low < place:
        status = _status(state, block, cells, cell - (REACH - low + 1) * step)
        if status == MISSED:
            break
        low -= 1
        hits |= (status == HIT_FIRST) << low
    while high < 2 * REACH and high - REACH < state[SIZE] - 1 - place:
        status = _status(state, block, cells, cell + (high - REACH + 1) * step)
        if status == MISSED:
            break
        high += 1
        hits |= (status == HIT_FIRST) << high
    total = 0.0
    for ship in range(state[NUM_SHIPS]):
        if (state[block + SUNK_SET] >> ship) & 1 == 0:
            length = state[LENGTHS + ship]
            for start in range(max(low, REACH - length + 1), min(REACH, high - length + 1) + 1):
                total += WEIGHTS[hits & (((1 << length) - 1) << start)]
    return total


@njit
def _status(state: State, block: int, cells: int, cell: int) -> int:
    """0 for an untried cell, HIT_FIRST for a hit on a ship afloat, MISSED where no ship afloat can be."""
    value = state[cells + cell]
    status = value & 15
    if status < HIT_FIRST:
        return int(status)
    if state[ANNOUNCE] != 0 and state[block + NUM_SUNK] > 0 and _is_sunk(state, block, value >> 4, cell):
        return MISSED
    return HIT_FIRST


@njit
def _is_sunk(state: State, block: int, ship: int, cell: int) -> bool:
    """Whether a hit belongs to a sunk ship. While the fleets are not dealt, only the hits that sank a ship
    are known to, or all hits if the sunk ships account for every hit."""
    if state[DEALT] != 0:
        return bool((state[block + SUNK_SET] >> (ship - 1)) & 1 != 0)
    left = state[block + HITS]
    found = False
    for number in range(state[block + NUM_SUNK]):
        left -= state[LENGTHS + state[block + SUNK_SHIP + number]]
        found |= state[block + SUNK_CELL + number] == cell
    return bool(found or left == 0)
