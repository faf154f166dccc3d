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
_OWNED = (2, 3, 0, 1, 4, 7)
"""By player, the colour of a piece."""
_COLOURS = ("1;31", "1;32", "1;94", "1;33", "1;35", "1;36", "1;38;5;208", "1;37")
"""By colour, the code for terminals; further colours have the last."""
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
_SMALL = {3: 12, 4: 10, 5: 8}
"""By the number of letters, the font size of a text that is too wide for a cell otherwise."""
_FILLS = (
    *(("#c62f2f", "#ffffff"), ("#009e73", "#000000"), ("#0072b2", "#ffffff"), ("#f2c811", "#000000")),
    *(("#b48ad6", "#000000"), ("#56b4e9", "#000000"), ("#d97706", "#000000"), ("#f2f2f2", "#000000")),
    *((fill, "#000000") for fill in ("#eee4da", "#ede0c8", "#f2b179", "#f59563", "#f67c5f", "#f65e3b")),
    *((fill, "#000000") for fill in ("#edcf72", "#edcc61", "#edc850", "#edc53f", "#edc22e")),
    ("#3c3a32", "#ffffff"),
)
"""By colour, that of a piece and of the sign on it. The page has the same (boards/shapes.js)."""
_FRAME, _HOLE = "#2f6fbf", "#0d1f3c"
"""The colours of `Board.frame`."""
_TINT = "#c2417c"
"""Of cells that were visited. As light as a colour can be on which both white and black are read well."""
_STRONGEST = 0.85
"""The opacity of the cell with the most visits."""


