"""The boards of the mill games as data: points, mills and edges.

A point has two numbers. Its *code* counts row by row from the top, as in moves and in OpenSpiel.
Its *bit* counts ring by ring from the outermost, within a ring clockwise from the top left
corner, so that a step along a ring or a spoke is one rotation or shift for all stones at once. The
centre has the highest bit, on boards that have one.

The board of seven men's morris is that of six with a cross in the inner square: a centre joined to the
middles of that square's sides. Sources describe this board, but not its mills. Any three neighbouring points
of a line are a mill on the other boards, so each of the two lines of five points has three: 14 mills in
all, as in two other programs (GAMESMAN of Berkeley, and Farin's Morris).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

MAX_POINTS = 24
MAX_MILLS = 20
MILLS_A_POINT = 6


@dataclass(frozen=True)
class Layout:
    """A board: the coordinates of its points, its mills and its edges. Points are given as bits."""

    size: int
    """Number of columns and of rows of the drawn grid."""
    cells: tuple[tuple[int, int], ...]
    """(column, row) of each bit; row 0 is the bottom one."""
    mills: tuple[tuple[int, int, int], ...]
    edges: tuple[tuple[int, int], ...]
    codes: tuple[int, ...] = field(init=False)
    """Code of the point by bit."""

    def __post_init__(self) -> None:
        order = sorted(range(len(self.cells)), key=lambda bit: (-self.cells[bit][1], self.cells[bit][0]))
        object.__setattr__(self, "codes", tuple(order.index(bit) for bit in range(len(self.cells))))


def _layout(rings: int, *, spoke_mills: bool, corners: bool, centre: str = "", lines: int = 8) -> Layout:
    """``corners``: whether spokes join corners too; ``centre``: which points are joined to the middle one.

    With 8 ``lines`` diagonals through the centre are mills, with 6 they are not.
    """
    middle = rings
    ring = [(-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0)]
    cells = [(middle + (rings - r) * x, middle + (rings - r) * y) for r in range(rings) for x, y in ring]
    sides = [(8 * r + s, 8 * r + s + 1, 8 * r + (s + 2) % 8) for r in range(rings) for s in (0, 2, 4, 6)]
    mills = list(sides)
    edges = [(8 * r + s, 8 * r + (s + 1) % 8) for r in range(rings) for s in range(8)]
    for s in range(8):
        if s % 2 == 1 or corners:
            edges += [(8 * r + s, 8 * r + 8 + s) for r in range(rings - 1)]
            if spoke_mills:
                mills.append((s, 8 + s, 16 + s if rings == 3 else 16))
    if centre:
        inner, last = 8 * (rings - 1), 8 * rings
        cells.append((middle, middle))
        edges += [(inner + s, last) for s in range(8) if s % 2 == 1 or centre == "all"]
        mills += [(inner + s, last, inner + s + 4) for s in range(4) if s % 2 == 1 or lines == 8]
    return Layout(2 * rings + 1, tuple(cells), tuple(mills), tuple(edges))


THREE, THREE_TAPATAN, THREE_6, THREE_6_TAPATAN, SIX, NINE, TWELVE, SEVEN = range(8)
LAYOUTS = (
    _layout(1, spoke_mills=False, corners=False, centre="sides"),
    _layout(1, spoke_mills=False, corners=False, centre="all"),
    _layout(1, spoke_mills=False, corners=False, centre="sides", lines=6),
    _layout(1, spoke_mills=False, corners=False, centre="all", lines=6),
    _layout(2, spoke_mills=False, corners=False),
    _layout(3, spoke_mills=True, corners=False),
    _layout(3, spoke_mills=True, corners=True),
    _layout(2, spoke_mills=True, corners=False, centre="sides", lines=6),
)


def _mask(bits: tuple[int, ...]) -> int:
    return sum(1 << bit for bit in bits)


def _tables() -> tuple[npt.NDArray[np.int64], ...]:
    points = np.zeros(len(LAYOUTS), dtype=np.int64)
    neighbours = np.zeros((len(LAYOUTS), MAX_POINTS), dtype=np.int64)
    mills = np.full((len(LAYOUTS), MAX_MILLS), -1, dtype=np.int64)
    mills_of = np.full((len(LAYOUTS), MAX_POINTS, MILLS_A_POINT), -1, dtype=np.int64)
    codes = np.zeros((len(LAYOUTS), MAX_POINTS), dtype=np.int64)
    bits = np.zeros((len(LAYOUTS), MAX_POINTS), dtype=np.int64)
    for board, layout in enumerate(LAYOUTS):
        points[board] = len(layout.cells)
        for a, b in layout.edges:
            neighbours[board, a] |= 1 << b
            neighbours[board, b] |= 1 << a
        for number, mill in enumerate(layout.mills):
            mills[board, number] = _mask(mill)
        for bit, code in enumerate(layout.codes):
            own = [_mask(mill) for mill in layout.mills if bit in mill]
            mills_of[board, bit, : len(own)] = own
            codes[board, bit], bits[board, code] = code, bit
    return points, neighbours, mills, mills_of, codes, bits


POINTS, NEIGHBOURS, MILLS, MILLS_OF, CODE_OF, BIT_OF = _tables()
"""Tables indexed by board first. POINTS: number of points. NEIGHBOURS [bit]: mask of adjacent points.
MILLS: masks of all mills. MILLS_OF [bit]: masks of the mills through a point. Both lists of mills are padded
with -1, which no set of stones contains. CODE_OF [bit] and BIT_OF [code]: conversion of point numbers."""
