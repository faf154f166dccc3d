"""The mill games: options and text notation.

Points are named as on a chess board: nine men's morris has a1, d1, g1 on its bottom row. A move
is ``d6`` (place), ``d6-d5`` (move) or ``xb4`` (remove). A position's text is its rows from the
top, divided by '/', each with a sign for every point from the left (``w``, ``b``, ``.``), then the player to
move (``w`` or ``b``, followed by ``x`` if a stone is to be removed), the stones in hand of both players, and
the number of turns played: ``..b/.../... w 8 8 2``. Earlier positions are not part of the text, except that
the word ``drawn`` follows if the game has ended by repetition.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from games.board import format_cell, named_grid
from games.compile.specialise import cached_njit
from games.errors import InvalidInput, refuse_if_any
from games.game import FIRST, SECOND, Board, Cell, Game, Rules, State
from games.jit import source_of
from games.morris import play, rules, worth
from games.rules import StaticEvaluator
from games.spec import Options, Spec

DEFAULT_CAP, LARGEST_CAP = 200, 2000
# Called from Python they would be compiled anew in each process.
_settle, _key_of = (cached_njit(source_of(rule)) for rule in (rules.settle, rules.key_of))
_REPETITION = {"none": rules.NO_REPETITION, "first": rules.ON_FIRST, "threefold": rules.ON_THIRD}
_REST = re.compile(r"(w|b)(x?) ([0-9]{1,2}) ([0-9]{1,2}) ([0-9]{1,4})( drawn)?")
_FORM = "a space, w or b (wx or bx to remove), the stones in both hands and the number of turns"
_REPEATED = " drawn"


@dataclass(frozen=True)
class Variant:
    """The properties of a variant of the game."""

    board: int
    stones: int
    fly: str
    """The default of the option ``fly``."""
    nominal: float
    """The value of `Game.nominal_simulations_per_s`."""


VARIANTS = {
    "three": Variant(rules.THREE, 3, "", 7e5),
    "five": Variant(rules.SIX, 5, "no", 3e5),
    "six": Variant(rules.SIX, 6, "no", 3e5),
    "seven": Variant(rules.SEVEN, 7, "no", 3e5),
    "nine": Variant(rules.NINE, 9, "yes", 2.2e5),
    "lasker": Variant(rules.NINE, 10, "yes", 2e5),
    "twelve": Variant(rules.TWELVE, 12, "yes", 3e5),
}


class Morris(Game):
    """A mill game with given options; all variants and options share one set of compiled rules."""

    name = "morris"
    player_names = ("white", "black")
    rules = Rules.of(vars(play) | vars(worth) | vars(rules))

    def __init__(self, /, **given: str | int) -> None:
        """``given``: the options of a spec. Raises InvalidInput for an option that the variant lacks."""
        options = Options(Spec(self.name, {key: str(value) for key, value in given.items()}), "game")
        self.variant = options.choice("variant", "nine", tuple(VARIANTS))
        self._kind = kind = VARIANTS[self.variant]
        self.options = {"variant": self.variant}
        self.repetition = options.choice("repetition", "first", tuple(_REPETITION))
        self.cap = options.whole("cap", DEFAULT_CAP, 1, LARGEST_CAP)
        self.board_id, self._fly = kind.board, rules.NEVER
        if self.variant == "three":
            move = options.choice("move", "adjacent", ("adjacent", "any"))
            diagonals = options.choice("diagonal_moves", "no", ("no", "yes"))
            lines = options.whole("win_lines", 8, 6, 8)
            if lines == 7:
                raise InvalidInput("game option win_lines", "7", "6 or 8")
            self.board_id += 2 * (lines == 6) + (diagonals == "yes")
            self._fly = rules.ALWAYS if move == "any" else rules.NEVER
            self.options |= {"move": move, "diagonal_moves": diagonals, "win_lines": lines}
        else:
            fly = options.choice("fly", kind.fly, ("no", "yes"))
            self._fly = rules.AT_THREE if fly == "yes" else rules.NEVER
            self.options |= {"fly": fly}
        self.options |= {"repetition": self.repetition, "cap": self.cap}
        options.close()
        self.layout = rules.LAYOUTS[self.board_id]
        bit_at, side = {cell: bit for bit, cell in enumerate(self.layout.cells)}, range(self.layout.size)
        self._grid_bits = [[bit_at.get((column, row)) for column in side] for row in reversed(side)]
        """By row from the top and by column, the bit of the point; None where there is none."""
        self._rows = [[bit for bit in bits if bit is not None] for bits in self._grid_bits]
        self.max_moves = 3 * len(self.layout.cells) if self.variant != "lasker" else 64
        # A player removes all but two of the other's stones at most.
        self.max_plies = self.cap + 2 * kind.stones
        self.nominal_simulations_per_s = kind.nominal
        # Three men's morris is solved, which shows that 0.35 is too little; for the others matches do not.
        self.exploration = 0.7 if self.variant == "three" else 0.35

    @property
    def playout_game(self) -> Morris:
        """This game without the repetition rule, which playouts ignore (see games/morris/play.py)."""
        return Morris(**{**self.options, "repetition": "none"})

    @classmethod
    def from_spec(cls, spec: Spec) -> Morris:
        """The game that the spec names; raises InvalidInput for an option that the variant lacks."""
        return cls(**spec.options)

    @property
    def evaluators(self) -> Mapping[str, StaticEvaluator]:
        """``odds``, and ``counts``, which does not ask who is to move."""
        return {"odds": StaticEvaluator(worth.evaluate), "counts": StaticEvaluator(play.counts)}

    def initial_state(self) -> State:
        """An empty board, ``int64[HISTORY + n]`` (see `games.morris.rules`)."""
        history = 0 if self.repetition == "none" else self.cap + 1
        state = np.zeros(rules.HISTORY + history, dtype=np.int64)
        state[rules.BOARD], state[rules.CAP], state[rules.FLY] = self.board_id, self.cap, self._fly
        state[rules.MILL_WINS] = self.variant == "three"
        state[rules.MOVES_EARLY] = self.variant == "lasker"
        state[rules.REPETITION] = _REPETITION[self.repetition]
        state[rules.FULL_DRAWS] = self.variant == "twelve"
        state[rules.HANDS : rules.HANDS + 2] = self._kind.stones
        return state

    def format_move(self, state: State, move: int) -> str:
        """A placement as ``d6``, a move as ``d6-d5``, a removal as ``xb4``."""
        if move >= rules.MOVE:
            start, end = divmod(move - rules.MOVE, 24)
            return f"{self._point(start)}-{self._point(end)}"
        return ("x" if state[rules.REMOVING] else "") + self._point(move)

    def format_position(self, state: State) -> str:
        """Rows from the top, the player to move, the stones in both hands, the number of turns."""
        owners = self._owners(state)
        rows = ["".join(".wb"[owners[bit]] for bit in bits) for bits in self._rows]
        mover = "wb"[int(state[rules.MOVER])] + "x" * int(state[rules.REMOVING])
        hands = f"{state[rules.HANDS]} {state[rules.HANDS + 1]}"
        text = f"{'/'.join(rows)} {mover} {hands} {state[rules.TURNS]}"
        return text + _REPEATED if self._repeated(state) else text

    def parse_position(self, text: str) -> State:
        """The state of a text of `format_position`, without history; raises InvalidInput (``position``)."""
        board, _, rest = text.partition(" ")
        rows, found = board.split("/"), _REST.fullmatch(rest)
        widths = [*map(len, self._rows)]
        if found is None or [*map(len, rows)] != widths or not set(board) <= set("wb./"):
            shape = ", ".join(map(str, widths))
            raise InvalidInput(
                "position", text, f"rows of {shape} points (w, b or .) divided by '/', {_FORM}"
            )
        state = self.initial_state()
        for bits, signs in zip(self._rows, rows, strict=True):
            for bit, sign in zip(bits, signs, strict=True):
                if sign != ".":
                    state[rules.STONES + "wb".index(sign)] |= 1 << bit
        state[rules.MOVER], state[rules.REMOVING] = "wb".index(found[1]), bool(found[2])
        state[rules.HANDS], state[rules.HANDS + 1] = int(found[3]), int(found[4])
        state[rules.TURNS] = int(found[5])
        self._check(state, text)
        _settle(state)
        if not state[rules.OVER]:
            if (state[rules.TURNS] >= self.cap and not state[rules.REMOVING]) or found[6]:
                state[rules.OVER] = 1
            elif self.repetition != "none" and not state[rules.REMOVING] and self._may_come_again(state):
                state[rules.HISTORY], state[rules.SEEN] = _key_of(state), 1
        return state

    def _may_come_again(self, state: State) -> bool:
        """Whether stones on the board can move, so that a position may occur again.

        That is the case with empty hands, and in Lasker morris as soon as there is a stone on the board.
        """
        if state[rules.MOVES_EARLY]:
            return bool(state[rules.STONES] | state[rules.STONES + SECOND])
        return not state[rules.HANDS + SECOND]

    def _repeated(self, state: State) -> bool:
        """Whether the game ended by repetition: it is over, but its position alone would not end it."""
        if not state[rules.OVER] or state[rules.RESULT] or state[rules.TURNS] >= self.cap:
            return False
        twin = state.copy()
        twin[rules.OVER] = 0
        _settle(twin)
        return not twin[rules.OVER]

    def _check(self, state: State, text: str) -> None:
        """Raise InvalidInput for a position that cannot occur in a game."""
        counts = [int(state[rules.STONES + p]).bit_count() + int(state[rules.HANDS + p]) for p in (0, 1)]
        own = int(state[rules.STONES + int(state[rules.MOVER])])
        faults = (
            (
                max(counts) > self._kind.stones,
                f"at most {self._kind.stones} stones of each player, hands included",
            ),
            (state[rules.TURNS] > self.cap, f"at most {self.cap} turns (the cap)"),
            (
                state[rules.REMOVING]
                and (
                    self.variant == "three"
                    or not rules.in_mills(self.board_id, own)
                    or not rules.removable(state)
                ),
                "a mill of the player who is to remove a stone",
            ),
        )
        refuse_if_any("position", text, faults)

    def canonical(self, state: State) -> State:
        """The position with its history sorted and unused entries cleared."""
        twin = state.copy()
        if len(twin) > rules.HISTORY:
            seen = int(twin[rules.SEEN])
            history = twin[rules.HISTORY :]
            # The latest position stays last, where `play` puts it; the order of the others has no effect.
            history[: max(seen - 1, 0)] = np.sort(history[: max(seen - 1, 0)])
            history[seen:] = 0
        return twin

    def board(self, state: State, last_move: int | None = None) -> Board:
        """The position as a grid; cells that are not points are blank."""
        size, owners = self.layout.size, self._owners(state)
        last = None if last_move is None else self.cells_of(last_move)
        rows = [
            [
                Cell(" ")
                if bit is None
                else Cell(".WB"[owners[bit]], (None, FIRST, SECOND)[owners[bit]], (r, column) == last)
                for column, bit in enumerate(bits)
            ]
            for r, bits in enumerate(self._grid_bits)
        ]
        cells = [(size - 1 - row, column) for column, row in self.layout.cells]
        return named_grid(rows, lines=[(cells[one], cells[other]) for one, other in self.layout.edges])

    def cells_of(self, move: int) -> tuple[int, int]:
        """The (row, column), row 0 on top, where a stone is placed, removed, or moved to."""
        code = move if move < rules.MOVE else (move - rules.MOVE) % 24
        column, row = self.layout.cells[int(rules.BIT_OF[self.board_id, code])]
        return self.layout.size - 1 - row, column

    def _point(self, code: int) -> str:
        column, row = self.layout.cells[int(rules.BIT_OF[self.board_id, code])]
        return format_cell(row, column)

    def _owners(self, state: State) -> list[int]:
        """0 for empty, 1 for white, 2 for black, by bit."""
        white, black = int(state[rules.STONES]), int(state[rules.STONES + SECOND])
        return [(white >> bit & 1) + 2 * (black >> bit & 1) for bit in range(len(self.layout.cells))]

    def accepted_moves(self, state: State, moves: Sequence[str]) -> str:
        """What kind of move is due, with one of the moves or all removals."""
        if state[rules.REMOVING]:
            return f"a stone to remove: one of {' '.join(moves)}"
        if not state[rules.HANDS + int(state[rules.MOVER])]:
            return f"a move of a stone, such as {moves[0]}"
        early = " or a move such as d6-d5" if self.variant == "lasker" else ""
        return f"an empty point, such as {moves[0]}{early}"
