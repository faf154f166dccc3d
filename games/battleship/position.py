"""Battleship positions as text.

The text holds the shots of the first player, and in a race `` | `` and the shots of the second player.
The shots of a player are a grid: rows from the top divided by '/', where ``x`` is a hit, ``o`` a miss,
``?`` the shot that awaits its answer, and a number stands for that many untried cells. The announcements
follow in order, each as the hits since the announcement before it, ending with the shot that sank the ship,
and the ship's name: ``b4b5b6=cruiser``. If fleets are dealt, the fleet shot at comes last, each ship
by its first and last cell in the order of the fleet: ``fleet=a1a5,c1f1``. The player to move follows
from the numbers of shots.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from games.battleship import rules
from games.battleship.placements import ID, Placements, candidates_of, cells_of, free_places
from games.battleship.rules import AREA, CELLS, HIT_FIRST, LENGTHS, MISSED, NUM_SHIPS, SIZE, State
from games.board import format_cell, parse_cell
from games.errors import InvalidInput
from games.grid import with_dots, with_numbers

_CELLS = re.compile(r"(?:[a-z][1-9][0-9]?)+")
_CELL = re.compile(r"[a-z][0-9]+")
BAR = " | "


def format_side(state: State, side: int, ships: Sequence[str]) -> str:
    """The shots of one player as text, with the announcements, and the fleet shot at if it is dealt."""
    size, area = int(state[SIZE]), int(state[AREA])
    cells = [int(value) for value in state[CELLS + side * area : CELLS + (side + 1) * area]]
    signs = [".ox"[min(value & 15, HIT_FIRST)] for value in cells]
    if state[rules.PENDING] and state[rules.SHOOTER] == side:
        signs[state[rules.PENDING] - 1] = "?"
    rows = ["".join(signs[row * size : (row + 1) * size]) for row in reversed(range(size))]
    words = ["/".join(map(with_numbers, rows))]
    block = rules.BLOCK + rules.BLOCK_LENGTH * side
    for n in range(state[block + rules.NUM_SUNK]):
        last = int(state[block + rules.SUNK_CELL + n])
        hits = [c for c in range(area) if cells[c] & 15 == HIT_FIRST + n and c != last]
        texts = [format_cell(*divmod(c, size)) for c in [*hits, last]]
        words.append(f"{''.join(texts)}={ships[int(state[block + rules.SUNK_SHIP + n])]}")
    if state[rules.DEALT]:
        placed = [[c for c in range(area) if cells[c] >> 4 == k + 1] for k in range(len(ships))]
        ends = ["".join(format_cell(*divmod(c, size)) for c in (own[0], own[-1])) for own in placed if own]
        words.append(f"fleet={','.join(ends)}")
    return " ".join(words)


class Reader:
    """Parser of one position's text into ``state``, an empty position."""

    def __init__(self, text: str, state: State, ships: Sequence[str], placements: Placements) -> None:
        self.text, self.state, self.ships, self.placements = text, state, ships, placements
        self.size, self.area, self.sides = int(state[SIZE]), int(state[AREA]), int(state[rules.SIDES])
        self.pending: list[int] = []

    def read(self) -> State:
        """The position; raises InvalidInput (field ``position``) for malformed or contradictory text.

        Whether a fleet exists that fits the answers is not checked here but by `Game.observation`.
        """
        parts = self.text.split(BAR)
        if len(parts) != self.sides:
            raise self._refusal(
                "the shots of both players divided by ' | '" if self.sides == 2 else "the shots of one player"
            )
        dealt = [self._side(side, part.split(" ")) for side, part in enumerate(parts)]
        if len(set(dealt)) > 1:
            raise self._refusal("the fleets of both players or of none")
        self.state[rules.DEALT] = dealt[0]
        self._turn()
        for side in range(self.sides):
            self._counts(side)
        return self.state

    def _refusal(self, accepted: str) -> InvalidInput:
        return InvalidInput("position", self.text, accepted)

    def _side(self, side: int, words: list[str]) -> bool:
        """Read one player's shots; returns whether the fleet shot at is given too."""
        self._grid(side, words[0].split("/"))
        rest = words[1:]
        dealt = bool(rest) and rest[-1].startswith("fleet=")
        for word in rest[:-1] if dealt else rest:
            self._announcement(side, word)
        if dealt:
            self._fleet(side, rest[-1].removeprefix("fleet=").split(","))
        return dealt

    def _grid(self, side: int, rows: list[str]) -> None:
        lines = [with_dots(row, "xo?") for row in rows]
        if len(lines) != self.size or None in lines:
            raise self._refusal(
                f"{self.size} rows from the top divided by '/' (x hit, o miss, ?, number of untried cells)"
            )
        block = rules.BLOCK + rules.BLOCK_LENGTH * side
        for row, line in zip(reversed(range(self.size)), filter(None, lines), strict=True):
            if len(line) != self.size:
                raise self._refusal(f"{self.size} cells in each row (row {row + 1} has {len(line)})")
            for cell, sign in enumerate(line, start=row * self.size):
                self.state[block + rules.SHOTS] += sign != "."
                self.state[block + rules.HITS] += sign == "x"
                if sign == "?":
                    self.pending.append(side)
                    self.state[rules.PENDING] = cell + 1
                elif sign != ".":
                    self.state[CELLS + side * self.area + cell] = HIT_FIRST if sign == "x" else MISSED

    def _announcement(self, side: int, word: str) -> None:
        cells, _, name = word.partition("=")
        block = rules.BLOCK + rules.BLOCK_LENGTH * side
        number = int(self.state[block + rules.NUM_SUNK])
        hits = self._cells(cells)
        known = name in self.ships and not self.state[block + rules.SUNK_SET] >> self.ships.index(name) & 1
        if not self.state[rules.ANNOUNCE] or not known or not hits or len(set(hits)) != len(hits):
            raise self._refusal(
                "an announcement such as b4b5b6=cruiser once for each ship"
                if self.state[rules.ANNOUNCE]
                else "no announcement of sunk ships (announce_sunk=no)"
            )
        base = CELLS + side * self.area
        before = [cell for cell in range(self.area) if self.state[base + cell] >= HIT_FIRST + number]
        if not set(hits) <= set(before):
            raise self._refusal(f"only hits in {word}, each hit in one announcement")
        for cell in set(before) - set(hits):
            self.state[base + cell] = HIT_FIRST + number + 1
        ship = self.ships.index(name)
        self.state[block + rules.SUNK_SHIP + number] = ship
        self.state[block + rules.SUNK_CELL + number] = hits[-1]
        self.state[block + rules.SUNK_SET] |= 1 << ship
        self.state[block + rules.NUM_SUNK] += 1

    def _cells(self, text: str) -> list[int]:
        """The cells of a text such as ``b4b5``; an empty list if one of them is not on the board."""
        cells = [parse_cell(each, self.size, self.size) for each in _CELL.findall(text)]
        if _CELLS.fullmatch(text) is None or None in cells:
            return []
        return [cell[0] * self.size + cell[1] for cell in cells if cell is not None]

    def _fleet(self, side: int, words: list[str]) -> None:
        """Place the ships, which must not clash and must agree with all answers."""
        base, block = CELLS + side * self.area, rules.BLOCK + rules.BLOCK_LENGTH * side
        chosen: list[int] = []
        if len(words) != len(self.ships):
            raise self._refusal(f"{len(self.ships)} ships in a fleet")
        fitting = candidates_of(self.state.astype(np.int64), side, self.placements)[:, ID].tolist()
        for ship, word in enumerate(words):
            length = int(self.state[LENGTHS + ship])
            ends = sorted(self._cells(word))
            free = {p: cells_of(self.placements, p, length) for p in free_places(self.placements, chosen)}
            own = [place for place, cells in free.items() if ends == [cells[0], cells[-1]]]
            if not own:
                raise self._refusal(f"both ends of the {self.ships[ship]} where it may lie, not {word}")
            if own[0] not in fitting:
                raise self._refusal(f"a fleet that agrees with the answers ({word} does not)")
            chosen.append(own[0])
            cells = free[own[0]]
            self.state[block + rules.LEFT + ship] = sum(self.state[base + cell] == 0 for cell in cells)
            for cell in cells:
                self.state[base + cell] |= (ship + 1) << 4
        if any(HIT_FIRST <= value < 16 for value in self.state[base : base + self.area]):
            raise self._refusal("a ship under each hit")

    def _turn(self) -> None:
        """Set whose turn it is from the numbers of shots."""
        shots = [int(self.state[rules.BLOCK + rules.BLOCK_LENGTH * side + rules.SHOTS]) for side in range(2)]
        ahead = shots[0] - shots[1]
        if len(self.pending) > 1 or (self.sides == 2 and ahead not in (0, 1)):
            raise self._refusal("as many shots by both players or one more by the first, one ? at most")
        if self.sides == 2:
            last = 1 - ahead
            if self.pending and self.pending != [last]:
                raise self._refusal("the ? at the last shot")
            self.state[rules.SHOOTER] = last if self.pending else ahead

    def _counts(self, side: int) -> None:
        """Refuse too many or too few hits for any fleet, and shots after the end of the game."""
        state, block = self.state, rules.BLOCK + rules.BLOCK_LENGTH * side
        total, hits, shots = state[[rules.TOTAL, block + rules.HITS, block + rules.SHOTS]].tolist()
        pending = side in self.pending
        if hits > total or total - hits > self.area - shots + pending:
            raise self._refusal(f"hits on {total} cells of a fleet, or cells left for them")
        if state[rules.ANNOUNCE]:
            afloat = [k for k in range(state[NUM_SHIPS]) if not state[block + rules.SUNK_SET] >> k & 1]
            sunk = total - sum(int(state[LENGTHS + k]) for k in afloat)
            if not 0 <= hits - sunk <= sum(int(state[LENGTHS + k]) - 1 for k in afloat):
                raise self._refusal("announcements that agree with the number of hits")
        last = side if self.sides == 1 else 1 - int(state[rules.SHOOTER])
        if hits == total and (self.pending or last != side):
            raise self._refusal("no shot after the last ship was sunk")
