"""Which fleets fit the answers that a player got: tables from which games.battleship.sampling draws.

A fleet that fits is a set of ships that cover all hits, and of ships that cover none. A table is a
list of entries, each of which names for every ship a range of placements, so that every fleet that
fits belongs to exactly one entry. How finely entries tell fleets apart depends on how many there are:

* FLEETS: one entry for each fleet; ranges of one placement each.
* COVERS: one entry for each way to cover the hits by ships that do not clash; the ships that cover no hit
  range over all their placements on untried cells.
* CLASSES: placements that cover the same hits are one range.

A fleet drawn from an entry's ranges fits unless two of its ships clash; then another is drawn.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.battleship.placements import WORD_BITS, WORDS
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
from games.jit import njit
from games.specialise import cached_njit

Ints = npt.NDArray[np.int64]

FLEETS, COVERS, CLASSES = 0, 1, 2
ID_BITS = 9
"""Bits of a placement's place among its ship's, and of a range's length: up to 7 ships in 63 bits."""
MAX_ENTRIES = 4_096
MAX_NODES = 100_000
"""Before the list is left for a coarser one: entries, and steps taken in search of them."""

SHIP, START, COUNT, MASK, CELLS_AT = 0, 1, 2, 3, 4
HALO_AT = CELLS_AT + WORDS
ID = HALO_AT + WORDS
WIDTH = ID + 1
"""Columns of a candidate: ship, range (start among the ship's, count), hits as a mask, cells, halo, and
the placement's place among all."""

USED, COVERED, STARTS, COUNTS, WEIGHT, AHEAD, BEHIND, LISTED, TAKEN = range(9)
LEVEL_WIDTH = TAKEN + WORDS
"""Columns of a level of the search for entries: the ships used and the hits covered as bits; ranges
and weight so far; candidates yet to try, from AHEAD up to BEHIND, and whether these are places in the hit's
list (else in the list of all); the cells in use."""


