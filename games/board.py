"""Boards that any user interface can show: names of cells, the grid, and drawings for terminals and pages.

``a1`` is the bottom left cell; letters are columns, numbers are rows from the bottom.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from games.rules import FIRST, SECOND

_CELL = re.compile(r"([a-z])([1-9][0-9]?)")

_RESET = "\x1b[0m"
_DIM = "\x1b[2m"
_BRIGHT = "\x1b[97m"
_LAST = "\x1b[1;4m"
_OWNERS = tuple(f"\x1b[1;{code}m" for code in (36, 33, 31, 32, 35, 37))
"""By player: cyan, yellow, red, green, magenta, white."""
_COLOURS = ("1;31", "1;32", "1;34", "1;33", "1;35", "1;36", "1;38;5;208")
"""The codes of `Cell.colour`."""
_HEAT = (17, 18, 54, 90, 126, 161, 196)
"""Background colours (numbers of the 256-colour palette) from the smallest share to the largest."""

CELL = 30
"""Width and height of a cell, in pixels."""
WIDEST = 540
"""The board is scaled down to be no wider, in pixels."""
LOWER = 0.866
"""Height of a row of hexagons, in cells: half the square root of three."""
ABOVE = 5
"""Room for the upper corners of hexagons, in pixels."""
LABEL = 9
"""Width of a letter of the labels, in pixels."""
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
_FILLS = (
    *(("#c8364a", "#ffffff"), ("#2e7d4f", "#ffffff"), ("#1f5fa8", "#ffffff"), ("#f2d13d", "#1b1d22")),
    *(("#7d4aa8", "#ffffff"), ("#4cc3cf", "#1b1d22"), ("#ee8f3c", "#1b1d22")),
)
"""By `Cell.colour`, the colour of a piece and of the letter on it."""
_TINT = "#c2417c"
"""Of cells that were visited. As light as a colour can be on which both white and black are read well."""
_STRONGEST = 0.85
"""The opacity of the cell with the most visits."""


@dataclass(frozen=True)
class Cell:
    """One cell of a drawn board: a text of at most five characters, and how to draw it."""

    text: str
    owner: int | None = None
    """The owner of the piece, from 0 (at most 5), which decides the colour; None if there is no piece."""
    last: bool = False
    """Whether the last move was made here."""
    colour: int | None = None
    """The colour of a piece without an owner: red, green, blue, yellow, violet, cyan, orange (0 to 6)."""

    def shown(self, share: float) -> str:
        """The text, or without a piece a share in [0, 1] as whole percent, at most 99, if that is not 0."""
        is_piece = self.owner is not None or self.colour is not None
        return self.text if is_piece or share < 0.005 else str(min(99, round(100 * share)))


@dataclass(frozen=True)
class Board:
    """A position as a grid of cells for any user interface; row 0 is the top row."""

    rows: Sequence[Sequence[Cell]]
    row_labels: Sequence[str]
    column_labels: Sequence[str]
    lines: Sequence[tuple[tuple[int, int], tuple[int, int]]] = ()
    """Lines between pairs of cells (row, column), for games where pieces move along lines."""
    slanted: bool = False
    """Whether each row begins half a cell further to the right than the row above, as in Hex. If all cells
    have a text, the first player's edges are above and below, the second's left and right."""


def column_name(column: int) -> str:
    """The letter of a column (0 to 25); no letter is skipped."""
    return string.ascii_lowercase[column]


def row_name(row: int) -> str:
    """The text of a row's number, which counts from 1; row 0 is the bottom row."""
    return str(row + 1)


def format_cell(row: int, column: int) -> str:
    """The cell's name, such as ``f6`` for (5, 5)."""
    return column_name(column) + row_name(row)


def parse_cell(text: str, num_rows: int, num_columns: int) -> tuple[int, int] | None:
    """The (row, column) that the text names; None if it is malformed or outside the board."""
    match = _CELL.fullmatch(text)
    if match is None:
        return None
    row, column = int(match[2]) - 1, string.ascii_lowercase.index(match[1])
    return (row, column) if row < num_rows and column < num_columns else None


