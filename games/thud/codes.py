"""Moves as numbers: code = 9 * path + variant.

A path is a pair of cells in one line: 6,960 of them, numbered cell by cell, line by line; a cell and
itself count as a pair too, which keeps the numbers of a line's cells consecutive. The variant
says what a troll takes: 0 nothing, 1 all dwarfs beside it; or with ``one_or_none`` 1 to 8, the
dwarf in that direction of `board.AROUND`. Dwarfs have variant 0; what they land on, they take.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.jit import njit, source_of
from games.thud.board import CELLS, line_of

NUM_VARIANTS = 9


def _paths() -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint16]]:
    """FIRST_PATH and ENDS."""
    first = np.zeros(4 * 256, dtype=np.int32)
    ends: list[int] = []
    places = {(cell, kind): source_of(line_of)(cell, kind) for cell in CELLS for kind in range(4)}
    for (cell, kind), (line, _) in places.items():
        others = sorted((places[other, kind][1], other) for other in CELLS if places[other, kind][0] == line)
        first[4 * cell + kind] = len(ends) - others[0][0]
        ends += [256 * cell + other for _, other in others]
    return first, np.array(ends, dtype=np.uint16)


FIRST_PATH, ENDS = _paths()
"""For each (cell, kind of line) the number of its path to bit 0; for each path 256 * source + target."""

PATH_OF = {(int(ends) >> 8, int(ends) & 255): path for path, ends in enumerate(ENDS)}
"""The path of a source and a target."""


@njit
def encode(source: int, target: int, kind: int, variant: int) -> int:
    """The code of a move along a line of that kind."""
    _, bit = line_of(target, kind)
    return int(NUM_VARIANTS * (FIRST_PATH[4 * source + kind] + bit) + variant)


@njit
def decode(move: int) -> tuple[int, int, int]:
    """Source, target and variant of a code."""
    path = move // NUM_VARIANTS
    ends = int(ENDS[path])
    return ends >> 8, ends & 255, move - NUM_VARIANTS * path
