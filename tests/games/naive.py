"""Games from the rules as people tell them: slow, with no masks and no lists.

Moves are the game's texts; cells are (row, column), row 0 at the bottom.
"""

from __future__ import annotations

from games.board import format_cell

Cell = tuple[int, int]
LINES = ((0, 1), (1, 0), (1, 1), (1, -1))


class NaiveGomoku:
    """Five in a row: the owners of the stones, and the first player's return if it is over."""

    def __init__(self, size: int, candidates: int, overline: str) -> None:
        self.size, self.candidates, self.overline = size, candidates, overline
        self.pieces: dict[Cell, int] = {}
        self.score: float | None = None

    @property
    def mover(self) -> int:
        return len(self.pieces) % 2

    def run(self, cell: Cell, up: int, right: int, owner: int) -> list[Cell]:
        """The owner's stones that follow on a cell in a direction."""
        found: list[Cell] = []
        while self.pieces.get(following := (cell[0] + up, cell[1] + right)) == owner:
            found.append(cell := following)
        return found

    def moves(self) -> dict[str, Cell]:
        cells = {(r, c) for r in range(self.size) for c in range(self.size)} - self.pieces.keys()
        if self.candidates and not self.pieces:
            cells = {((self.size - 1) // 2, (self.size - 1) // 2)}
        elif self.candidates:
            cells = {
                (r, c)
                for r, c in cells
                if any(max(abs(r - y), abs(c - x)) <= self.candidates for y, x in self.pieces)
            }
        return {} if self.score is not None else {format_cell(*cell): cell for cell in cells}

    def play(self, text: str) -> None:
        self.place(self.moves()[text])

    def place(self, cell: Cell) -> None:
        player = self.pieces[cell] = self.mover
        if len(self.pieces) == self.size**2:
            self.score = 0.0
        for up, right in LINES:
            length = 1 + len(self.run(cell, up, right, player) + self.run(cell, -up, -right, player))
            if length == 5 or (length > 5 and self.overline == "wins"):
                self.score = 1.0 - 2.0 * player


Piles = tuple[int, ...]
"""The sizes of all piles of Grundy's game, sorted."""


def splits(piles: Piles) -> dict[tuple[int, int], Piles]:
    """What is left after each move: (size of the pile, smaller part) to the piles afterwards."""
    after = {}
    for size in set(piles):
        others = list(piles)
        others.remove(size)
        for part in range(1, size):
            if part < size - part:
                after[size, part] = tuple(sorted([*others, part, size - part]))
    return after
