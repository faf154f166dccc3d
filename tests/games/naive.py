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


class NaiveConnectFour:
    """A game in progress: by column the owners of its stones from the bottom."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows = rows
        self.columns: list[list[int]] = [[] for _ in range(columns)]
        self.winner: int | None = None

    @property
    def num_stones(self) -> int:
        return sum(map(len, self.columns))

    @property
    def is_over(self) -> bool:
        return self.winner is not None or self.num_stones == self.rows * len(self.columns)

    def legal(self) -> list[int]:
        return [] if self.is_over else [c for c, owners in enumerate(self.columns) if len(owners) < self.rows]

    def play(self, column: int) -> None:
        player = self.num_stones % 2
        self.columns[column].append(player)
        row = len(self.columns[column]) - 1
        for up, right in DIRECTIONS:
            line = [self._owner(row + k * up, column + k * right) for k in range(-3, 4)]
            if any(line[k : k + 4] == [player] * 4 for k in range(4)):
                self.winner = player

    def _owner(self, row: int, column: int) -> int | None:
        inside = 0 <= column < len(self.columns) and 0 <= row < len(self.columns[column])
        return self.columns[column][row] if inside else None

    def copy(self) -> NaiveConnectFour:
        other = NaiveConnectFour(self.rows, len(self.columns))
        other.columns, other.winner = [list(owners) for owners in self.columns], self.winner
        return other

    def minimax(self) -> int:
        """The value for the first player, 1, 0 or -1, by trying everything."""
        if self.is_over:
            return 0 if self.winner is None else 1 - 2 * self.winner
        values = []
        for column in self.legal():
            after = self.copy()
            after.play(column)
            values.append(after.minimax())
        return min(values) if self.num_stones % 2 else max(values)


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
