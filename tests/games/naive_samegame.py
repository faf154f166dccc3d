"""SameGame from its rules in plain Python, a twin of games/samegame: lists of stones, one for each column."""

from __future__ import annotations

from collections import Counter

Cell = tuple[int, int]
"""(column, row), row 0 at the bottom."""


class NaiveSameGame:
    """A board of columns of stones from the bottom, and its score."""

    def __init__(self, columns: list[list[str]]) -> None:
        """``columns`` are copied."""
        self.columns = [column.copy() for column in columns]
        self.score = 0
        self._add_end()

    def groups(self) -> list[set[Cell]]:
        """All groups of two stones or more."""
        seen: set[Cell] = set()
        groups = []
        for x, column in enumerate(self.columns):
            for y in range(len(column)):
                if (x, y) not in seen:
                    group = self._group((x, y))
                    seen |= group
                    if len(group) > 1:
                        groups.append(group)
        return groups

    def play(self, group: set[Cell]) -> None:
        """Remove a group."""
        self.score += (len(group) - 2) ** 2
        kept = [
            [stone for y, stone in enumerate(column) if (x, y) not in group]
            for x, column in enumerate(self.columns)
        ]
        self.columns = [column for column in kept if column]
        self._add_end()

    def _add_end(self) -> None:
        if self.groups():
            return
        left = Counter(stone for column in self.columns for stone in column)
        self.score += -sum((number - 2) ** 2 for number in left.values()) if left else 1000

    def _group(self, start: Cell) -> set[Cell]:
        group: set[Cell] = set()
        left = [start]
        while left:
            x, y = cell = left.pop()
            if cell in group or self._at(cell) != self._at(start):
                continue
            group.add(cell)
            left += [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)]
        return group

    def _at(self, cell: Cell) -> str | None:
        x, y = cell
        inside = 0 <= x < len(self.columns) and 0 <= y < len(self.columns[x])
        return self.columns[x][y] if inside else None
