"""`Rules.determinize` for Battleship: draws fleets that fit a player's view, and builds that view.

A view is ``int64``: the position without its fleets, the offsets of the two sides' tables (see
games.battleship.placements) and of the measure, then the tables and the measure:

=======  ========================================================================================
table    number of entries, their total weight, index of each ship's first placement [MAX_SHIPS], the
         weight of a bound of 1 (0: all fleets of an entry are equally likely); for each entry the sum of
         the weights up to it; for each entry the starts of its ranges; for each entry the lengths of its
         ranges (ID_BITS for each ship); for each placement its cells, its halo, its first cell and the
         step to its next cell
measure  the number of placements of each ship on an empty board, and the cells of each placement
=======  ========================================================================================

With placement=uniform, fleets are drawn uniformly from those that fit. With placement=sequential, ships are
placed one after the other, each uniformly among the placements that earlier ships leave free, so the
probability of a fleet is proportional to 1 / the product of the numbers of free placements. If a table lists
single fleets, these probabilities are their weights. Otherwise an entry's weight includes an upper bound of
the acceptance probability in `_draw_in_turn`, which corrects by rejection: exact too, but slower.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.battleship.placements import (
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
    WORDS,
    Ints,
    Placements,
    candidates_of,
    classes_of,
    list_entries,
)
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
from games.compile.specialise import cached_njit
from games.jit import njit, source_of
from games.rng import Stream, below, uniform

NUM_ENTRIES, TOTAL_WEIGHT, FIRST_PLACEMENT = 0, 1, 2
WEIGHT_OF_ONE = FIRST_PLACEMENT + MAX_SHIPS
ENTRIES = WEIGHT_OF_ONE + 1
PLACEMENT_WIDTH = 2 * WORDS + 2
FIRST_CELL, STEP = 2 * WORDS, 2 * WORDS + 1
ID_MASK = (1 << ID_BITS) - 1
WEIGHT_SCALE = 1 << 52

View = npt.NDArray[np.int64]


def make_view(
    state: State, placements: Placements, sequential: bool, max_entries: int = MAX_ENTRIES
) -> View | None:
    """The view of a position (see the top of this file); None if no fleet fits the answers.

    A table with more than ``max_entries`` entries is replaced by a coarser one, if there is a coarser kind.
    """
    seen = state.astype(np.int64)
    seen[CELLS:] &= 15
    seen[DEALT] = 0
    for side in range(2):
        left = source_of(block_of)(side) + LEFT
        seen[left : left + MAX_SHIPS] = 0
    parts: list[Ints] = []
    for side in range(int(state[SIDES])):
        table = make_table(seen, side, placements, sequential, max_entries)
        if table is None:
            return None
        parts.append(table)
    offsets = len(seen) + len(parts) + 1 + np.cumsum([0, *map(len, parts)])
    if sequential:
        parts += [np.diff(placements.starts), placements.cells.ravel()]
    return np.concatenate([seen, offsets, *parts])


def make_table(
    seen: View, side: int, placements: Placements, sequential: bool, max_entries: int
) -> Ints | None:
    """The finest table of the fleets that fit a side's answers within ``max_entries``; None if none fits."""
    singles = candidates_of(seen, side, placements)
    num_ships, num_hits = int(seen[NUM_SHIPS]), int(seen[BLOCK + BLOCK_LENGTH * side + HITS])
    kind = FLEETS
    whole, entries = list_entries(singles, num_ships, num_hits, True, max_entries, MAX_NODES)
    if len(entries) == 0:
        return None
    if not whole:
        kind = COVERS
        whole, entries = list_entries(singles, num_ships, num_hits, False, max_entries, MAX_NODES)
    if not whole:
        kind = CLASSES
        most = np.iinfo(np.int64).max
        _, entries = list_entries(classes_of(singles), num_ships, num_hits, False, most, most)
    firsts = np.searchsorted(singles[:, SHIP], np.arange(MAX_SHIPS))
    weights, weight_of_one = entries[:, 0], 0
    if sequential and kind == FLEETS:
        chances = _chances(entries, singles, firsts, placements)
        weights = np.ceil(chances / chances.sum() * WEIGHT_SCALE).astype(np.int64)
    elif sequential:
        blocked = placements.blocked[singles[:, ID]]
        bounds = bounds_of(entries, firsts, blocked, np.diff(placements.starts))
        weight_of_one = 1 << int(min(62, np.log2(WEIGHT_SCALE / bounds.sum())))
        weights = np.ceil(bounds * weight_of_one).astype(np.int64)
    sums = np.cumsum(weights)
    head = [len(entries), int(sums[-1]), *(firsts * PLACEMENT_WIDTH), weight_of_one]
    ids = singles[:, ID]
    masks = singles[:, CELLS_AT : HALO_AT + WORDS]
    listed = np.column_stack([masks, placements.first[ids], placements.step[ids]])
    return np.concatenate(
        [np.array(head, dtype=np.int64), sums, entries[:, 1], entries[:, 2], listed.ravel()]
    )


def _chances(entries: Ints, singles: Ints, firsts: Ints, placements: Placements) -> npt.NDArray[np.float64]:
    """float64[fleets]: the relative probability of each listed fleet under sequential placement."""
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


