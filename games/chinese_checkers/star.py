"""The star: its cells, their neighbours, and how far each is from the points.

Cells are numbered row by row from the top, as in OpenSpiel. In the grid of slanted rows that is drawn
(`games.game.Board`), a cell's column is counted along its row from the left edge of the grid, and each row
begins half a cell further to the right than the row above.
"""

from __future__ import annotations

import numpy as np

WIDTHS = (1, 2, 3, 4, 13, 12, 11, 10, 9, 10, 11, 12, 13, 4, 3, 2, 1)
"""Cells of each row from the top."""
SIDE = len(WIDTHS)
"""Rows, and columns of the grid in which they are drawn."""
CELLS = sum(WIDTHS)
DIRECTIONS = 6
WALL = CELLS
"""The number of a cell outside of the star."""

PLACES = tuple(
    (row, column)
    for row, width in enumerate(WIDTHS)
    for column in range((25 - width - row) // 2, (25 + width - row) // 2)
)
"""By cell: its row and column in the grid, from the top and from the left."""
CELL_AT = {place: cell for cell, place in enumerate(PLACES)}

_STEPS = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))
"""By direction, what it adds to row and column: up left, up right, left, right, down left, down right."""


def _ends(length: int) -> list[int]:
    """By cell and direction, the cell so many steps away, or WALL."""
    return [
        CELL_AT.get((row + length * down, column + length * right), WALL)
        for row, column in PLACES
        for down, right in _STEPS
    ]


def _distances(point: int) -> list[int]:
    """By cell, the number of steps to the cell ``point``."""
    found = {point: 0}
    for cell in (queue := [point]):
        for end in _ends(1)[DIRECTIONS * cell : DIRECTIONS * (cell + 1)]:
            if end != WALL and end not in found:
                found[end] = found[cell] + 1
                queue.append(end)
    return [found[cell] for cell in range(CELLS)]


NEAR = np.array(_ends(1), dtype=np.int16)
"""int16[6 * CELLS]: by cell and direction the neighbour, or WALL."""
FAR = np.array(_ends(2), dtype=np.int16)
"""int16[6 * CELLS]: by cell and direction the cell where a hop ends, or WALL."""
POINTS = (0, 22, 110, 120, 98, 10)
"""The outermost cells of the six triangles, clockwise from the top."""
DISTANCE = np.array([_distances(point) for point in POINTS], dtype=np.int16).ravel()
"""int16[6 * CELLS]: by triangle and cell the steps to the triangle's outermost cell."""
TRIANGLES = tuple(
    tuple(cell for cell in range(CELLS) if DISTANCE[CELLS * triangle + cell] <= 3) for triangle in range(6)
)
"""The ten cells of each triangle, clockwise from the top."""
HOMES = {2: (0, 3), 3: (0, 2, 4), 4: (0, 1, 3, 4), 6: (0, 1, 2, 3, 4, 5)}
"""By number of players, the triangle where each begins; the goal is the opposite one."""
MOST_HOPS = max(
    sum(row % 2 == down and column % 2 == right for row, column in PLACES)
    for down in range(2)
    for right in range(2)
)
"""Upper bound of the cells that a piece can be on in one turn of hops, each of which goes two cells on."""
