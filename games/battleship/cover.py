"""Tables of the fleets that fit a player's answers. games.battleship.sampling draws fleets from them.

In a fleet that fits, some ships cover all hits and the others cover none. A table is a list of entries.
An entry gives a range of placements for every ship, and every fleet that fits belongs to exactly one
entry. There are three kinds of table, from fine to coarse; the number of fleets decides which is used:

* FLEETS: one entry for each fleet; every range is a single placement.
* COVERS: one entry for each way to cover the hits with ships that do not clash. The range of a ship that
  covers no hit is all its placements on untried cells.
* CLASSES: one entry for each way to divide the hits among ships; a range is all placements of a ship that
  cover one set of hits. Whether ships clash on other cells is left to the drawing.

A fleet drawn from an entry's ranges fits unless two of its ships clash; then another one is drawn.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from games.battleship.placements import WORD_BITS, WORDS, mask_of, placements_of
from games.battleship.rules import (
    ANNOUNCE,
    AREA,
    BLOCK,
    BLOCK_LENGTH,
    CELLS,
    HIT_FIRST,
    LENGTHS,
    MAX_SHIPS,
    NUM_SHIPS,
    NUM_SUNK,
    SUNK_CELL,
    SUNK_SHIP,
)
from games.compile.specialise import cached_njit
from games.jit import njit

Ints = npt.NDArray[np.int64]

FLEETS, COVERS, CLASSES = 0, 1, 2
ID_BITS = 9
"""Bits for one ship's start or length of a range of placements: 7 ships need 63 bits."""
MAX_ENTRIES = 4_096
"""The most entries of a table; with more, the next coarser kind of table is tried."""
MAX_NODES = 100_000
"""The most steps of the search for entries; after more, the next coarser kind of table is tried."""

SHIP, START, COUNT, MASK, CELLS_AT = 0, 1, 2, 3, 4
HALO_AT = CELLS_AT + WORDS
ID = HALO_AT + WORDS
WIDTH = ID + 1
"""Columns of a candidate, a range of placements of one ship: the ship's number, START (index of the first
one among the ship's candidates) and COUNT, the covered hits as a mask, the cells, the halo, and ID, the
index among all placements."""

USED, COVERED, STARTS, COUNTS, WEIGHT, AHEAD, BEHIND, LISTED, TAKEN = range(9)
LEVEL_WIDTH = TAKEN + WORDS
"""Columns of a level of the search for entries: the used ships and the covered hits as bits; the ranges
and the weight so far; AHEAD and BEHIND, the range of candidates yet to try, and LISTED, whether that range
indexes the lists by hit (otherwise the candidates); the cells in use as a mask."""


