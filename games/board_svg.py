"""A board as SVG for a page, light or dark: it has no background, and the text colour of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape

from games.game import FIRST, SECOND, Board, Cell

CELL = 30
"""Width and height of a cell, in pixels."""
WIDEST = 540
"""The board is scaled down to be no wider, in pixels."""
LOWER = 0.866
"""Height of a row of hexagons, in cells: half the square root of three."""
ABOVE = 5
"""Room for the upper corners of hexagons, in pixels."""
LABEL = 9
"""Width of a letter of the labels."""
EMPTY = "."
_SMALL = {3: 12, 4: 10.5, 5: 9}
"""By the number of letters, the font size of a text that is too wide for a cell otherwise."""
_PIECES = (
    ("#1f5fa8", "#ffffff"),
    ("#f0b429", "#1b1d22"),
    ("#c8372d", "#ffffff"),
    ("#2e8540", "#ffffff"),
    ("#7b4fa3", "#ffffff"),
    ("#f2f2f2", "#1b1d22"),
)
"""By player, the colour of a piece and of the letter on it."""
_COLOURS = (
    *(("#c8364a", "#ffffff"), ("#2e7d4f", "#ffffff"), ("#1f5fa8", "#ffffff"), ("#f2d13d", "#1b1d22")),
    *(("#7d4aa8", "#ffffff"), ("#4cc3cf", "#1b1d22"), ("#ee8f3c", "#1b1d22")),
)
"""By `Cell.colour`, the colour of a piece and of the letter on it."""
_HEAT = "#c2417c"
"""Of cells that were visited. As light as a colour can be on which both white and black are read well."""
_STRONGEST = 0.85
"""The opacity of the cell with the most visits."""


def board_svg(board: Board, heat: Mapping[tuple[int, int], float] | None = None) -> str:
    """One ``<svg>`` element.

    ``heat`` gives cells (row, column), row 0 on top, a share in [0, 1], such as of a search's visits: a
    tint that is strongest where the share is highest, and on cells without a piece the share in percent.
    The cell of the last move has a frame.
    """
    heat = heat or {}
    top = max(heat.values(), default=0.0) or 1.0
    margin = 6 + LABEL * max((len(label) for label in board.row_labels), default=0)
    columns, slant = max(len(row) for row in board.rows), CELL / 2 if board.slanted else 0
    pitch, above = (CELL * LOWER, ABOVE) if board.slanted else (CELL, 0)
    width = round(margin + CELL * columns + 4 + slant * len(board.rows))
    height = round(pitch * len(board.rows) + CELL) + above
    shown = min(width, WIDEST)
    squares = not board.lines
    size = f'width="{shown}" height="{height * shown / width:.0f}" viewBox="0 0 {width} {height}"'
    style = 'fill="currentColor" font-family="system-ui, sans-serif" font-size="13" text-anchor="middle"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} {style}>']
    parts += [_line(line, margin) for line in board.lines]
    # A board with gaps, such as a star, has other edges than the grid.
    whole = all(cell.text for row in board.rows for cell in row)
    parts += _edges(len(board.rows), columns, margin) if board.slanted and whole else []
    for r, row in enumerate(board.rows):
        left, upper = margin + slant * r, above + pitch * r
        parts.append(_label(board.row_labels[r], left - margin / 2, upper + CELL * 0.5))
        for c, cell in enumerate(row):
            share = heat.get((r, c), 0.0)
            ground = _hexagon if board.slanted else _square
            parts.append(_cell(cell, left + CELL * c, upper, share, share / top, squares, ground))
    for c, label in enumerate(board.column_labels):
        below = margin + slant * len(board.rows) + CELL * (c + 0.5)
        parts.append(_label(label, below, above + pitch * len(board.rows) + CELL * 0.4))
    return "".join([*parts, "</svg>"])


def _square(x: float, y: float) -> str:
    """The beginning of an element as large as the cell whose upper left corner is (x, y)."""
    return f'rect x="{x:g}" y="{y:g}" width="{CELL}" height="{CELL}"'


def _hexagon(x: float, y: float) -> str:
    """A cell as a hexagon that stands on a corner: the name and attributes of its SVG element."""
    return f'polygon points="{" ".join(f"{cx:.1f},{cy:.1f}" for cx, cy in _corners(x, y))}"'


def _corners(x: float, y: float) -> list[tuple[float, float]]:
    """The corners of a hexagon, clockwise from the upper one."""
    right, middle, long, short = CELL / 2, y + CELL / 2, CELL / 3**0.5, CELL / 12**0.5
    across = ((0, -long), (right, -short), (right, short), (0, long), (-right, short), (-right, -short))
    return [(x + CELL / 2 + dx, middle + dy) for dx, dy in across]


def _edges(rows: int, columns: int, margin: int) -> list[str]:
    """The edges of a board of hexagons in the colours of the players whose edges they are."""
    row = [_corners(margin + r * CELL / 2, ABOVE + r * CELL * LOWER) for r in range(rows)]
    far = CELL * (columns - 1)
    upper = [(x + CELL * c, y) for c in range(columns) for x, y in (row[0][5], row[0][0], row[0][1])]
    lower = [(x + CELL * c, y) for c in range(columns) for x, y in (row[-1][4], row[-1][3], row[-1][2])]
    left = [corner for each in row for corner in (each[5], each[4], each[3])][:-1]
    right = [(x + far, y) for each in row for x, y in (each[0], each[1], each[2])][1:]
    drawn = []
    for owner, lines in ((FIRST, (upper, lower)), (SECOND, (left, right))):
        for line in lines:
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in line)
            drawn.append(
                f'<polyline points="{points}" fill="none" stroke="{_PIECES[owner][0]}" stroke-width="5"/>'
            )
    return drawn


def _cell(
    cell: Cell,
    x: float,
    y: float,
    share: float,
    warmth: float,
    square: bool,
    ground: Callable[[float, float], str],
) -> str:
    """One cell whose upper left corner is (x, y); ``warmth`` is its share of the highest share."""
    middle = f'cx="{x + CELL / 2}" cy="{y + CELL / 2}"'
    place = ground(x, y)
    text, percent = cell.text.strip(), round(100 * share)
    parts = []
    if square and (text or share):
        parts.append(f'<{place} fill="none" stroke="currentColor" stroke-opacity="0.3"/>')
    if warmth > 0:
        opacity = 0.1 + (_STRONGEST - 0.1) * warmth
        parts.append(f'<{place} fill="{_HEAT}" fill-opacity="{opacity:.2f}"/>')
    if cell.owner is not None or cell.colour is not None:
        fill, letter = _PIECES[cell.owner] if cell.owner is not None else _COLOURS[cell.colour or 0]
        parts.append(f'<circle {middle} r="{0.4 * CELL}" fill="{fill}" stroke="currentColor"/>')
        parts.append(_text(text, x, y, f' fill="{letter}"'))
    elif share >= 0.005:
        parts.append(_text(str(min(99, percent)), x, y))
    elif text == EMPTY and not square:
        parts.append(f'<circle {middle} r="3"/>')
    elif text and text != EMPTY:
        parts.append(_text(text, x, y))
    if cell.last:
        inner = f'x="{x + 1}" y="{y + 1}" width="{CELL - 2}" height="{CELL - 2}"'
        parts.append(f'<rect {inner} rx="3" fill="none" stroke="currentColor" stroke-width="2.5"/>')
    return "".join(parts)


def _text(text: str, x: float, y: float, extra: str = "") -> str:
    size = f' font-size="{_SMALL[len(text)]:g}"' if len(text) in _SMALL else ""
    return f'<text x="{x + CELL / 2}" y="{y + CELL / 2 + 4.5}"{size}{extra}>{escape(text)}</text>'


def _label(text: str, x: float, y: float) -> str:
    return f'<text x="{x:.1f}" y="{y + 4:.1f}" font-size="11" opacity="0.7">{escape(text)}</text>'


def _line(ends: tuple[tuple[int, int], tuple[int, int]], margin: int) -> str:
    """A line between the middles of two cells."""
    (r1, c1), (r2, c2) = ends
    x1, x2 = (margin + CELL * (c + 0.5) for c in (c1, c2))
    y1, y2 = (CELL * (r + 0.5) for r in (r1, r2))
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="currentColor" stroke-opacity="0.35"/>'
