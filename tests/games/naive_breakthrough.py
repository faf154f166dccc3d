"""Breakthrough from the rules as people tell them: slow, with no masks."""

from __future__ import annotations

Move = tuple[tuple[int, int], tuple[int, int]]


class NaiveBreakthrough:
    """A game in progress; cells are (row, column), row 0 at the bottom. White, player 0, moves up."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns, self.mover = rows, columns, 0
        self.winner: int | None = None
        home = range(2 if rows >= 6 else 1)
        self.pieces = {(row, column): 0 for row in home for column in range(columns)}
        self.pieces |= {(rows - 1 - row, column): 1 for row in home for column in range(columns)}

    def legal(self) -> list[Move]:
        """The moves as (start, end)."""
        found = []
        forward = 1 if self.mover == 0 else -1
        for (row, column), owner in self.pieces.items():
            for aside in (-1, 0, 1):
                end = row + forward, column + aside
                there = self.pieces.get(end)
                inside = 0 <= end[0] < self.rows and 0 <= end[1] < self.columns
                if owner == self.mover and inside and there != owner and (there is None or aside):
                    found.append(((row, column), end))
        return found

    def play(self, move: Move) -> None:
        start, end = move
        self.pieces[end] = self.pieces.pop(start)
        last_row = self.rows - 1 if self.mover == 0 else 0
        if end[0] == last_row or 1 - self.mover not in self.pieces.values():
            self.winner = self.mover
        self.mover = 1 - self.mover
