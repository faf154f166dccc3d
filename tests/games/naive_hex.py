"""Hex from the rules as people tell them: slow, with no masks."""

from __future__ import annotations

NEIGHBOURS = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, -1), (-1, 1))


class NaiveHex:
    """A game in progress; cells are (row, column), row 0 on top. Player 0 connects upper and lower edge."""

    def __init__(self, size: int, swap: bool) -> None:
        self.size, self.swap, self.plies = size, swap, 0
        self.stones: dict[tuple[int, int], int] = {}

    @property
    def winner(self) -> int | None:
        return next((player for player in (0, 1) if self.is_connected(player)), None)

    def is_connected(self, player: int) -> bool:
        """Whether a path of the player's stones leads from edge to edge."""
        own = {cell for cell, owner in self.stones.items() if owner == player}
        reached = {cell for cell in own if cell[player] == 0}
        edge = reached
        while edge:
            around = {(row + down, column + right) for row, column in edge for down, right in NEIGHBOURS}
            edge = around & own - reached
            reached = reached | edge
        return any(cell[player] == self.size - 1 for cell in reached)

    def legal(self) -> list[tuple[int, int] | None]:
        """The empty cells; None for the swap."""
        every = [(row, column) for row in range(self.size) for column in range(self.size)]
        cells: list[tuple[int, int] | None] = [cell for cell in every if cell not in self.stones]
        return [*cells, None] if self.swap and self.plies == 1 else cells

    def play(self, cell: tuple[int, int] | None) -> None:
        if cell is None:
            ((row, column),) = self.stones
            self.stones = {(column, row): 1}
        else:
            self.stones[cell] = self.plies % 2
        self.plies += 1
