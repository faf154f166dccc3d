"""Boards as one line of text: rows from the top divided by '/', a number for as many empty cells."""

from __future__ import annotations

import re
from collections.abc import Sequence

from games.errors import InvalidInput

_ITEM = re.compile(r"[a-z]|[1-9][0-9]?")


def format_grid(owners: Sequence[Sequence[int | None]], signs: str, mover: int) -> str:
    """The rows, a space, and the player to move.

    ``owners``: the owner of each cell (a player, or None), rows from the top. ``signs``: a letter for each
    player.
    """
    rows = ("".join("." if owner is None else signs[owner] for owner in row) for row in owners)
    text = "/".join(re.sub(r"\.+", lambda empty: str(len(empty[0])), row) for row in rows)
    return f"{text} {signs[mover]}"


def parse_grid(
    text: str, rows: int, columns: int | Sequence[int], signs: str
) -> tuple[list[list[int | None]], int]:
    """The (owners, mover) that `format_grid` wrote; raises InvalidInput (field ``position``).

    ``columns``: cells of every row, or of each row from the top.
    """
    board, _, mover = text.partition(" ")
    lines = board.split("/")
    well_formed = re.compile(rf"(?:[{signs}]|[1-9][0-9]?)+")
    widths = [columns] * rows if isinstance(columns, int) else columns
    if mover not in [*signs] or len(lines) != rows or not all(map(well_formed.fullmatch, lines)):
        accepted = (
            f"{rows} rows from the top divided by '/' ({', '.join(signs)}, or a number of empty cells), "
            f"a space, and {' or '.join(signs)} to move"
        )
        raise InvalidInput("position", text, accepted)
    owners: list[list[int | None]] = []
    for number, line in enumerate(lines, start=1):
        row: list[int | None] = []
        for item in _ITEM.findall(line):
            row += [signs.index(item)] if item in signs else [None] * int(item)
        if len(row) != (width := widths[number - 1]):
            where = "each row" if isinstance(columns, int) else "this row"
            accepted = f"{width} cells in {where} (row {number} from the top has {len(row)})"
            raise InvalidInput("position", text, accepted)
        owners.append(row)
    return owners, signs.index(mover)
