"""The answer of a search as self-contained HTML for notebooks, in the colours of the notebook's page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from games.board_svg import board_svg
from games.errors import counted
from games.game import Board

CHILDREN_SHOWN = 8
_SIDE_BY_SIDE = "display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start"
_CELL = "padding:0.1em 0.8em 0.1em 0;text-align:{};background:none;border:none;color:inherit"


def answer_html(
    board: Board | None,
    shares: Mapping[tuple[int, int], float],
    facts: Iterable[tuple[str, str]],
    children: Iterable[tuple[str, ...]],
) -> str:
    """A ``<div>`` with the board, facts and moves.

    ``shares``: shares of visits by (row, column) of the board. ``facts``: names and texts. ``children``:
    texts of move, visits, share and value for each move, the best first.
    """
    rows = [*children]
    best = [f"<b>{escape(text)}</b>" for text in rows[0]] if rows else []
    plain = [[escape(text) for text in row] for row in rows[1:CHILDREN_SHOWN]]
    tables = [_table([f'<span style="opacity:0.7">{escape(n)}</span>', escape(text)] for n, text in facts)]
    if rows:
        head = [f'<span style="opacity:0.7">{name}</span>' for name in ("move", "visits", "share", "value")]
        tables.append(_table([head, best, *plain], numbers=True))
    more = len(rows) - CHILDREN_SHOWN
    note = f'<div style="opacity:0.7">and {counted(more, "more move")}</div>' if more > 0 else ""
    drawn = "" if board is None else f"<div>{_board(board, shares)}</div>"
    return f'<div style="{_SIDE_BY_SIDE}">{drawn}<div>{"".join(tables)}{note}</div></div>'


def _board(board: Board, shares: Mapping[tuple[int, int], float]) -> str:
    """A board without names of columns is shown as text, because its characters need not be cells."""
    if any(board.column_labels):
        return board_svg(board, shares)
    lines = ("".join(cell.text for cell in row).rstrip() for row in board.rows)
    style = "margin:0;background:none;color:inherit"
    return f'<pre style="{style}">{escape(chr(10).join(lines))}</pre>'


def _table(rows: Iterable[list[str]], *, numbers: bool = False) -> str:
    """A table whose cells are HTML. With ``numbers`` all columns but the first are right-aligned."""
    lines = []
    for row in rows:
        cells = [
            f'<td style="{_CELL.format("right" if numbers and column else "left")}">{cell}</td>'
            for column, cell in enumerate(row)
        ]
        lines.append(f'<tr style="background:none">{"".join(cells)}</tr>')
    return f'<table style="border-collapse:collapse;margin:0 0 0.8em 0">{"".join(lines)}</table>'
