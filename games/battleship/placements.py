"""All placements of each ship on an empty board, and tables of the fleets that fit a player's answers.

A mask of cells is WORDS integers of WORD_BITS bits each; cell c is bit c % WORD_BITS of integer
c // WORD_BITS. games.battleship.sampling draws fleets from the tables.

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

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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

WORD_BITS = 48
WORDS = 3

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


class Placements(NamedTuple):
    """The placements of all ships, ship by ship: those of ship k are starts[k] to starts[k + 1] - 1."""

    starts: Ints
    """int64[ships + 1]: index of each ship's first placement; the last element is n, the number of all."""
    cells: Ints
    """int64[n, WORDS]: mask of the cells that the ship covers."""
    halos: Ints
    """int64[n, WORDS]: mask of the ship's cells and of the cells that it forbids to other ships."""
    first: Ints
    """int64[n]: the lowest cell."""
    step: Ints
    """int64[n]: the difference between neighbouring cells of the ship: 1 or the board's size."""
    blocked: Ints
    """int64[n, ships]: how many placements of each ship the placement rules out."""


def mask_of(cells: list[int]) -> list[int]:
    """The mask of a list of cells."""
    words = [0] * WORDS
    for cell in cells:
        words[cell // WORD_BITS] |= 1 << cell % WORD_BITS
    return words


@lru_cache(maxsize=32)
def placements_of(size: int, fleet: tuple[int, ...], touch: str) -> Placements:
    """All placements of a fleet (ship lengths) on a board of ``size`` x ``size`` cells.

    ``touch`` says whether ships may touch: any, no_side (not along sides) or no_contact.
    """
    rows = []
    starts = [0]
    for length in fleet:
        for first in range(size * size):
            row, column = divmod(first, size)
            steps = [(1, column)] if length == 1 else [(1, column), (size, row)]
            for step, place in steps:
                if place + length <= size:
                    cells = [first + i * step for i in range(length)]
                    rows.append((mask_of(cells), mask_of(_halo(size, cells, touch)), first, step))
        starts.append(len(rows))
    masks, halos, first_of, step_of = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    clash = (masks[:, None, :] & halos[None, :, :]).any(axis=2)
    blocked = np.add.reduceat(clash, starts[:-1], axis=1).astype(np.int64)
    return Placements(np.array(starts, dtype=np.int64), masks, halos, first_of, step_of, blocked)


def free_places(placements: Placements, chosen: Sequence[int]) -> list[int]:
    """The placements of the next ship that go with the placements ``chosen`` of the ships before it."""
    start, end = placements.starts[len(chosen) : len(chosen) + 2].tolist()
    taken = np.bitwise_or.reduce(placements.cells[np.array(chosen, dtype=np.int64)], axis=0)
    clash = (placements.halos[start:end] & taken).any(axis=1)
    return [start + place for place in np.flatnonzero(~clash).tolist()]


def cells_of(placements: Placements, place: int, length: int) -> list[int]:
    """The cells of a placement of a ship of this length, in ascending order."""
    return [int(placements.first[place] + i * placements.step[place]) for i in range(length)]


def fits_at_once(placements: Placements, chosen: Sequence[int] = ()) -> bool:
    """Whether a greedy placement (each ship after the chosen takes its first free placement) succeeds.

    A fleet may fit the board although the greedy placement fails.
    """
    placed = [*chosen]
    while len(placed) < len(placements.starts) - 1:
        free = free_places(placements, placed)
        if not free:
            return False
        placed.append(free[0])
    return True


def _halo(size: int, cells: list[int], touch: str) -> list[int]:
    near = {"any": 0, "no_side": 1, "no_contact": 2}[touch]
    found = set()
    for cell in cells:
        row, column = divmod(cell, size)
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                inside = 0 <= row + down < size and 0 <= column + right < size
                if inside and abs(down) + abs(right) <= near:
                    found.add(cell + down * size + right)
    return sorted(found)


class Lists(NamedTuple):
    """The candidates of a search for entries, by ship and by hit."""

    near: Ints
    """int64[hits]: by hit, the mask of all hits that some placement covers together with it."""
    most: Ints
    """int64[ships]: the largest number of hits that each ship can cover."""
    free: Ints
    """int64[ships, 3]: start and end of the candidates that cover no hit, and their number of placements."""
    twins: Ints
    """int64[ships]: a bit for each earlier ship with exactly equal candidates."""
    order: Ints
    """int64[hits]: the hits, those with the fewest candidates first."""
    hit_starts: Ints
    """int64[hits + 1]: where in ``by_hit`` the candidates begin that cover each hit."""
    by_hit: Ints
    """int64[n]: the candidates that cover each hit."""


def candidates_of(state: Ints, side: int, placements: Placements) -> Ints:
    """int64[n, WIDTH]: the placements of single ships that fit the answers, sorted by ship, then by MASK.

    Bit i of MASK is the i-th hit in ascending order of cells.
    """
    block, base = BLOCK + BLOCK_LENGTH * side, CELLS + side * state[AREA]
    shots, num_ships = state[base : base + state[AREA]], int(state[NUM_SHIPS])
    ships = np.repeat(np.arange(num_ships), np.diff(placements.starts))
    lengths = state[LENGTHS : LENGTHS + num_ships][ships]
    along = np.arange(lengths.max())
    inside = along < lengths[:, None]
    cells = placements.first[:, None] + np.where(inside, along * placements.step[:, None], 0)
    is_hit = shots >= HIT_FIRST
    bits = np.where(is_hit, np.int64(1) << np.maximum(np.cumsum(is_hit) - 1, 0), 0)
    hits = inside & is_hit[cells]
    masks, whole = (bits[cells] * hits).sum(axis=1), hits.sum(axis=1) == lengths
    # By ship, the number of the announcement that it is sunk, and the shot that sank it; -1 if it is not.
    announced, sinking = np.full((2, num_ships), -1, dtype=np.int64)
    sunk = state[block + SUNK_SHIP :][: state[block + NUM_SUNK]]
    announced[sunk] = np.arange(len(sunk))
    sinking[sunk] = state[block + SUNK_CELL :][: len(sunk)]
    latest = (hits * (shots[cells] - HIT_FIRST)).max(axis=1)
    at_last = (cells == sinking[ships][:, None]).any(axis=1)
    as_sunk = whole & at_last & (latest <= announced[ships])
    fits = np.where(announced[ships] >= 0, as_sunk, ~whole | (state[ANNOUNCE] == 0))
    fits &= ~(inside & (shots[cells] != 0) & ~hits).any(axis=1)
    # A hit in the halo would belong to a ship that touches this one.
    fits &= ~(placements.halos & ~placements.cells & mask_of(np.flatnonzero(is_hit).tolist())).any(axis=1)
    ids = np.flatnonzero(fits)
    ids = ids[np.lexsort((masks[ids], ships[ids]))]
    starts = np.arange(len(ids)) - np.searchsorted(ships[ids], ships[ids])
    ranges = [ships[ids], starts, np.ones_like(ids), masks[ids]]
    return np.column_stack([*ranges, placements.cells[ids], placements.halos[ids], ids])


def classes_of(singles: Ints) -> Ints:
    """int64[n, WIDTH]: the candidates joined to ranges with equal ship and MASK; cells and halo are 0."""
    _, begins, counts = np.unique(singles[:, [SHIP, MASK]], axis=0, return_index=True, return_counts=True)
    joined = np.zeros((len(begins), WIDTH), dtype=np.int64)
    joined[:, : MASK + 1] = singles[begins, : MASK + 1]
    joined[:, COUNT] = counts
    return joined


def lists_of(candidates: Ints, num_ships: int, num_hits: int) -> Lists:
    """The lists of candidates that are sorted by ship, then by MASK."""
    ships, masks = candidates[:, SHIP], candidates[:, MASK]
    covers = (masks[:, None] >> np.arange(num_hits) & 1).astype(bool)
    counts = covers.sum(axis=0)
    most = np.zeros(num_ships, dtype=np.int64)
    np.maximum.at(most, ships, covers.sum(axis=1))
    bounds = np.searchsorted(ships, np.arange(num_ships + 1))
    own = [candidates[start:end, START:ID] for start, end in pairwise(bounds.tolist())]
    twins = [
        sum(1 << other for other in range(k) if np.array_equal(own[k], own[other])) for k in range(num_ships)
    ]
    idle = np.bincount(ships[masks == 0], minlength=num_ships)
    places = np.bincount(ships, candidates[:, COUNT] * (masks == 0), num_ships).astype(np.int64)
    return Lists(
        near=np.bitwise_or.reduce(np.where(covers, masks[:, None], 0), axis=0),
        most=most,
        free=np.column_stack([bounds[:-1], bounds[:-1] + idle, places]),
        twins=np.array(twins, dtype=np.int64),
        order=np.argsort(counts, kind="stable"),
        hit_starts=np.append(0, np.cumsum(counts)),
        by_hit=np.nonzero(covers.T)[1],
    )


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
def _open(levels: Ints, level: int, lists: Lists, each_fleet: bool) -> bool:
    """Set the candidates to try at a new level. False if there are none because the entry is complete."""
    row = levels[level]
    if _hopeless(row, lists.near, lists.most):
        row[LISTED], row[AHEAD], row[BEHIND] = 0, 0, 0
        return True
    order, hit_starts, free = lists.order, lists.hit_starts, lists.free
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
def _finish(row: Ints, free: Ints, entry: Ints) -> bool:
    """Write the complete entry of a level; False if a ship that covers no hit has no placement."""
    entry[0], entry[1], entry[2] = row[WEIGHT], row[STARTS], row[COUNTS]
    for ship in range(len(free)):
        if (row[USED] >> ship) & 1 == 0:
            entry[0] *= free[ship, 2]
            entry[2] |= free[ship, 2] << (ID_BITS * ship)
    return bool(entry[0] > 0)


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
    lists = lists_of(candidates, num_ships, num_hits)
    return _search(candidates, lists, each_fleet, max_entries, max_nodes)


@cached_njit
def _search(
    candidates: Ints, lists: Lists, each_fleet: bool, max_entries: int, max_nodes: int
) -> tuple[bool, Ints]:
    """`list_entries` with the lists of the candidates."""
    entries = np.zeros((64, 3), dtype=np.int64)
    levels = np.zeros((MAX_SHIPS + 2, LEVEL_WIDTH), dtype=np.int64)
    levels[0, WEIGHT] = 1
    num_entries, nodes, level = 0, 0, 0
    entering = True
    while level >= 0:
        row = levels[level]
        if entering and not _open(levels, level, lists, each_fleet):
            if num_entries == len(entries):
                longer = np.zeros((2 * num_entries, 3), dtype=np.int64)
                for n in range(num_entries):
                    for column in range(3):
                        longer[n, column] = entries[n, column]
                entries = longer
            if _finish(row, lists.free, entries[num_entries]):
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
        n = lists.by_hit[row[AHEAD]] if row[LISTED] != 0 else row[AHEAD]
        row[AHEAD] += 1
        if num_entries == 0 and lists.twins[candidates[n, SHIP]] & ~row[USED] != 0:
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
