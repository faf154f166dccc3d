"""Othello from the rules as people tell them: slow, with no masks."""

from __future__ import annotations

AROUND = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)]


class NaiveOthello:
    """A game in progress; cells are (row, column), row 0 on top."""

    def __init__(self, size: int) -> None:
        self.size, self.mover = size, 0
        low, high = size // 2 - 1, size // 2
        self.discs = {(low, high): 0, (high, low): 0, (low, low): 1, (high, high): 1}

    @property
    def is_over(self) -> bool:
        return not self.cells(0) and not self.cells(1)

    @property
    def lead(self) -> int:
        """The first player's discs less the second's."""
        return sum(1 - 2 * owner for owner in self.discs.values())

    def cells(self, player: int) -> list[tuple[int, int]]:
        """Where the player could place a disc."""
        every = [(row, column) for row in range(self.size) for column in range(self.size)]
        return [cell for cell in every if cell not in self.discs and self.turned(cell, player)]

    def turned(self, cell: tuple[int, int], player: int) -> list[tuple[int, int]]:
        """The discs that one on the cell would turn over."""
        found = []
        for down, right in AROUND:
            run = []
            row, column = cell[0] + down, cell[1] + right
            while self.discs.get((row, column)) == 1 - player:
                run.append((row, column))
                row, column = row + down, column + right
            if self.discs.get((row, column)) == player:
                found += run
        return found

    def legal(self) -> list[tuple[int, int] | None]:
        """The cells of the player to move; None for a pass."""
        return [] if self.is_over else [*self.cells(self.mover)] or [None]

    def play(self, cell: tuple[int, int] | None) -> None:
        if cell is not None:
            for each in [*self.turned(cell, self.mover), cell]:
                self.discs[each] = self.mover
        self.mover = 1 - self.mover