@dataclass(frozen=True)
class Cell:
    """One cell of a drawn board: a text of at most five characters, and how to draw it."""

    text: str
    owner: int | None = None
    """The owner of the piece, from 0 (at most 5); None if there is none, or it is nobody's: a tile."""
    last: bool = False
    """Whether the last move was made here."""
    colour: int | None = None
    """The colour of the piece: red, green, blue, yellow, violet, cyan, orange, white (0 to 7), and from 8 on
    those of the tiles 2, 4, ..., 2048 and above (19); by default the owner's."""

    @property
    def paint(self) -> int | None:
        """The colour; None if there is no piece."""
        return self.colour if self.owner is None or self.colour is not None else _OWNED[self.owner % 6]

    def shown(self, share: float) -> str:
        """The text, or without a piece a share in [0, 1] as whole percent, at most 99, if that is not 0."""
        return self.text if self.paint is not None or share < 0.005 else str(min(99, round(100 * share)))


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
    have a text, the first player's edges are above and below, the second's left and right; else they are a
    star."""
    frame: bool = False
    """Whether the cells are holes of an upright frame, as in Connect four."""


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
    frame: bool = False,
) -> Board:
    """A board whose cells have names: letters for columns, and numbers for rows from the bottom, or with
    ``top_first`` from the top. With more than 26 columns no column has a name."""
    names = [row_name(row) for row in range(len(rows))]
    letters = [column_name(c) if len(rows[0]) <= 26 else "" for c in range(len(rows[0]))]
    return Board(rows, names if top_first else names[::-1], letters, lines, slanted, frame)


def draw(board: Board, *, colour: bool, heat: Mapping[tuple[int, int], float] | None = None) -> str:
    """The board as lines of text, without a line break at the end.

    The cell of the last move is in brackets. ``heat`` is a share in [0, 1] by cell (row, column), row 0 on
    top, for example the share of a search's visits. An empty cell shows its share as whole percent, at
    most 99, and with ``colour`` also as background, brightest for the highest share. Without
    ``colour`` the text contains no escape sequences.
    """
    shares = {cell: share for cell, share in (heat or {}).items() if share > 0}
    top = max(shares.values(), default=1.0)
    texts = [cell.text for row in board.rows for cell in row]
    width = max(len(text) for text in ("00" if shares else "", *texts, *board.column_labels))
    margin = max(len(label) for label in board.row_labels)
    slant = board.slanted * (width + 2)
    lines = []
    for r, (label, row) in enumerate(zip(board.row_labels, board.rows, strict=True)):
        drawn = "".join(
            _draw_cell(cell, shares.get((r, c)), top, width, colour) for c, cell in enumerate(row)
        )
        lines.append(f"{' ' * (slant * r // 2)}{_dim(label.rjust(margin), colour)} {drawn}".rstrip())
    labels = "".join(f" {label.rjust(width)} " for label in board.column_labels)
    below = " " * (slant * len(board.rows) // 2 + margin)
    return "\n".join([*lines, _dim(f"{below} {labels}".rstrip(), colour)])


def _draw_cell(cell: Cell, share: float | None, top: float, width: int, colour: bool) -> str:
    text = f"{'[' * cell.last}{cell.shown(share or 0.0)}{']' if cell.last else ' '}".rjust(width + 2)
    if not colour:
        return text
    style = _DIM if share is None else _BRIGHT
    if cell.paint is not None:
        style = f"\x1b[{_COLOURS[min(cell.paint, len(_COLOURS) - 1)]}m"
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
    pitch, slant, above = (CELL * LOWER, CELL / 2, ABOVE) if board.slanted else (CELL, 0, 0)
    star = board.slanted and not all(cell.text for row in board.rows for cell in row)
    used = [(r, c) for r, row in enumerate(board.rows) for c, cell in enumerate(row) if cell.text or not star]
    places = [(CELL * c + slant * r, above + pitch * r) for r, c in used]
    left = margin - min(places)[0]
    width = round(left + max(places)[0] + CELL + slant + 4)
    height = round(pitch * len(board.rows) + CELL) + above
    shown = min(width, WIDEST)
    ground = _round if star or board.frame else _hexagon if board.slanted else _square
    drawn = [_line(line, margin) for line in board.lines]
    if board.slanted:
        drawn += [_star(places, left)] if star else _edges(len(board.rows), len(board.column_labels), margin)
    drawn += [
        _label(label, margin / 2 + (0 if star else slant * r), above + pitch * r + CELL * 0.5)
        for r, label in enumerate(board.row_labels)
    ]
    for (r, c), (x, y) in zip(used, places, strict=True):
        share = heat.get((r, c), 0.0)
        drawn.append(_cell(board, board.rows[r][c], left + x, y, share, share / top, ground))
    # The name of a column is below its last cell.
    drawn += [
        _label(board.column_labels[c], left + slant * r + CELL * (c + 0.5), above + pitch * r + CELL * 0.4)
        for c, r in {c: r + 1 for r, c in used}.items()
    ]
    size = f'width="{shown}" height="{height * shown / width:.0f}" viewBox="0 0 {width} {height}"'
    style = 'fill="currentColor" font-family="system-ui, sans-serif" font-size="13" text-anchor="middle"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} {style}>{"".join(drawn)}</svg>'


def _square(x: float, y: float, inset: float = 0) -> str:
    """The beginning of an element as large as the cell whose upper left corner is (x, y), or smaller."""
    return (
        f'rect x="{x + inset:g}" y="{y + inset:g}" width="{CELL - 2 * inset:g}" height="{CELL - 2 * inset:g}"'
    )


def _round(x: float, y: float, radius: float = 0.45) -> str:
    """The beginning of a circle in the middle of a cell."""
    return f'circle cx="{x + CELL / 2:.1f}" cy="{y + CELL / 2:.1f}" r="{radius * CELL:.1f}"'


def _hexagon(x: float, y: float) -> str:
    """A cell as a hexagon that stands on a corner: the name and attributes of its SVG element."""
    return f'polygon points="{" ".join(f"{cx:.1f},{cy:.1f}" for cx, cy in _corners(x, y))}"'


def _star(places: list[tuple[float, float]], left: float) -> str:
    """The two triangles behind a star of cells, by the places of these, row by row."""
    upper = [max(places, key=lambda place: (side * place[0], -place[1])) for side in (1, -1)]
    lower = [max(places, key=lambda place: (side * place[0], place[1])) for side in (-1, 1)]
    lines = (
        "L".join(f"{left + x + CELL / 2:.1f} {y + CELL / 2:.1f}" for x, y in three)
        for three in ((places[0], *reversed(lower)), (places[-1], *reversed(upper)))
    )
    drawn = (
        f'd="{"".join(f"M{line}Z" for line in lines)}" stroke="currentColor" stroke-width="{1.2 * CELL:g}"'
    )
    return f'<path {drawn} stroke-linejoin="round" opacity="0.12"/>'


def _corners(x: float, y: float) -> list[tuple[float, float]]:
    """The corners of a hexagon, clockwise from the upper one."""
    right, middle, long, short = CELL / 2, y + CELL / 2, CELL / 3**0.5, CELL / 12**0.5
    across = ((0, -long), (right, -short), (right, short), (0, long), (-right, short), (-right, -short))
    return [(x + CELL / 2 + dx, middle + dy) for dx, dy in across]


def _edges(rows: int, columns: int, margin: int) -> list[str]:
    """The edges of a board of hexagons in the colours of the players whose edges they are."""
    cells = [
        [_corners(margin + r * CELL / 2 + CELL * c, ABOVE + r * CELL * LOWER) for c in range(columns)]
        for r in range(rows)
    ]
    # The first player's are drawn last: theirs are the corners.
    sides = (
        (SECOND, [cell[k] for cell, *_ in cells for k in (5, 4, 3)]),
        (SECOND, [cell[k] for *_, cell in cells for k in (0, 1, 2)]),
        (FIRST, [cell[k] for cell in cells[0] for k in (5, 0, 1)]),
        (FIRST, [cell[k] for cell in cells[-1] for k in (4, 3, 2)]),
    )
    return [
        f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in line)}" fill="none" '
        f'stroke="{_FILLS[_OWNED[owner]][0]}" stroke-width="5"/>'
        for owner, line in sides
    ]


def _cell(
    board: Board,
    cell: Cell,
    x: float,
    y: float,
    share: float,
    warmth: float,
    ground: Callable[[float, float], str],
) -> str:
    """One cell whose upper left corner is (x, y); ``warmth`` is its share of the highest share."""
    place = ground(x, y)
    text, shown = cell.text.strip(), cell.shown(share).strip()
    parts = []
    if board.frame:
        parts.append(f'<{_square(x, y)} fill="{_FRAME}"/><{place} fill="{_HOLE}"/>')
    elif not board.lines and (text or share):
        parts.append(f'<{place} fill="none" stroke="currentColor" stroke-opacity="0.3"/>')
    if warmth > 0:
        opacity = 0.1 + (_STRONGEST - 0.1) * warmth
        parts.append(f'<{place} fill="{_TINT}" fill-opacity="{opacity:.2f}"/>')
    if cell.paint is not None:
        fill, sign = _FILLS[cell.paint]
        shape = f'{_square(x, y, 1.5)} rx="4"' if cell.owner is None else _round(x, y, 0.4)
        parts.append(f'<{shape} fill="{fill}" stroke="currentColor"/>')
        parts.append(_text(text, x, y, f' fill="{sign}"'))
    elif shown == EMPTY and board.lines:
        parts.append(f"<{_round(x, y, 0.1)}/>")
    elif shown not in ("", EMPTY):
        parts.append(_text(shown, x, y, ' fill="#ffffff"' if board.frame else ""))
    if cell.last:
        shape = _round(x, y) if ground is _round else f'{_square(x, y, 1)} rx="3"'
        parts.append(f'<{shape} fill="none" stroke="currentColor" stroke-width="2.5"/>')
    return "".join(parts)


def _text(text: str, x: float, y: float, extra: str = "") -> str:
    size = f' font-size="{_SMALL[len(text)]:g}"' if len(text) in _SMALL else ""
    return f'<text x="{x + CELL / 2}" y="{y + CELL / 2 + 4.5}"{size}{extra}>{escape(text)}</text>'


def _label(text: str, x: float, y: float) -> str:
    return f'<text x="{x:.1f}" y="{y + 4:.1f}" font-size="11" opacity="0.7">{escape(text)}</text>'


def _line(ends: tuple[tuple[int, int], tuple[int, int]], margin: int) -> str:
    """A line between the middles of two cells."""
    (y1, x1), (y2, x2) = ((CELL * (r + 0.5), margin + CELL * (c + 0.5)) for r, c in ends)
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="currentColor" stroke-opacity="0.35"/>'
