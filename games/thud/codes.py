"""Codes of moves: code = 9 * path + variant.

A path is an ordered pair of cells in one line. There are 6,960, numbered by source cell, then by line; the
pair of a cell with itself is included so that the numbers within a line are consecutive. The variant
says what a troll takes: 0 nothing, 1 all neighbouring dwarfs; or with ``one_or_none`` 1 to 8, the
dwarf in direction variant - 1 of `board.AROUND`. Moves of dwarfs have variant 0; a dwarf takes the piece
that it lands on.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.jit import njit, source_of
from games.thud.board import CELLS, line_of

NUM_VARIANTS = 9


def _paths() -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint16]]:
    """Compute the tables FIRST_PATH and ENDS."""
    first = np.zeros(4 * 256, dtype=np.int32)
    ends: list[int] = []
    places = {(cell, kind): source_of(line_of)(cell, kind) for cell in CELLS for kind in range(4)}
    for (cell, kind), (line, _) in places.items():
        others = sorted((places[other, kind][1], other) for other in CELLS if places[other, kind][0] == line)
        first[4 * cell + kind] = len(ends) - others[0][0]
        ends += [256 * cell + other for _, other in others]
    return first, np.array(ends, dtype=np.uint16)


FIRST_PATH, ENDS = _paths()
"""FIRST_PATH: by (cell, kind of line), the number of the path to the line's bit 0. ENDS: by path,
256 * source + target."""

PATH_OF = {(int(ends) >> 8, int(ends) & 255): path for path, ends in enumerate(ENDS)}
"""The number of a path by (source, target)."""


@njit
def encode(source: int, target: int, kind: int, variant: int) -> int:
    """The code of a move along a line of kind ``kind`` (see `board.line_of`)."""
    _, bit = line_of(target, kind)
    return int(NUM_VARIANTS * (FIRST_PATH[4 * source + kind] + bit) + variant)


@njit
def decode(move: int) -> tuple[int, int, int]:
    """The (source, target, variant) of a move code."""
    path = move // NUM_VARIANTS
    ends = int(ENDS[path])
    return ends >> 8, ends & 255, move - NUM_VARIANTS * path
