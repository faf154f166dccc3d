"""Games from the rules as people tell them: slow, with no masks and no lists.

Moves are the game's texts; cells are (row, column), row 0 at the bottom.
"""

from __future__ import annotations

from games.board import format_cell

Cell = tuple[int, int]
LINES = ((0, 1), (1, 0), (1, 1), (1, -1))
AROUND = [(up, right) for up in (-1, 0, 1) for right in (-1, 0, 1) if (up, right) != (0, 0)]


class NaiveGame:
    """A game in progress: the owners of the pieces, and the first player's return if it is over."""

    def __init__(self) -> None:
        self.pieces: dict[Cell, int] = {}
        self.plies = 0
        self.score: float | None = None

    @property
    def mover(self) -> int:
        return self.plies % 2

    @staticmethod
    def from_top(size: int) -> dict[str, Cell]:
        """The cells of a board by their texts, whose numbers count rows from the top."""
        return {format_cell(size - 1 - r, c): (r, c) for r in range(size) for c in range(size)}

    def win(self, player: int) -> None:
        self.score = 1.0 - 2.0 * player

    def run(self, cell: Cell, up: int, right: int, owner: int) -> list[Cell]:
        """The owner's pieces that follow on a cell in a direction."""
        found: list[Cell] = []
        while self.pieces.get(following := (cell[0] + up, cell[1] + right)) == owner:
            found.append(cell := following)
        return found


class NaiveGomoku(NaiveGame):
    """Five in a row."""

    def __init__(self, size: int, candidates: int, overline: str) -> None:
        super().__init__()
        self.size, self.candidates, self.overline = size, candidates, overline

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
        player = self.pieces[cell] = len(self.pieces) % 2
        self.plies += 1
        if len(self.pieces) == self.size**2:
            self.score = 0.0
        for up, right in LINES:
            length = 1 + len(self.run(cell, up, right, player) + self.run(cell, -up, -right, player))
            if length == 5 or (length > 5 and self.overline == "wins"):
                self.win(player)


class NaiveConnectFour(NaiveGame):
    """Four in a row, from the bottom."""

    def __init__(self, rows: int, columns: int) -> None:
        super().__init__()
        self.rows, self.columns = rows, columns

    def moves(self) -> dict[str, int]:
        if self.score is not None:
            return {}
        return {"abcdefghijkl"[c]: c for c in range(self.columns) if (self.rows - 1, c) not in self.pieces}

    def play(self, text: str) -> None:
        self.drop(self.moves()[text])

    def drop(self, column: int) -> None:
        cell, player = (sum(c == column for _, c in self.pieces), column), self.mover
        self.pieces[cell] = player
        self.plies += 1
        if self.plies == self.rows * self.columns:
            self.score = 0.0
        for up, right in LINES:
            if len(self.run(cell, up, right, player) + self.run(cell, -up, -right, player)) >= 3:
                self.win(player)

    def minimax(self) -> float:
        """The value for the first player, 1, 0 or -1, by trying everything."""
        if self.score is not None:
            return self.score
        values = []
        for column in self.moves().values():
            after = NaiveConnectFour(self.rows, self.columns)
            after.pieces, after.plies = dict(self.pieces), self.plies
            after.drop(column)
            values.append(after.minimax())
        return min(values) if self.mover else max(values)


class NaiveBreakthrough(NaiveGame):
    """White, player 0, moves up."""

    def __init__(self, rows: int, columns: int) -> None:
        super().__init__()
        self.rows, self.columns = rows, columns
        home = range(2 if rows >= 6 else 1)
        self.pieces = {(row, column): 0 for row in home for column in range(columns)}
        self.pieces |= {(rows - 1 - row, column): 1 for row in home for column in range(columns)}

    def moves(self) -> dict[str, tuple[Cell, Cell]]:
        """By text, start and end."""
        found: dict[str, tuple[Cell, Cell]] = {}
        forward = 1 - 2 * self.mover
        for (row, column), owner in self.pieces.items() if self.score is None else ():
            for aside in (-1, 0, 1):
                end = row + forward, column + aside
                there = self.pieces.get(end)
                inside = 0 <= end[0] < self.rows and 0 <= end[1] < self.columns
                if owner == self.mover and inside and there != owner and (there is None or aside):
                    found[format_cell(row, column) + format_cell(*end)] = (row, column), end
        return found

    def play(self, text: str) -> None:
        start, end = self.moves()[text]
        self.pieces[end] = self.pieces.pop(start)
        last_row = self.rows - 1 if self.mover == 0 else 0
        if end[0] == last_row or 1 - self.mover not in self.pieces.values():
            self.win(self.mover)
        self.plies += 1


class NaiveHex(NaiveGame):
    """Player 0 connects upper and lower edge; a row is half a cell to the right of the one above it."""

    def __init__(self, size: int, swap: bool) -> None:
        super().__init__()
        self.size, self.swap = size, swap

    def is_connected(self, player: int) -> bool:
        """Whether a path of the player's stones leads from edge to edge."""
        own = {cell for cell, owner in self.pieces.items() if owner == player}
        reached = {cell for cell in own if cell[player] == 0}
        edge = reached
        steps = [step for step in AROUND if step not in ((1, -1), (-1, 1))]
        while edge:
            edge = {(row + up, column + right) for row, column in edge for up, right in steps} & own - reached
            reached = reached | edge
        return any(cell[player] == self.size - 1 for cell in reached)

    def moves(self) -> dict[str, Cell | None]:
        """By text, the empty cells; None for the swap."""
        cells = {text: cell for text, cell in self.from_top(self.size).items() if cell not in self.pieces}
        swap = {"swap": None} if self.swap and self.plies == 1 else {}
        return {} if self.score is not None else {**cells, **swap}

    def play(self, text: str) -> None:
        cell = self.moves()[text]
        if cell is None:
            ((row, column),) = self.pieces
            self.pieces = {(self.size - 1 - column, self.size - 1 - row): 1}
        else:
            self.pieces[cell] = self.mover
        for player in (0, 1):
            if self.is_connected(player):
                self.win(player)
        self.plies += 1


class NaiveOthello(NaiveGame):
    """A disc turns over runs of the other's between it and another of its own."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        low, high = size // 2 - 1, size // 2
        self.pieces = {(low, low): 0, (high, high): 0, (low, high): 1, (high, low): 1}

    def cells(self, player: int) -> dict[str, Cell | None]:
        """Where the player could place a disc."""
        free = {text: cell for text, cell in self.from_top(self.size).items() if cell not in self.pieces}
        return {text: cell for text, cell in free.items() if self.turned(cell, player)}

    def turned(self, cell: Cell, player: int) -> list[Cell]:
        """The discs that one on the cell would turn over."""
        found = []
        for up, right in AROUND:
            run = self.run(cell, up, right, 1 - player)
            row, column = (run or [cell])[-1]
            if self.pieces.get((row + up, column + right)) == player:
                found += run
        return found

    def moves(self) -> dict[str, Cell | None]:
        """By text, the cells of the player to move; None for a pass."""
        return {} if self.score is not None else self.cells(self.mover) or {"pass": None}

    def play(self, text: str) -> None:
        cell = self.moves()[text]
        if cell is not None:
            for each in [*self.turned(cell, self.mover), cell]:
                self.pieces[each] = self.mover
        self.plies += 1
        if not self.cells(0) and not self.cells(1):
            lead = sum(1 - 2 * owner for owner in self.pieces.values())
            self.score = float((lead > 0) - (lead < 0))


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