@njit
def _number_hits(state: Ints, base: int, numbers: Ints, hits: Ints) -> None:
    """Fill in ``numbers`` [area], each hit's number in ascending order of cells, and ``hits``, their mask."""
    num_hits = 0
    for cell in range(state[AREA]):
        if state[base + cell] >= HIT_FIRST:
            numbers[cell] = num_hits
            num_hits += 1
            hits[cell // WORD_BITS] |= 1 << (cell % WORD_BITS)


@njit
def _hits_of(
    state: Ints, base: int, length: int, cell: int, step: int, announced: int, sunk_cell: int, numbers: Ints
) -> int:
    """The hits that a placement from ``cell`` on covers, as a mask; -1 if it contradicts an answer.

    ``announced`` is the number of the announcement of the ship and ``sunk_cell`` the shot that sank it, or
    -1 for both.
    """
    mask, latest, num_covered = 0, 0, 0
    sinks = announced < 0
    for _ in range(length):
        status = state[base + cell]
        if status >= HIT_FIRST:
            mask |= 1 << numbers[cell]
            latest = max(latest, status - HIT_FIRST)
            num_covered += 1
            sinks = sinks or cell == sunk_cell
        elif status != 0:
            return -1
        cell += step
    if announced >= 0:
        return mask if sinks and num_covered == length and latest <= announced else -1
    return -1 if state[ANNOUNCE] != 0 and num_covered == length else mask


@njit
def _sort(keys: Ints, order: Ints) -> None:
    """Fill ``order`` with the indices of the keys, ascending by key, equal ones in their order.

    By insertion: keys are few and most of them equal. NumPy's stable sort takes seconds to compile.
    """
    for n in range(len(keys)):
        place = n
        while place > 0 and keys[order[place - 1]] > keys[n]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = n


@cached_njit
def candidates_of(
    state: Ints, side: int, starts: Ints, cells: Ints, halos: Ints, first: Ints, step: Ints
) -> Ints:
    """int64[n, WIDTH]: the placements of single ships that fit the answers, sorted by ship, then by MASK.

    Bit i of MASK is the i-th hit in ascending order of cells. ``starts`` to ``step`` are the fields of
    `Placements`.
    """
    block, base = BLOCK + BLOCK_LENGTH * side, CELLS + side * state[AREA]
    numbers, hits = np.zeros(state[AREA], dtype=np.int64), np.zeros(WORDS, dtype=np.int64)
    _number_hits(state, base, numbers, hits)
    found = np.zeros((len(first), WIDTH), dtype=np.int64)
    count = 0
    for ship in range(state[NUM_SHIPS]):
        start, length = count, state[LENGTHS + ship]
        announced, sunk_cell = -1, -1
        for n in range(state[block + NUM_SUNK]):
            if state[block + SUNK_SHIP + n] == ship:
                announced, sunk_cell = n, state[block + SUNK_CELL + n]
        for place in range(starts[ship], starts[ship + 1]):
            mask = _hits_of(state, base, length, first[place], step[place], announced, sunk_cell, numbers)
            # A hit in the halo would belong to a ship that touches this one.
            for word in range(WORDS):
                if halos[place, word] & ~cells[place, word] & hits[word] != 0:
                    mask = -1
            if mask >= 0:
                row = found[count]
                row[SHIP], row[COUNT], row[MASK], row[ID] = ship, 1, mask, place
                for word in range(WORDS):
                    row[CELLS_AT + word] = cells[place, word]
                    row[HALO_AT + word] = halos[place, word]
                count += 1
        unsorted, order = found[start:count].copy(), np.empty(count - start, dtype=np.int64)
        _sort(unsorted[:, MASK], order)
        for n in range(count - start):
            for column in range(WIDTH):
                found[start + n, column] = unsorted[order[n], column]
            found[start + n, START] = n
    return found[:count].copy()


@cached_njit
def classes_of(singles: Ints) -> Ints:
    """int64[n, WIDTH]: the candidates joined to ranges with equal ship and MASK; cells and halo are 0."""
    joined = np.zeros((len(singles), WIDTH), dtype=np.int64)
    count = 0
    for n in range(len(singles)):
        if (
            count > 0
            and joined[count - 1, SHIP] == singles[n, SHIP]
            and joined[count - 1, MASK] == singles[n, MASK]
        ):
            joined[count - 1, COUNT] += 1
        else:
            for column in range(MASK + 1):
                joined[count, column] = singles[n, column]
            count += 1
    return joined[:count].copy()


@njit
def _hopeless(row: Ints, near: Ints, most: Ints) -> bool:
    """Whether the unused ships are too few or too short for the hits that are not yet covered.

    Hits of which no placement covers two need a ship each.
    """
    ships, cells = 0, 0
    for ship in range(len(most)):
        if (row[USED] >> ship) & 1 == 0:
            ships += 1
            cells += most[ship]
    apart = ~row[COVERED]
    for hit in range(len(near)):
        cells -= 1 - ((row[COVERED] >> hit) & 1)
        if (apart >> hit) & 1 != 0:
            ships -= 1
            apart &= ~near[hit]
    return bool(ships < 0 or cells < 0)


@njit
def _open(
    levels: Ints,
    level: int,
    order: Ints,
    hit_starts: Ints,
    free: Ints,
    near: Ints,
    most: Ints,
    each_fleet: bool,
) -> bool:
    """Set the candidates to try at a new level. False if there are none because the entry is complete."""
    row = levels[level]
    if _hopeless(row, near, most):
        row[LISTED], row[AHEAD], row[BEHIND] = 0, 0, 0
        return True
    hit = 0
    while hit < len(order) and (row[COVERED] >> order[hit]) & 1 != 0:
        hit += 1
    row[LISTED] = hit < len(order)
    if hit < len(order):
        row[AHEAD], row[BEHIND] = hit_starts[order[hit]], hit_starts[order[hit] + 1]
        return True
    row[AHEAD], row[BEHIND] = 0, 0
    if not each_fleet:
        return False
    fewest = -1
    for ship in range(len(free)):
        if (row[USED] >> ship) & 1 == 0 and (fewest < 0 or free[ship, 2] < free[fewest, 2]):
            fewest = ship
    if fewest < 0:
        return False
    row[AHEAD], row[BEHIND] = free[fewest, 0], free[fewest, 1]
    return True


@njit
def _descend(levels: Ints, level: int, candidate: Ints) -> bool:
    """Write level + 1 as ``level`` with the candidate added. False, and nothing written, if it clashes."""
    above, below = levels[level], levels[level + 1]
    bit = np.int64(1) << candidate[SHIP]
    clash = (above[USED] & bit) | (above[COVERED] & candidate[MASK])
    for word in range(WORDS):
        clash |= above[TAKEN + word] & candidate[HALO_AT + word]
    if clash != 0:
        return False
    below[USED] = above[USED] | bit
    below[COVERED] = above[COVERED] | candidate[MASK]
    for word in range(WORDS):
        below[TAKEN + word] = above[TAKEN + word] | candidate[CELLS_AT + word]
    shift = ID_BITS * candidate[SHIP]
    below[STARTS] = above[STARTS] | (candidate[START] << shift)
    below[COUNTS] = above[COUNTS] | (candidate[COUNT] << shift)
    below[WEIGHT] = above[WEIGHT] * candidate[COUNT]
    return True


@njit
def _note_masks(candidates: Ints, near: Ints, most: Ints) -> None:
    """Fill ``near[hit]``, the hits that one placement can cover together with it, and ``most[ship]``, the
    largest number of hits that the ship can cover."""
    for n in range(len(candidates)):
        num_covered = 0
        for hit in range(len(near)):
            if (candidates[n, MASK] >> hit) & 1 != 0:
                near[hit] |= candidates[n, MASK]
                num_covered += 1
        most[candidates[n, SHIP]] = max(most[candidates[n, SHIP]], num_covered)


@njit
def _note_twins(candidates: Ints, free: Ints, sizes: Ints, twins: Ints) -> None:
    """Fill ``twins[ship]``: a bit for each earlier ship with exactly equal candidates."""
    for ship in range(len(twins)):
        for other in range(ship):
            alike = sizes[ship] == sizes[other]
            if alike:
                for i in range(sizes[ship]):
                    for column in range(START, ID):
                        ours, theirs = free[ship, 0] + i, free[other, 0] + i
                        alike = alike and candidates[ours, column] == candidates[theirs, column]
            if alike:
                twins[ship] |= 1 << other


@njit
def _note_ranges(candidates: Ints, sizes: Ints, free: Ints, hit_starts: Ints) -> None:
    """Fill in the numbers of candidates by ship and by hit, and the ranges of those that cover no hit.

    ``sizes[ship]``: number of the ship's candidates. ``free[ship]``: start and end of those that cover no
    hit, and their number of placements. ``hit_starts[hit + 1]``: number of candidates that cover the hit.
    """
    for n in range(len(candidates)):
        ship = candidates[n, SHIP]
        if n == 0 or candidates[n - 1, SHIP] != ship:
            free[ship, 0] = free[ship, 1] = n
        sizes[ship] += 1
        if candidates[n, MASK] == 0:
            free[ship, 1] = n + 1
            free[ship, 2] += candidates[n, COUNT]
        for hit in range(len(hit_starts) - 1):
            hit_starts[hit + 1] += (candidates[n, MASK] >> hit) & 1


@njit
def _list_by_hit(candidates: Ints, hit_starts: Ints, by_hit: Ints) -> None:
    """Fill in the candidates that cover each hit: by_hit[hit_starts[hit] : hit_starts[hit + 1]]."""
    end = 0
    for hit in range(len(hit_starts) - 1):
        for n in range(len(candidates)):
            if (candidates[n, MASK] >> hit) & 1 != 0:
                by_hit[end] = n
                end += 1
        hit_starts[hit + 1] = end


@njit
def _finish(row: Ints, free: Ints, entry: Ints) -> bool:
    """Write the complete entry of a level; False if a ship that covers no hit has no placement."""
    entry[0], entry[1], entry[2] = row[WEIGHT], row[STARTS], row[COUNTS]
    for ship in range(len(free)):
        if (row[USED] >> ship) & 1 == 0:
            entry[0] *= free[ship, 2]
            entry[2] |= free[ship, 2] << (ID_BITS * ship)
    return bool(entry[0] > 0)


@cached_njit
def list_entries(
    candidates: Ints, num_ships: int, num_hits: int, each_fleet: bool, max_entries: int, max_nodes: int
) -> tuple[bool, Ints]:
    """(whether all entries were found, int64[n, 3] with weight, starts and counts of the ships' ranges).

    Depth first: the uncovered hit with the fewest candidates is covered in every way. Then, for
    ``each_fleet``, ships that cover no hit are placed in every way, the ship with the fewest placements
    first; otherwise each of them gets the range of all its placements. An entry's weight is the product of
    its counts. The search ends early after ``max_entries`` entries, or after ``max_nodes`` steps if an
    entry was found. Until one is found, a choice that failed for a ship is not repeated for an equal ship.
    """
    near, most = np.zeros(num_hits, dtype=np.int64), np.zeros(num_ships, dtype=np.int64)
    _note_masks(candidates, near, most)
    sizes, twins = np.zeros(num_ships, dtype=np.int64), np.zeros(num_ships, dtype=np.int64)
    free, hit_starts = np.zeros((num_ships, 3), dtype=np.int64), np.zeros(num_hits + 1, dtype=np.int64)
    _note_ranges(candidates, sizes, free, hit_starts)
    _note_twins(candidates, free, sizes, twins)
    order = np.empty(num_hits, dtype=np.int64)
    _sort(hit_starts[1:], order)
    num_listed = 0
    for number in hit_starts:
        num_listed += int(number)
    by_hit = np.zeros(num_listed, dtype=np.int64)
    _list_by_hit(candidates, hit_starts, by_hit)
    entries = np.zeros((64, 3), dtype=np.int64)
    levels = np.zeros((MAX_SHIPS + 2, LEVEL_WIDTH), dtype=np.int64)
    levels[0, WEIGHT] = 1
    num_entries, nodes, level = 0, 0, 0
    entering = True
    while level >= 0:
        row = levels[level]
        if entering and not _open(levels, level, order, hit_starts, free, near, most, each_fleet):
            if num_entries == len(entries):
                longer = np.zeros((2 * num_entries, 3), dtype=np.int64)
                for n in range(num_entries):
                    for column in range(3):
                        longer[n, column] = entries[n, column]
                entries = longer
            if _finish(row, free, entries[num_entries]):
                if num_entries == max_entries:
                    return False, entries[:num_entries].copy()
                num_entries += 1
        nodes += 1
        if nodes > max_nodes and num_entries > 0:
            return False, entries[:num_entries].copy()
        if row[AHEAD] == row[BEHIND]:
            level -= 1
            entering = False
            continue
        n = by_hit[row[AHEAD]] if row[LISTED] != 0 else row[AHEAD]
        row[AHEAD] += 1
        if num_entries == 0 and twins[candidates[n, SHIP]] & ~row[USED] != 0:
            entering = False
            continue
        entering = _descend(levels, level, candidates[n])
        level += entering
    return True, entries[:num_entries].copy()


@lru_cache(maxsize=4_096)
def leaves_room(size: int, fleet: tuple[int, ...], touch: str, placed: int, taken: bytes) -> bool:
    """Whether the ships from number ``placed`` on fit on a board with ``taken`` cells (a bool for each)."""
    placements = placements_of(size, fleet, touch)
    mask = mask_of(np.flatnonzero(np.frombuffer(taken, dtype=bool)).tolist())
    free = np.flatnonzero(~(placements.halos & mask).any(axis=1))
    ships = np.searchsorted(placements.starts, free, side="right") - 1 - placed
    free, ships = free[ships >= 0], ships[ships >= 0]
    ranges = np.outer(np.ones_like(free), [0, 1, 0])  # START (of no use here), COUNT, MASK.
    candidates = np.column_stack([ships, ranges, placements.cells[free], placements.halos[free], free])
    return not list_entries(candidates, len(fleet) - placed, 0, True, 0, MAX_NODES)[0]
