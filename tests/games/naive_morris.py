"""The mill games from their rules: points as coordinates on the drawn board, sets and dictionaries."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

Point = tuple[int, int]

SIX = [(0, 4), (1, 3)]
SQUARES = {"three": [(0, 2)], "five": SIX, "six": SIX, "seven": SIX, "nine": [(0, 6), (1, 5), (2, 4)]}
"""The first and last line of each square."""
STONES = {"three": 3, "five": 5, "six": 6, "seven": 7, "nine": 9, "lasker": 10, "twelve": 12}


def lines_of(variant: str) -> list[list[Point]]:
    """All straight lines on the board, each as its points in order."""
    squares = SQUARES.get(variant, SQUARES["nine"])
    lines: list[list[Point]] = []
    middle = squares[0][1] // 2
    for low, high in squares:
        across = [low, middle, high]
        for edge in (low, high):
            lines += [[(x, edge) for x in across], [(edge, y) for y in across]]
    if variant == "three":
        lines += [[(1, 0), (1, 1), (1, 2)], [(0, 1), (1, 1), (2, 1)]]
        lines += [[(0, 0), (1, 1), (2, 2)], [(0, 2), (1, 1), (2, 0)]]
        return lines
    if variant == "seven":
        return [*lines, [(x, 2) for x in range(5)], [(2, y) for y in range(5)]]
    lows = [low for low, _ in squares]
    highs = [high for _, high in squares]
    for side in (lows, highs[::-1]):
        lines += [[(middle, y) for y in side], [(x, middle) for x in side]]
    if variant == "twelve":
        for xs in (lows, highs):
            for ys in (lows, highs):
                lines.append([(x, y) for x, y in zip(xs, ys, strict=True)])
    return lines


def is_diagonal(line: list[Point]) -> bool:
    """Whether the line is neither a row nor a column."""
    return line[0][0] != line[1][0] and line[0][1] != line[1][1]


@dataclass
class NaiveMorris:
    """One game; ``options`` as in the spec."""

    options: dict[str, str | int]
    owner: dict[Point, int] = field(default_factory=dict)
    mover: int = 0
    removing: bool = False
    turns: int = 0
    score: float | None = None
    seen: Counter[object] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.variant = str(self.options["variant"])
        lines = lines_of(self.variant)
        self.points = {point for line in lines for point in line}
        self.hands = [STONES[self.variant]] * 2
        self.mills = [set(line[i : i + 3]) for line in lines for i in range(len(line) - 2)]
        joined = lines
        if self.variant == "three":
            if self.options["win_lines"] == 6:
                self.mills = [set(line) for line in lines if not is_diagonal(line)]
            if self.options["diagonal_moves"] == "no":
                joined = [line for line in lines if not is_diagonal(line)]
        self.edges = {frozenset(pair) for line in joined for pair in pairwise(line)}

    @property
    def pieces(self) -> dict[tuple[int, int], int]:
        """The owners by row and column."""
        return {(y, x): owner for (x, y), owner in self.owner.items()}

    def name(self, point: Point) -> str:
        return f"{'abcdefg'[point[0]]}{point[1] + 1}"

    def stones(self, player: int) -> set[Point]:
        return {point for point, owner in self.owner.items() if owner == player}

    def moves(self) -> dict[str, tuple[Point | None, Point]]:
        """By text: from where (None: from the hand) and to where; or what is removed."""
        if self.score is not None:
            return {}
        if self.removing:
            other = self.stones(1 - self.mover)
            safe = {point for mill in self.mills if mill <= other for point in mill}
            return {f"x{self.name(p)}": (None, p) for p in (other - safe or other)}
        empty = self.points - set(self.owner)
        moves: dict[str, tuple[Point | None, Point]] = {}
        if self.hands[self.mover]:
            moves |= {self.name(point): (None, point) for point in empty}
            if self.variant != "lasker":
                return moves
        own = self.stones(self.mover)
        flies = self.options.get("move") == "any"
        flies |= self.options.get("fly") == "yes" and len(own) == 3 and not self.hands[self.mover]
        for start in own:
            for end in empty:
                if flies or frozenset((start, end)) in self.edges:
                    moves[f"{self.name(start)}-{self.name(end)}"] = (start, end)
        return moves

    def play(self, text: str) -> None:
        start, end = self.moves()[text]
        if self.removing:
            del self.owner[end]
            self.removing = False
            self.seen.clear()
            self.pass_on()
            return
        if start is None:
            self.hands[self.mover] -= 1
            self.seen.clear()
        else:
            del self.owner[start]
        self.owner[end] = self.mover
        self.turns += 1
        if any(end in mill and mill <= self.stones(self.mover) for mill in self.mills):
            if self.variant == "three":
                self.score = 1.0 - 2.0 * self.mover
                return
            self.removing = True
            return
        self.pass_on()

    def pass_on(self) -> None:
        """The other player's turn, if there is one."""
        self.mover = 1 - self.mover
        position = (frozenset(self.owner.items()), self.mover, tuple(self.hands))
        self.seen[position] += 1
        often = {"first": 2, "threefold": 3, "none": 10**9}[str(self.options["repetition"])]
        if len(self.stones(self.mover)) + self.hands[self.mover] < 3:
            self.score = 2.0 * self.mover - 1.0
        elif self.variant == "twelve" and len(self.owner) == len(self.points):
            self.score = 0.0
        elif not self.moves():
            self.score = 2.0 * self.mover - 1.0
        elif self.turns >= int(self.options["cap"]) or self.seen[position] >= often:
            self.score = 0.0