@cached_njit
def bounds_of(entries: Ints, firsts: Ints, blocked: Ints, numbers: Ints) -> npt.NDArray[np.float64]:
    """float64[entries]: upper bounds of the product over ships of the ratio that `_draw_in_turn` accepts by.

    The ratio is (free placements in the ship's range) / (free placements on the whole board), given the
    ships before it. The numerator is at most the length of the range. The denominator is at least the
    number of placements minus what the ships before can rule out at most. ``blocked``: for each
    candidate, how many placements of each ship it rules out; ``numbers``: placements of each ship.
    """
    num_ships = len(numbers)
    most = np.full((len(blocked), num_ships), -1, dtype=np.int64)
    bounds = np.ones(len(entries))
    left = np.zeros(num_ships, dtype=np.int64)
    for entry in range(len(entries)):
        left[:] = numbers
        for ship in range(num_ships):
            start = firsts[ship] + ((entries[entry, 1] >> (ID_BITS * ship)) & ID_MASK)
            count = (entries[entry, 2] >> (ID_BITS * ship)) & ID_MASK
            bounds[entry] *= min(1.0, count / max(left[ship], 1))
            # Ranges of a ship with equal starts are equal, so the start is a key.
            if most[start, 0] < 0:
                for other in range(num_ships):
                    most[start, other] = blocked[start : start + count, other].max()
            left -= most[start]
    return bounds


@njit
def determinize(view: View, state: State, stream: Stream) -> None:
    """Write into ``state`` the position of the view with random fleets that fit it."""
    num_sides, area = view[SIDES], view[AREA]
    offsets = CELLS + num_sides * area
    for i in range(offsets):
        state[i] = view[i]
    state[DEALT] = 1
    num_ships = view[NUM_SHIPS]
    for side in range(num_sides):
        table = view[offsets + side]
        if view[table + WEIGHT_OF_ONE] == 0:
            chosen = _draw(view, table, num_ships, stream)
        else:
            chosen = _draw_in_turn(view, table, num_ships, view[offsets + num_sides], stream)
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
def _draw(view: View, table: int, num_ships: int, stream: Stream) -> int:
    """A random fleet: the index of each ship's placement among the ship's placements, ID_BITS bits each."""
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
        if clash == 0:
            return int(chosen)


@njit
def _entry(view: View, sums: int, num_entries: int, total: int, stream: Stream) -> int:
    """A random entry with probability proportional to its weight; ``sums`` is where cumulative sums begin."""
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
def _draw_in_turn(view: View, table: int, num_ships: int, measure: int, stream: Stream) -> int:
    """A random fleet as `_draw` returns it, distributed as under sequential placement, by rejection.

    Each ship is drawn from the free placements of its range. Compared with sequential placement, that
    makes a fleet too likely by the factor (free placements on the whole board) / (free placements in the
    range) for each ship; so the fleet is kept with a probability proportional to the inverse.
    """
    num_entries = view[table + NUM_ENTRIES]
    sums = table + ENTRIES
    placements = sums + 3 * num_entries
    while True:
        entry = _entry(view, sums, num_entries, view[table + TOTAL_WEIGHT], stream)
        starts, counts = view[sums + num_entries + entry], view[sums + 2 * num_entries + entry]
        weight = view[sums + entry]
        if entry > 0:
            weight -= view[sums + entry - 1]
        # The probability of keeping the fleet only falls from here, so one threshold serves all ships.
        threshold = uniform(stream)
        chance = float(view[table + WEIGHT_OF_ONE]) / float(weight)
        taken_0, taken_1, taken_2 = np.int64(0), np.int64(0), np.int64(0)
        chosen = 0
        everywhere = measure + num_ships
        for ship in range(num_ships):
            start, count = (starts >> (ID_BITS * ship)) & ID_MASK, (counts >> (ID_BITS * ship)) & ID_MASK
            at = placements + view[table + FIRST_PLACEMENT + ship] + PLACEMENT_WIDTH * start
            num_free = _num_free(view, at, count, PLACEMENT_WIDTH, taken_0, taken_1, taken_2)
            number = view[measure + ship]
            chance *= float(num_free)
            chance /= float(max(1, _num_free(view, everywhere, number, WORDS, taken_0, taken_1, taken_2)))
            everywhere += WORDS * number
            if chance <= threshold:
                break
            left = below(stream, num_free)
            while True:
                if (view[at] & taken_0) | (view[at + 1] & taken_1) | (view[at + 2] & taken_2) == 0:
                    if left == 0:
                        break
                    left -= 1
                at += PLACEMENT_WIDTH
                start += 1
            taken_0 |= view[at + WORDS]
            taken_1 |= view[at + WORDS + 1]
            taken_2 |= view[at + WORDS + 2]
            chosen |= start << (ID_BITS * ship)
        if chance > threshold:
            return int(chosen)


@njit
def _num_free(
    view: View, at: int, count: int, width: int, taken_0: np.int64, taken_1: np.int64, taken_2: np.int64
) -> int:
    """How many of ``count`` masks, ``width`` apart in the view from index ``at``, hold no taken cell."""
    free = 0
    for i in range(count):
        mask = at + width * i
        free += ((view[mask] & taken_0) | (view[mask + 1] & taken_1) | (view[mask + 2] & taken_2)) == 0
    return free
