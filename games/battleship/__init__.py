"""Battleship: its options, its text notation, and what a player sees of a position.

A shot's text is its cell, such as ``e5``; answers are ``miss``, ``hit``, and where sunk ships are
announced ``sunk-carrier`` and the like. Positions as text are in games.battleship.position.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import numpy as np

from games.battleship import rules
from games.battleship.placements import cells_of, fits_at_once, free_places, leaves_room, placements_of
from games.battleship.position import BAR, Reader, format_side
from games.battleship.rules import MAX_SIZE
from games.battleship.sampling import determinize, make_view
from games.board import column_name, format_cell, named_grid, row_name
from games.errors import InvalidInput, counted
from games.game import FIRST, REST, Board, Cell, Game, Rules, State
from games.rng import Stream, below

MIN_SIZE, MAX_LENGTH = 4, 6
STANDARD = "5-4-3-3-2"
_STANDARD_NAMES = ("carrier", "battleship", "cruiser", "submarine", "destroyer")
_FLEET = re.compile(rf"[1-{MAX_LENGTH}](?:-[1-{MAX_LENGTH}]){{0,{rules.MAX_SHIPS - 1}}}")
_FLEET_FORM = (
    f"1 to {rules.MAX_SHIPS} lengths from 1 to {MAX_LENGTH}, divided by '-', that fit the board, "
    f"such as {STANDARD}"
)
_DIRECTED = re.compile(r"(([a-z])([0-9]{1,2}))(right|left|up|down|[rlud])")
_DIRECTIONS = {"r": (1, 0), "l": (-1, 0), "u": (0, 1), "d": (0, -1)}
_APART = {"any": "", "no_side": ", beside no ship", "no_contact": ", beside no ship nor its corners"}


class Battleship(Game):
    """Battleship with given options; all options share one set of compiled rules."""

    name = "battleship"
    player_names = ("first", "second")
    rules = Rules.of(vars(rules), determinize=determinize)
    exploration = 0.7
    opening_plies = 0

    def __init__(
        self,
        task: Annotated[str, ("race", "solo")] = "race",
        size: Annotated[int, range(MIN_SIZE, MAX_SIZE + 1)] = 10,
        fleet: str = STANDARD,
        touch: Annotated[str, ("any", "no_side", "no_contact")] = "any",
        announce_sunk: Annotated[str, ("no", "yes")] = "no",
        placement: Annotated[str, ("uniform", "sequential")] = "uniform",
    ) -> None:
        """Raises InvalidInput for a fleet that does not fit the board.

        ``task``: race or solo. ``size``: cells a side. ``fleet``: the ships' lengths. ``touch``: whether
        ships may touch: any, no_side, no_contact. ``announce_sunk``: no or yes. ``placement``: how the
        hidden fleets are distributed: uniform or sequential.
        """
        self.size, self.touch, self.placement = size, touch, placement
        if _FLEET.fullmatch(fleet) is None:
            raise InvalidInput("game option fleet", fleet, _FLEET_FORM)
        self.lengths = tuple(map(int, fleet.split("-")))
        if max(self.lengths) > size:
            raise InvalidInput("game option fleet", fleet, _FLEET_FORM)
        self.ships = _names(fleet, self.lengths)
        self.num_sides = 2 if task == "race" else 1
        area = size * size
        # With 7 ships there are 9 answers.
        self.max_moves = max(area, rules.SUNK + len(self.lengths))
        # The first player has shot at every cell, the second at all but one, and each shot is answered.
        self.max_plies = 2 * (self.num_sides * area - (self.num_sides - 1))
        self.nominal_simulations_per_s = 5e5
        self._start = state = np.zeros(rules.CELLS + self.num_sides * area, dtype=np.int16)
        state[rules.SIZE], state[rules.AREA], state[rules.SIDES] = size, area, self.num_sides
        state[rules.ANNOUNCE] = announce_sunk == "yes"
        state[rules.NUM_SHIPS], state[rules.TOTAL] = len(self.lengths), sum(self.lengths)
        state[rules.SHOOTER] = FIRST
        state[rules.LENGTHS : rules.LENGTHS + len(self.lengths)] = self.lengths
        self._placements = placements_of(size, self.lengths, touch)
        if not self._leaves_room(()):
            raise InvalidInput("game option fleet", fleet, _FLEET_FORM)

    def initial_state(self) -> State:
        """No shots and no fleets, ``int16`` (see `games.battleship.rules`); `determinize` deals fleets."""
        return self._start.copy()

    def observation(self, state: State, observer: int) -> State:
        """All shots and their answers, ``int64``, without the fleets, also without the observer's own.

        So both players have equal views. The observer's fleet matters for where to shoot only through how
        soon it will be found, and the shots and answers show that. Raises InvalidInput: field ``position``
        if no fleet fits the answers; field ``moves`` if a shot awaits its answer, which no player chooses.
        """
        if state[rules.PENDING]:
            shot = format_cell(*divmod(int(state[rules.PENDING]) - 1, self.size))
            raise InvalidInput(
                "moves", shot, "the answer to this shot too, because an answer is not chosen by a player"
            )
        view = self._view(state)
        if view is None:
            raise InvalidInput(
                "position",
                self.format_position(state),
                f"answers that a fleet {self.options['fleet']} can give",
            )
        return view

    def format_move(self, state: State, move: int) -> str:
        """The cell of a shot; an answer as ``miss``, ``hit`` or ``sunk-`` and the ship's name."""
        answer = move - self.size**2
        if answer < 0:
            return format_cell(*divmod(move, self.size))
        if answer < rules.SUNK:
            return "hit" if answer == rules.HIT else "miss"
        return f"sunk-{self.ships[answer - rules.SUNK]}"

    def accepted_moves(self, state: State, moves: Sequence[str]) -> str:
        """The cells of the board, or the answers to a shot."""
        if state[rules.PENDING]:
            return f"the answer to the shot: {' or '.join(moves)}"
        return f"a cell from a1 to {format_cell(self.size - 1, self.size - 1)} that was not shot at"

    def format_position(self, state: State) -> str:
        """For each player: the shots as a grid, the announcements, and the fleet shot at if it is dealt."""
        return BAR.join(format_side(state, side, self.ships) for side in range(self.num_sides))

    def format_seen(self, state: State) -> str:
        """The text of `format_position` without fleets: the shots and answers, which both players know."""
        seen = state.copy()
        seen[rules.DEALT] = 0
        seen[rules.CELLS : rules.CELLS + self.num_sides * self.size**2] &= 15
        return self.format_position(seen)

    def parse_position(self, text: str) -> State:
        return Reader(text, self.initial_state(), self.ships, self._placements).read()

    def outcome_text(self, state: State) -> str:
        """The winner of a race; for the task solo, the number of shots."""
        if self.num_sides == 2:
            return super().outcome_text(state)
        return f"all sunk after {counted(state[rules.BLOCK + rules.SHOTS], 'shot')}"

    def board(self, state: State, last_move: int | None = None) -> Board:
        """The shots of the player whose turn it is to shoot (or whose shot awaits its answer); in a race, to
        their right those of the other player. Ships are shown only where they are hit."""
        sides = [int(state[rules.SHOOTER])]
        if self.num_sides == 2:
            sides.append(1 - sides[0])
        last = None if last_move is None else self.cells_of(last_move)
        rows = []
        for r in range(self.size):
            row: list[Cell] = []
            for place, side in enumerate(sides):
                row += [Cell(" ")] * place
                for c in range(self.size):
                    text = self._sign(state, side, (self.size - 1 - r) * self.size + c)
                    owner = None if text == "." else side
                    row.append(Cell(text, owner, place == 0 and (r, c) == last))
            rows.append(row)
        columns = [column_name(column) for column in range(self.size)]
        row_names = [row_name(row) for row in reversed(range(self.size))]
        return Board(rows, row_names, columns if self.num_sides == 1 else [*columns, " ", *columns])

    def hide(
        self, state: State, owner: int, places: Sequence[str], stream: Stream
    ) -> tuple[State, str | None, tuple[str, ...]]:
        """Ships in the order of the fleet, each by its first cell and a direction, ``a1 right``, or by both
        ends, ``a1e1``. In the task solo only the second player has a fleet, which the first shoots at."""
        side, hidden, chosen = 1 - owner, state.copy(), list[int]()
        if side >= self.num_sides:
            return super().hide(state, owner, places, stream)
        fleet = hidden[rules.CELLS + side * self.size**2 :][: self.size**2]
        fleet[:] = 0
        texts = [re.sub(r"[\s-]", "", place.lower()) for place in places]
        rest = REST if REST in texts[-1:] else ""
        for ship, length in enumerate(self.lengths):
            piece = f"{self.ships[ship]} ({counted(length, 'cell')})"
            text = texts[ship] if ship < len(texts) else rest
            if directed := _DIRECTED.fullmatch(text):
                start, column, row, direction = directed.groups()
                right, up = (step * (length - 1) for step in _DIRECTIONS[direction[0]])
                text = f"{start}{chr(ord(column) + right)}{int(row) + up}"
            free: dict[str, int] = {}
            for place in free_places(self._placements, chosen):
                cells = cells_of(self._placements, place, length)
                first, last = (format_cell(*divmod(cell, self.size)) for cell in (cells[0], cells[-1]))
                ends = {first + last: place, last + first: place}
                if text in ("", REST, *ends) and self._leaves_room([*chosen, place]):
                    free |= ends
            if not rest and ship >= len(places):
                return hidden, piece, tuple(free)
            if text == REST:
                with np.errstate(over="ignore"):
                    text = [*free][below(stream, len(free))]
            if text not in free:
                where = f"on free cells{_APART[self.touch]}, with room for the other ships; or {REST}"
                how = f"first cell and right, left, up or down, or its ends, such as {next(iter(ends))}"
                raise InvalidInput("fleet", places[ship], f"the {piece} by its {how}, {where}")
            chosen.append(free[text])
            fleet[cells_of(self._placements, free[text], length)] = (ship + 1) << 4
        if len(places) > len(chosen) + bool(rest):
            raise InvalidInput("fleet", ",".join(places), counted(len(chosen), "ship"))
        return hidden, None, ()

    def secret(self, state: State, owner: int) -> Board | None:
        """The owner's fleet, ships as numbers, X where hit; None if the owner has none or none is dealt."""
        side = 1 - owner
        if not state[rules.DEALT] or side >= self.num_sides:
            return None
        first = rules.CELLS + side * self.size**2
        rows = []
        for r in reversed(range(self.size)):
            values = state[first + r * self.size : first + (r + 1) * self.size]
            rows.append([_ship_cell(int(value), owner) for value in values])
        return named_grid(rows)

    def chances(self, state: State, draws: int, stream: Stream) -> dict[tuple[int, int], float]:
        """By (row, column) of each cell that the shooter has not shot at: the probability of a ship there.

        Estimated from ``draws`` fleets that fit. Empty while a shot awaits its answer and if no fleet fits.
        """
        view = None if state[rules.PENDING] else self._view(state)
        deal = self.calls.determinize
        if view is None or deal is None:
            return {}
        first = rules.CELLS + int(state[rules.SHOOTER]) * self.size**2
        drawn = state.copy()
        ships = np.zeros(self.size**2, dtype=np.int64)
        with np.errstate(over="ignore"):
            for _ in range(draws):
                deal(view, drawn, stream)
                ships += drawn[first : first + self.size**2] >= 16
        untried = state[first : first + self.size**2] & 15 == 0
        return {
            (self.size - 1 - cell // self.size, cell % self.size): float(ships[cell]) / draws
            for cell in map(int, np.flatnonzero(untried))
        }

    def cells_of(self, move: int) -> tuple[int, int] | None:
        """The (row, column) of a shot on the board, row 0 on top; None for an answer."""
        if move >= self.size**2:
            return None
        row, column = divmod(move, self.size)
        return self.size - 1 - row, column

    def _sign(self, state: State, side: int, cell: int) -> str:
        if side == state[rules.SHOOTER] and cell == state[rules.PENDING] - 1:
            return "?"
        status = int(state[rules.CELLS + side * self.size**2 + cell]) & 15
        return ".ox"[min(status, rules.HIT_FIRST)]

    def _leaves_room(self, chosen: Sequence[int]) -> bool:
        """Whether the ships after those of the placements ``chosen`` fit on the board too."""
        if fits_at_once(self._placements, chosen):
            return True
        board = np.zeros((self.size, self.size), dtype=bool)
        for ship, place in enumerate(chosen):
            board.flat[cells_of(self._placements, place, self.lengths[ship])] = True
        taken = max(np.rot90(side, turns).tobytes() for side in (board, board.T) for turns in range(4))
        return leaves_room(self.size, self.lengths, self.touch, len(chosen), taken)

    def _view(self, state: State) -> State | None:
        return make_view(state, self._placements, self.placement == "sequential")


def _ship_cell(value: int, owner: int) -> Cell:
    ship, status = value >> 4, value & 15
    if ship == 0:
        return Cell("o" if status else ".")
    return Cell("X" if status >= rules.HIT_FIRST else str(ship), owner)


def _names(fleet: str, lengths: tuple[int, ...]) -> tuple[str, ...]:
    """The ships' names: carrier and so on for the standard fleet, otherwise length and letter (3a, 3b)."""
    if fleet == STANDARD:
        return _STANDARD_NAMES
    return tuple(f"{length}{'abcdefg'[lengths[:k].count(length)]}" for k, length in enumerate(lengths))