def named_grid(
    rows: Sequence[Sequence[Cell]],
    *,
    top_first: bool = False,
    lines: Sequence[tuple[tuple[int, int], tuple[int, int]]] = (),
    slanted: bool = False,
) -> Board:
    """A board whose cells have names: letters for columns, and numbers for rows from the bottom, or with
    ``top_first`` from the top. With more than 26 columns no column has a name."""
    names = [row_name(row) for row in range(len(rows))]
    columns = range(len(rows[0]))
    letters = [column_name(column) if len(columns) <= 26 else "" for column in columns]
    return Board(rows, names if top_first else names[::-1], letters, lines, slanted)


def draw(board: Board, *, colour: bool, heat: Mapping[tuple[int, int], float] | None = None) -> str:
    """The board as lines of text, without a line break at the end.

    The cell of the last move is in brackets. ``heat`` is a share in [0, 1] by cell (row, column), row 0 on
    top, for example the share of a search's visits. An empty cell shows its share as whole percent, at
    most 99, and with ``colour`` also as background, brightest for the highest share. Without
    ``colour`` the text contains no escape sequences.
    """
    shares = {cell: share for cell, share in (heat or {}).items() if share > 0}
    top = max(shares.values(), default=1.0)
    slant = 1 if board.slanted else 0
    cells = [cell for row in board.rows for cell in row]
    width = max([len(cell.text) for cell in cells] + [len(label) for label in board.column_labels])
    width = max(width, 2) if shares else width
    margin = max(len(label) for label in board.row_labels)
    lines = []
    for r, (label, row) in enumerate(zip(board.row_labels, board.rows, strict=True)):
        drawn = "".join(
            _draw_cell(cell, shares.get((r, c)), top, width, colour) for c, cell in enumerate(row)
        )
        shift = " " * (slant * r * (width + 2) // 2)
        lines.append(f"{shift}{_dim(label.rjust(margin), colour)} {drawn}".rstrip())
    labels = "".join(f" {label.rjust(width)} " for label in board.column_labels)
    shift = " " * (slant * len(board.rows) * (width + 2) // 2)
    lines.append(_dim(f"{shift}{' ' * margin} {labels}".rstrip(), colour))
    return "\n".join(lines)


def _draw_cell(cell: Cell, share: float | None, top: float, width: int, colour: bool) -> str:
    text = cell.shown(share or 0.0)
    text = (f"[{text}]" if cell.last else f"{text} ").rjust(width + 2)
    if not colour:
        return text
    style = _DIM if share is None else _BRIGHT
    if cell.owner is not None:
        style = _OWNERS[cell.owner]
    elif cell.colour is not None:
        style = f"\x1b[{_COLOURS[cell.colour]}m"
    if cell.last:
        style += _LAST
    if share is not None:
        style += f"\x1b[48;5;{_HEAT[min(int(share / top * len(_HEAT)), len(_HEAT) - 1)]}m"
    return f"{style}{text}{_RESET}"


def _dim(text: str, colour: bool) -> str:
    return f"{_DIM}{text}{_RESET}" if colour else text


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
    text, shown = cell.text.strip(), cell.shown(share).strip()
    parts = []
    if square and (text or share):
        parts.append(f'<{place} fill="none" stroke="currentColor" stroke-opacity="0.3"/>')
    if warmth > 0:
        opacity = 0.1 + (_STRONGEST - 0.1) * warmth
        parts.append(f'<{place} fill="{_TINT}" fill-opacity="{opacity:.2f}"/>')
    if cell.owner is not None or cell.colour is not None:
        fill, letter = _PIECES[cell.owner] if cell.owner is not None else _FILLS[cell.colour or 0]
        parts.append(f'<circle {middle} r="{0.4 * CELL}" fill="{fill}" stroke="currentColor"/>')
        parts.append(_text(text, x, y, f' fill="{letter}"'))
    elif shown == EMPTY and not square:
        parts.append(f'<circle {middle} r="3"/>')
    elif shown not in ("", EMPTY):
        parts.append(_text(shown, x, y))
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
