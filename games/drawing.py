"""Boards as text for a terminal, with or without colours."""

from __future__ import annotations

from collections.abc import Mapping

from games.game import Board, Cell

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
    text = cell.text
    if share is not None and cell.owner is None and cell.colour is None and share >= 0.005:
        text = str(min(round(100 * share), 99))
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