@cached_njit
def candidates_of(
    state: Ints, side: int, starts: Ints, cells: Ints, halos: Ints, first: Ints, step: Ints
) -> Ints:
    """[n, WIDTH] the placements that fit the answers one by one, by ship and by the hits they cover.

    Bit i of the hits is the i-th hit in ascending order of cells.
    """
    block = BLOCK + BLOCK_LENGTH * side
    base = CELLS + side * state[AREA]
    number = np.zeros(state[AREA], dtype=np.int64)
    hits = np.zeros(WORDS, dtype=np.int64)
    num_hits = 0
    for cell in range(state[AREA]):
        if state[base + cell] >= HIT_FIRST:
            number[cell] = num_hits
            num_hits += 1
            hits[cell // WORD_BITS] |= 1 << (cell % WORD_BITS)
    found = np.zeros((len(first), WIDTH), dtype=np.int64)
    count = 0
    for ship in range(state[NUM_SHIPS]):
        start = count
        announced, sunk_cell = -1, -1
        for n in range(state[block + NUM_SUNK]):
            if state[block + SUNK_SHIP + n] == ship:
                announced, sunk_cell = n, state[block + SUNK_CELL + n]
        for place in range(starts[ship], starts[ship + 1]):
            mask, latest, num_covered = 0, 0, 0
            fits, sinks = True, announced < 0
            for i in range(state[LENGTHS + ship]):
                cell = first[place] + i * step[place]
                status = state[base + cell]
                if status >= HIT_FIRST:
                    mask |= 1 << number[cell]
                    latest = max(latest, status - HIT_FIRST)
                    num_covered += 1
                    sinks = sinks or cell == sunk_cell
                elif status != 0:
                    fits = False
            whole = num_covered == state[LENGTHS + ship]
            if announced >= 0:
                fits = fits and sinks and whole and latest <= announced
            elif state[ANNOUNCE] != 0:
                fits = fits and not whole
            # A hit beside the ship would be a ship that touches it.
            for word in range(WORDS):
                if halos[place, word] & ~cells[place, word] & hits[word] != 0:
                    fits = False
            if fits:
                row = found[count]
                row[SHIP], row[COUNT], row[MASK], row[ID] = ship, 1, mask, place
                for word in range(WORDS):
                    row[CELLS_AT + word] = cells[place, word]
                    row[HALO_AT + word] = halos[place, word]
                count += 1
        order = np.argsort(found[start:count, MASK], kind="mergesort")
        found[start:count] = found[start:count][order]
        for n in range(start, count):
            found[n, START] = n - start
    return found[:count].copy()


@cached_njit
def classes_of(singles: Ints) -> Ints:
    """[n, WIDTH] the candidates joined to ranges by the hits they cover; without cells and halo."""
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
            joined[count, : MASK + 1] = singles[n, : MASK + 1]
            count += 1
    return joined[:count].copy()


@njit
def _hopeless(row: Ints, near: Ints, most: Ints) -> bool:
    """Whether the unused ships are too few, or too short, for the hits that are not covered.

    Hits that no placement covers together ask for a ship each.
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
    """Set what may be tried at a new level; False if there is nothing left to try: an entry is whole."""
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
    """Add the candidate to the level and write the next one, unless it clashes."""
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
    """Fill in for each hit those that a placement covers with it, for each ship how many it can cover."""
    for n in range(len(candidates)):
        num_covered = 0
        for hit in range(len(near)):
            if (candidates[n, MASK] >> hit) & 1 != 0:
                near[hit] |= candidates[n, MASK]
                num_covered += 1
        most[candidates[n, SHIP]] = max(most[candidates[n, SHIP]], num_covered)


@njit
def _note_twins(candidates: Ints, free: Ints, sizes: Ints, twins: Ints) -> None:
    """Fill in for each ship those before it that have the very same candidates, as bits."""
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


@cached_njit
def list_entries(
    candidates: Ints, num_ships: int, num_hits: int, each_fleet: bool, max_entries: int, max_nodes: int
) -> tuple[bool, Ints]:
    """Whether all entries were found, and these: [n, 3] weight, starts and counts of the ships' ranges.

    Depth first: the hit with the fewest candidates that is not covered is covered in every way, then
    ships that cover none are placed in every way, the one with the fewest placements first
    (``each_fleet``), or given the range of all. An entry's weight is the product of its counts. Ends
    early after max_entries entries, or after max_nodes steps if at least one entry was found. Until
    one is found, what failed with a ship is not tried with another of its kind.
    """
    near, most = np.zeros(num_hits, dtype=np.int64), np.zeros(num_ships, dtype=np.int64)
    _note_masks(candidates, near, most)
    sizes, twins = np.zeros(num_ships, dtype=np.int64), np.zeros(num_ships, dtype=np.int64)
    free = np.zeros((num_ships, 3), dtype=np.int64)
    hit_starts = np.zeros(num_hits + 1, dtype=np.int64)
    for n in range(len(candidates)):
        ship = candidates[n, SHIP]
        if n == 0 or candidates[n - 1, SHIP] != ship:
            free[ship, 0] = free[ship, 1] = n
        sizes[ship] += 1
        if candidates[n, MASK] == 0:
            free[ship, 1] = n + 1
            free[ship, 2] += candidates[n, COUNT]
        for hit in range(num_hits):
            hit_starts[hit + 1] += (candidates[n, MASK] >> hit) & 1
    _note_twins(candidates, free, sizes, twins)
    order = np.argsort(hit_starts[1:], kind="mergesort")
    by_hit = np.zeros(hit_starts.sum(), dtype=np.int64)
    end = 0
    for hit in range(num_hits):
        for n in range(len(candidates)):
            if (candidates[n, MASK] >> hit) & 1 != 0:
                by_hit[end] = n
                end += 1
        hit_starts[hit + 1] = end
    entries = np.zeros((64, 3), dtype=np.int64)
    levels = np.zeros((MAX_SHIPS + 2, LEVEL_WIDTH), dtype=np.int64)
    levels[0, WEIGHT] = 1
    num_entries, nodes, level = 0, 0, 0
    entering = True
    while level >= 0:
        row = levels[level]
        if entering and not _open(levels, level, order, hit_starts, free, near, most, each_fleet):
            total, counts = row[WEIGHT], row[COUNTS]
            for ship in range(num_ships):
                if (row[USED] >> ship) & 1 == 0:
                    total *= free[ship, 2]
                    counts |= free[ship, 2] << (ID_BITS * ship)
            if total > 0:
                if num_entries == max_entries:
                    return False, entries[:num_entries].copy()
                if num_entries == len(entries):
                    longer = np.zeros((2 * num_entries, 3), dtype=np.int64)
                    longer[:num_entries] = entries
                    entries = longer
                entries[num_entries, 0], entries[num_entries, 1], entries[num_entries, 2] = (
                    total,
                    row[STARTS],
                    counts,
                )
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
