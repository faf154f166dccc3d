"""Names of cells: ``a1`` is the bottom left cell; letters are columns, numbers are rows from the bottom."""

from __future__ import annotations

import re
import string

_CELL = re.compile(r"([a-z])([1-9][0-9]?)")


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
