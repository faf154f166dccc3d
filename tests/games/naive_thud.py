"""Thud from the rules as people tell them: slow, pieces by (file, rank), no codes and no masks."""

from __future__ import annotations

from collections.abc import Iterator

Square = tuple[int, int]
DIRECTIONS = [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if (x, y) != (0, 0)]
FILES = "ABCDEFGHJKLMNOP"
STONE = (7, 7)
WIDTHS = [5, 7, 9, 11, 13, 15, 15, 15, 15, 15, 13, 11, 9, 7, 5]
"""Squares in each rank, bottom to top; all are centred."""
SQUARES = {((15 - width) // 2 + i, rank) for rank, width in enumerate(WIDTHS) for i in range(width)} - {STONE}


def name(square: Square) -> str:
    return f"{FILES[square[0]]}{square[1] + 1}"


class NaiveThud:
    """A game in progress, its options by their names."""

    def __init__(self, options: dict[str, str | int]) -> None:
        self.options = options
        self.side = "d" if options["first"] == "dwarfs" else "T"
        self.signs: dict[Square, str] = {}
        for x, y in SQUARES:
            if max(abs(x - 7), abs(y - 7)) == 1:
                self.signs[x, y] = "T"
            edge = any((x + a, y + b) not in SQUARES | {STONE} for a, b in ((0, 1), (1, 0), (0, -1), (-1, 0)))
            if edge and x != 7 and y != 7:
                self.signs[x, y] = "d"
        self.history: list[tuple[str, bool]] = []
        """For each ply who moved, and whether anything was taken."""

    @property
    def mover(self) -> int:
        return "dT".index(self.side)

    @property
    def pieces(self) -> dict[Square, int]:
        """The owners by row and column."""
        return {(y, x): "dT".index(sign) for (x, y), sign in self.signs.items()}

    @property
    def margin(self) -> int:
        signs = list(self.signs.values())
        return signs.count("d") - 4 * signs.count("T")

    @property
    def score(self) -> float:
        return self.margin / 32

    def moves(self) -> dict[str, tuple[Square, Square, frozenset[Square]]]:
        """The moves by their text: from, to, and what is taken."""
        if self._is_ended():
            return {}
        found = {}
        for source, piece in self.signs.items():
            if piece == self.side:
                for target, taken in self._dwarf(source) if piece == "d" else self._troll(source):
                    cells = "".join(f"x{name(each)}" for each in sorted(taken))
                    text = f"{piece}{name(source)}-{name(target)}{cells}"
                    assert text not in found
                    found[text] = (source, target, frozenset(taken))
        return found

    def play(self, text: str) -> None:
        source, target, taken = self.moves()[text]
        for square in taken:
            del self.signs[square]
        self.signs[target] = self.signs.pop(source)
        self.history.append((self.side, bool(taken)))
        self.side = "T" if self.side == "d" else "d"

    def _dwarf(self, source: Square) -> Iterator[tuple[Square, set[Square]]]:
        for direction in DIRECTIONS:
            for distance in range(1, 15):
                target = _away(source, direction, distance)
                between = [_away(source, direction, i) for i in range(1, distance)]
                if any(square not in SQUARES or square in self.signs for square in between):
                    continue
                if target in SQUARES and target not in self.signs:
                    yield target, set()
                if self.signs.get(target) == "T" and self._line(source, direction, "d") >= distance:
                    yield target, {target}

    def _troll(self, source: Square) -> Iterator[tuple[Square, set[Square]]]:
        for direction in DIRECTIONS:
            for distance in range(1, self._line(source, direction, "T") + 1):
                way = [_away(source, direction, i) for i in range(1, distance + 1)]
                if all(square in SQUARES and square not in self.signs for square in way):
                    for taken in self._choices(way[-1]):
                        if distance == 1 or taken or self.options["shove_requires_capture"] == "no":
                            yield way[-1], taken

    def _choices(self, target: Square) -> list[set[Square]]:
        """What a troll that lands on a square may take."""
        beside = {_away(target, direction, 1) for direction in DIRECTIONS}
        dwarfs = {square for square in beside if self.signs.get(square) == "d"}
        rule = self.options["troll_capture"]
        if rule == "all_forced" or not dwarfs:
            return [dwarfs]
        return [set(), dwarfs] if rule == "all_or_none" else [set(), *({square} for square in dwarfs)]

    def _line(self, front: Square, direction: Square, piece: str) -> int:
        """The pieces in the unbroken line behind the front one, itself included."""
        length = 0
        while self.signs.get(_away(front, direction, -length)) == piece:
            length += 1
        return length

    def _is_ended(self) -> bool:
        """Whether the game is over for another reason than that the mover cannot move."""
        if len(set(self.signs.values())) < 2 or len(self.history) >= int(self.options["turns"]):
            return True
        if self.options["end"] == "cap":
            last = int(self.options["no_capture"])
            return len(self.history) >= last and not any(taken for _, taken in self.history[-last:])
        return self.options["end"] == "seed_agreement" and self._is_willing("d") and self._is_willing("T")

    def _is_willing(self, player: str) -> bool:
        if (self.margin if player == "d" else -self.margin) > 0:
            return True
        since = 0
        for mover, taken in reversed(self.history):
            if mover == player and taken:
                break
            since += mover == player or self.options["count"] == "plies"
        return since >= int(self.options["agreement_moves"])


def _away(square: Square, direction: Square, distance: int) -> Square:
    return square[0] + distance * direction[0], square[1] + distance * direction[1]


assert len(SQUARES) == 164
