"""Games from the rules as people tell them: slow, with no masks and no lists."""

from __future__ import annotations

DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


class NaiveGomoku:
    """A game in progress; cells are (row, column)."""

    def __init__(self, size: int, candidates: int, overline: str) -> None:
        self.size, self.candidates, self.overline = size, candidates, overline
        self.stones: dict[tuple[int, int], int] = {}
        self.winner: int | None = None

    @property
    def is_over(self) -> bool:
        return self.winner is not None or len(self.stones) == self.size**2

    def legal(self) -> set[tuple[int, int]]:
        if self.is_over:
            return set()
        cells = {(r, c) for r in range(self.size) for c in range(self.size)} - self.stones.keys()
        if self.candidates == 0:
            return cells
        if not self.stones:
            return {((self.size - 1) // 2, (self.size - 1) // 2)}
        return {
            (r, c)
            for r, c in cells
            if any(max(abs(r - y), abs(c - x)) <= self.candidates for y, x in self.stones)
        }

    def play(self, row: int, column: int) -> None:
        player = len(self.stones) % 2
        self.stones[row, column] = player
        for down, right in DIRECTIONS:
            length = 1 + self._reach(row, column, down, right) + self._reach(row, column, -down, -right)
            if length == 5 or (length > 5 and self.overline == "wins"):
                self.winner = player

    def _reach(self, row: int, column: int, down: int, right: int) -> int:
        """How many of the same player's stones follow on (row, column) in a direction."""
        player, steps = self.stones[row, column], 0
        while self.stones.get((row + (steps + 1) * down, column + (steps + 1) * right)) == player:
            steps += 1
        return steps


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
