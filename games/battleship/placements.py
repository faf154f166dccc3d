"""All placements of each ship on an empty board, as masks of cells.

A mask is WORDS integers of WORD_BITS bits each; cell c is bit c % WORD_BITS of integer c // WORD_BITS.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

WORD_BITS = 48
WORDS = 3

Ints = npt.NDArray[np.int64]


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
