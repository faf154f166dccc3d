"""All placements of each ship on an empty board, as masks of cells.

A mask is three whole numbers of WORD_BITS bits; cell c is bit c % WORD_BITS of number c // WORD_BITS.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

WORD_BITS = 48
WORDS = 3

Ints = npt.NDArray[np.int64]


class Placements(NamedTuple):
    """The placements of all ships, ship by ship: those of ship k are starts[k] to starts[k + 1] - 1."""

    starts: Ints
    """[ships + 1]"""
    cells: Ints
    """[n, WORDS] the cells that the ship covers."""
    halos: Ints
    """[n, WORDS] these and the cells that no other ship may cover because of it."""
    first: Ints
    """[n] the lowest cell."""
    step: Ints
    """[n] from each of its cells to the next: 1 or the board's size."""
    blocked: Ints
    """[n, ships] how many placements of each ship it rules out."""


def mask_of(cells: list[int]) -> list[int]:
    """The cells as a mask."""
    words = [0] * WORDS
    for cell in cells:
        words[cell // WORD_BITS] |= 1 << cell % WORD_BITS
    return words


@lru_cache(maxsize=32)
def placements_of(size: int, fleet: tuple[int, ...], touch: str) -> Placements:
    """The placements on a board of ``size`` cells a side; ``touch``: any, no_side or no_contact."""
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
    cells_of, halos, first_of, step_of = (
        np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)
    )
    clash = (cells_of[:, None, :] & halos[None, :, :]).any(axis=2)
    blocked = np.add.reduceat(clash, starts[:-1], axis=1).astype(np.int64)
    return Placements(np.array(starts, dtype=np.int64), cells_of, halos, first_of, step_of, blocked)


def fits_at_once(placements: Placements) -> bool:
    """Whether all ships find a place if each takes the first one left to it; they may fit even if not."""
    taken = np.zeros(WORDS, dtype=np.int64)
    for start, end in pairwise(placements.starts):
        free = ~(placements.halos[start:end] & taken).any(axis=1)
        if not free.any():
            return False
        taken |= placements.cells[start + int(free.argmax())]
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
