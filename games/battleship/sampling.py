"""Draws whole positions that fit what was seen: `Rules.determinize`, and the view that it reads.

A view is the position without its fleets, then the offsets of the sides' tables (see
games.battleship.cover) and of the measure, as int64:

=======  ========================================================================================
table    entries, their total weight, where each ship's placements begin [MAX_SHIPS], whether fleets are
         to be weighed; for each entry the sum of the weights up to it, then for each its ranges'
         starts, then their counts, ID_BITS for each ship; for each placement its cells, its halo,
         its first cell and the step to its next
measure  for each ship its placements on an empty board, and a lower bound of those that are free of
         ships before it; the cells of each placement
=======  ========================================================================================

Fleets are drawn uniformly from those that fit. With placement=sequential each ship was placed uniformly among
its placements free of ships before it: a fleet's chance is 1 / the product of these numbers. Where a table
lists single fleets, their weights are these chances; elsewhere a drawn fleet is kept with a chance of
the product of (lower bound / number), which is as exact.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.battleship.cover import (
    CELLS_AT,
    CLASSES,
    COVERS,
    FLEETS,
    HALO_AT,
    ID,
    ID_BITS,
    MAX_ENTRIES,
    MAX_NODES,
    SHIP,
    candidates_of,
    classes_of,
    list_entries,
)
from games.battleship.placements import WORDS, Ints, Placements
from games.battleship.rules import (
    AREA,
    BLOCK,
    BLOCK_LENGTH,
    CELLS,
    DEALT,
    HITS,
    LEFT,
    LENGTHS,
    MAX_SHIPS,
    NUM_SHIPS,
    SIDES,
    State,
    block_of,
)
from games.jit import njit
from games.rng import Stream, below, uniform

NUM_ENTRIES, TOTAL_WEIGHT, FIRST_PLACEMENT = 0, 1, 2
WEIGH = FIRST_PLACEMENT + MAX_SHIPS
ENTRIES = WEIGH + 1
PLACEMENT_WIDTH = 2 * WORDS + 2
FIRST_CELL, STEP = 2 * WORDS, 2 * WORDS + 1
ID_MASK = (1 << ID_BITS) - 1
WEIGHT_SCALE = 1 << 52

View = npt.NDArray[np.int64]


def make_view(state: State, placements: Placements, sequential: bool) -> View | None:
    """What is seen of the position, and tables of the fleets that fit it; None if none fits."""
    seen = state.astype(np.int64)
    seen[CELLS:] &= 15
    seen[DEALT] = 0
    for side in range(2):
        seen[block_of(side) + LEFT : block_of(side) + LEFT + MAX_SHIPS] = 0
    num_sides = int(state[SIDES])
    parts: list[Ints] = []
    offsets = []
    end = len(seen) + num_sides + 1
    for side in range(num_sides):
        table = make_table(seen, side, placements, sequential)
        if table is None:
            return None
        offsets.append(end)
        parts.append(table)
        end += len(table)
    offsets.append(end)
    if sequential:
        parts += [np.diff(placements.starts), placements.least, placements.cells.ravel()]
    return np.concatenate([seen, np.array(offsets, dtype=np.int64), *parts])


def make_table(seen: View, side: int, placements: Placements, sequential: bool) -> Ints | None:
    """The fleets that fit a side's answers, told apart as finely as their number allows; None: none fits."""
    singles = candidates_of(
        seen,
        side,
        placements.starts,
        placements.cells,
        placements.halos,
        placements.first,
        placements.step,
    )
    num_ships, num_hits = int(seen[NUM_SHIPS]), int(seen[BLOCK + BLOCK_LENGTH * side + HITS])
    kind = FLEETS
    whole, entries = list_entries(singles, num_ships, num_hits, True, MAX_ENTRIES, MAX_NODES)
    if len(entries) == 0:
        return None
    if not whole:
        kind = COVERS
        whole, entries = list_entries(singles, num_ships, num_hits, False, MAX_ENTRIES, MAX_NODES)
    if not whole:
        kind = CLASSES
        most = np.iinfo(np.int64).max
        _, entries = list_entries(classes_of(singles), num_ships, num_hits, False, most, most)
    firsts = np.searchsorted(singles[:, SHIP], np.arange(MAX_SHIPS))
    if sequential and kind == FLEETS:
        chances = _chances(entries, singles, firsts, placements)
        sums = np.floor(np.cumsum(chances) / chances.sum() * WEIGHT_SCALE).astype(np.int64)
    else:
        sums = np.cumsum(entries[:, 0])
    head = [len(entries), int(sums[-1]), *(firsts * PLACEMENT_WIDTH), sequential and kind != FLEETS]
    ids = singles[:, ID]
    masks = singles[:, CELLS_AT : HALO_AT + WORDS]
    listed = np.column_stack([masks, placements.first[ids], placements.step[ids]])
    return np.concatenate(
        [np.array(head, dtype=np.int64), sums, entries[:, 1], entries[:, 2], listed.ravel()]
    )


