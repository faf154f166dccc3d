"""Thud's cells, moves and positions as text.

The text of a position has three parts. First its rows from the top, divided by '/', each as wide as the
octagon is in that row: ``d`` and ``T`` are pieces, ``*`` is the Thudstone, and a number stands for that many
empty cells. Then the player to move, ``d`` or ``T``. Then three counts: the moves since the dwarfs last took
a troll, the moves since the trolls last took a dwarf, and the plies of the game. The first two count only
the player's own moves with ``count=own_moves``, and the moves of both players with ``count=plies`` or
``end=cap``. Missing counts are 0.
"""

from __future__ import annotations

import re

from games.thud.board import CELLS, SIZE, STONE

PIECES = ("d", "T")
"""The letters of a dwarf and of a troll."""
COLUMNS = "ABCDEFGHJKLMNOP"
_ROW = re.compile(r"(?:[dT*]|[1-9][0-9]?)+")
_ITEM = re.compile(r"[dT*]|[1-9][0-9]?")
_MOVE = re.compile(r"([dT])([A-P][0-9]+)-([A-P][0-9]+)((?:x[A-P][0-9]+)*)")


def format_cell(cell: int) -> str:
    """The cell's text, such as ``O11``."""
    return f"{COLUMNS[(cell & 15) - 1]}{cell >> 4}"


CELL_OF = {format_cell(cell): cell for cell in CELLS}


def format_move(piece: str, source: int, target: int, taken: list[int]) -> str:
    """The text of a move, such as ``TG7-F7xF8xG8``, with the taken cells in alphabetical order."""
    cells = sorted(taken, key=lambda cell: (cell & 15, cell >> 4))
    return f"{piece}{format_cell(source)}-{format_cell(target)}" + "".join(
        f"x{format_cell(cell)}" for cell in cells
    )


def split_move(move: str) -> tuple[str, int, int, list[int]] | None:
    """The (piece, source, target, taken cells) of a move's text; None if the text is malformed."""
    match = _MOVE.fullmatch(move)
    if match is None:
        return None
    cells = [match[2], match[3], *match[4].split("x")[1:]]
    if not CELL_OF.keys() >= set(cells):
        return None
    source, target, *taken = (CELL_OF[cell] for cell in cells)
    return match[1], source, target, taken


def row_cells(row: int) -> list[int]:
    """The cells of a row (1 to 15) from left to right."""
    return [cell for cell in CELLS if cell >> 4 == row]


def format_rows(signs: dict[int, str]) -> str:
    """The rows of the board as one word; ``signs`` is the piece by cell."""
    shown = {STONE: "*", **signs}
    rows = ("".join(shown.get(cell, ".") for cell in row_cells(row)) for row in range(SIZE, 0, -1))
    return "/".join(re.sub(r"\.+", lambda empty: str(len(empty[0])), row) for row in rows)


def parse_rows(rows: str) -> dict[int, str] | str:
    """The piece by cell; for malformed text, a description of what is accepted."""
    lines = rows.split("/")
    if len(lines) != SIZE or not all(map(_ROW.fullmatch, lines)):
        return f"{SIZE} rows from the top divided by '/', each of d, T, * and numbers of empty cells"
    signs: dict[int, str] = {}
    for row, line in zip(range(SIZE, 0, -1), lines, strict=True):
        shown = "".join("." * int(item) if item.isdigit() else item for item in _ITEM.findall(line))
        cells = row_cells(row)
        if len(shown) != len(cells):
            return f"{len(cells)} cells in row {row} (it has {len(shown)})"
        signs |= {cell: sign for cell, sign in zip(cells, shown, strict=True) if sign != "."}
    if signs.pop(STONE, "") != "*" or "*" in signs.values():
        return "the Thudstone * in the middle cell only"
    return signs