def _chances(entries: Ints, singles: Ints, firsts: Ints, placements: Placements) -> npt.NDArray[np.float64]:
    """[fleets] the chance of each listed fleet under sequential placement."""
    chances = np.ones(len(entries))
    taken = np.zeros((len(entries), WORDS), dtype=np.int64)
    for ship in range(len(placements.starts) - 1):
        own = placements.cells[placements.starts[ship] : placements.starts[ship + 1]]
        clash = np.zeros((len(entries), len(own)), dtype=bool)
        for word in range(WORDS):
            clash |= (taken[:, word, None] & own[None, :, word]) != 0
        chances /= (~clash).sum(axis=1)
        chosen = firsts[ship] + (entries[:, 1] >> (ID_BITS * ship) & ID_MASK)
        taken |= singles[chosen, HALO_AT : HALO_AT + WORDS]
    return chances


@njit
def determinize(view: View, state: State, stream: Stream) -> None:
    """Write into ``state`` the position that the view shows, with fleets drawn from all that fit it."""
    num_sides, area = view[SIDES], view[AREA]
    offsets = CELLS + num_sides * area
    for i in range(offsets):
        state[i] = view[i]
    state[DEALT] = 1
    num_ships = view[NUM_SHIPS]
    for side in range(num_sides):
        table = view[offsets + side]
        chosen = _draw(view, table, num_ships, view[offsets + num_sides], stream)
        placements = table + ENTRIES + 3 * view[table + NUM_ENTRIES]
        left = block_of(side) + LEFT
        cells = CELLS + side * area
        for ship in range(num_ships):
            place = (chosen >> (ID_BITS * ship)) & ID_MASK
            at = placements + view[table + FIRST_PLACEMENT + ship] + PLACEMENT_WIDTH * place
            cell, step = view[at + FIRST_CELL], view[at + STEP]
            num_left = 0
            for _ in range(view[LENGTHS + ship]):
                num_left += state[cells + cell] == 0
                state[cells + cell] |= (ship + 1) << 4
                cell += step
            state[left + ship] = num_left


@njit
def _draw(view: View, table: int, num_ships: int, measure: int, stream: Stream) -> int:
    """The places of a fleet's placements among their ships', ID_BITS for each ship."""
    num_entries = view[table + NUM_ENTRIES]
    sums = table + ENTRIES
    placements = sums + 3 * num_entries
    while True:
        entry = _entry(view, sums, num_entries, view[table + TOTAL_WEIGHT], stream)
        starts, counts = view[sums + num_entries + entry], view[sums + 2 * num_entries + entry]
        taken_0, taken_1, taken_2 = np.int64(0), np.int64(0), np.int64(0)
        chosen, clash = 0, np.int64(0)
        for ship in range(num_ships):
            place = (starts >> (ID_BITS * ship)) & ID_MASK
            place += below(stream, (counts >> (ID_BITS * ship)) & ID_MASK)
            at = placements + view[table + FIRST_PLACEMENT + ship] + PLACEMENT_WIDTH * place
            clash = (
                (view[at + WORDS] & taken_0)
                | (view[at + WORDS + 1] & taken_1)
                | (view[at + WORDS + 2] & taken_2)
            )
            if clash != 0:
                break
            taken_0 |= view[at]
            taken_1 |= view[at + 1]
            taken_2 |= view[at + 2]
            chosen |= place << (ID_BITS * ship)
        if clash == 0 and (
            view[table + WEIGH] == 0 or _keep(view, table, num_ships, measure, chosen, stream)
        ):
            return int(chosen)


@njit
def _entry(view: View, sums: int, num_entries: int, total: int, stream: Stream) -> int:
    """An entry drawn by weight: the first whose sum is above a number below the total."""
    low, high = 0, num_entries - 1
    if high == 0:
        return low
    number = np.int64(uniform(stream) * total)
    while low < high:
        middle = (low + high) >> 1
        if view[sums + middle] > number:
            high = middle
        else:
            low = middle + 1
    return low


@njit
def _keep(view: View, table: int, num_ships: int, measure: int, chosen: int, stream: Stream) -> bool:
    """Keep a fleet by its chance under sequential placement, relative to an upper bound of all chances."""
    placements = table + ENTRIES + 3 * view[table + NUM_ENTRIES]
    taken_0, taken_1, taken_2 = np.int64(0), np.int64(0), np.int64(0)
    chance = 1.0
    at = measure + 2 * num_ships
    for ship in range(num_ships):
        count, free = view[measure + ship], 0
        for _ in range(count):
            free += ((view[at] & taken_0) | (view[at + 1] & taken_1) | (view[at + 2] & taken_2)) == 0
            at += WORDS
        chance *= float(view[measure + num_ships + ship]) / float(free)
        place = (chosen >> (ID_BITS * ship)) & ID_MASK
        own = placements + view[table + FIRST_PLACEMENT + ship] + PLACEMENT_WIDTH * place
        taken_0 |= view[own + WORDS]
        taken_1 |= view[own + WORDS + 1]
        taken_2 |= view[own + WORDS + 2]
    return uniform(stream) < chance
