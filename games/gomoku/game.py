"""Gomoku: five in a row on a square board; X moves first, and a full board is a draw.

A move's text is its cell, such as ``f6`` for row 5 and column 5 counted from 0; its code is
row * size + column, row 0 the bottom row.

A position's text is its rows from the top, divided by '/', then the player to move. Within a row, ``x`` and
``o`` are stones and a number stands for that many adjacent empty cells, as in the FEN of chess. After
f6 and g7 on a 12x12 board: ``12/12/12/12/12/6o5/5x6/12/12/12/12/12 x``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from games.errors import InvalidInput
from games.game import FIRST, SECOND, Board, Game, Rules, State
from games.gomoku import patterns, rules
from games.jit import source_of
from games.notation import format_cell, parse_cell
from games.rules import Evaluator
from games.spec import Options, Spec

MIN_SIZE = 5

RULES = Rules(
    rules.current_player,
    rules.legal_moves,
    rules.play,
    rules.is_terminal,
    rules.returns,
    rules.playout,
    evaluate=patterns.evaluate,
    priority=patterns.priority,
)

_ROW = re.compile(r"(?:[xo]|[1-9][0-9]?)+")
_ITEM = re.compile(r"[xo]|[0-9]+")
_FORM = "rows from the top divided by '/' (x, o, or a number of empty cells), a space, and x or o to move"
_Stone = tuple[int, int, int]
"""A stone as (row, column, player)."""


class Gomoku(Game):
    """Gomoku with given options; all sizes and options share one set of compiled rules."""

    name = "gomoku"
    player_names = ("x", "o")
    exploration = 0.35

    def __init__(self, size: int = 12, candidates: int = 0, overline: str = "wins") -> None:
        """``size``: cells a side. ``candidates``: moves must be within this distance of a stone, 0 for no
        limit. ``overline``: whether more than five in a row ``wins`` or does ``not``."""
        self.size, self.candidates, self.overline = size, candidates, overline
        self.options: dict[str, str | int] = {"size": size, "candidates": candidates, "overline": overline}
        self.rules = RULES
        self.max_moves = self.max_plies = size * size
        self.nominal_simulations_per_s = 8e5 * 144 / size**2
        self._start = self._state_of([])

    @classmethod
    def from_spec(cls, spec: Spec) -> Gomoku:
        """The game that the spec names; raises InvalidInput for an option that it does not have."""
        options = Options(spec, "game")
        game = cls(
            options.whole("size", 12, MIN_SIZE, rules.MAX_SIZE),
            options.whole("candidates", 0, 0, 4),
            options.choice("overline", "wins", ("wins", "not")),
        )
        options.close()
        return game

    def owners(self, states: State) -> npt.NDArray[np.int8]:
        """int8[B, rows, columns]: see `Game.owners`. Computed for all states at once from the row masks."""
        rows = states[:, rules.ROWS : rules.ROWS + 2 * self.size].reshape(-1, self.size, 2, 1)
        stones = rows >> np.arange(self.size, dtype=rows.dtype) & 1
        signs: npt.NDArray[np.int8] = (stones[:, :, 0] + 2 * stones[:, :, 1]).astype(np.int8)
        return signs

    @property
    def evaluators(self) -> Mapping[str, Evaluator]:
        """``table``, and ``table_printed``, which also evaluates finished games; see `patterns`."""
        rule = patterns.evaluate
        return {"table": Evaluator(rule), "table_printed": Evaluator(rule, finished=True)}

    def initial_state(self) -> State:
        """An empty board, ``int32[CELLS + 2 * size**2]`` (see `games.gomoku.rules`)."""
        return self._start.copy()

    def format_move(self, state: State, move: int) -> str:
        """The cell, such as ``f6``."""
        return format_cell(*divmod(move, self.size))

    def parse_move(self, state: State, text: str) -> int:
        """The playable cell that the text names; raises InvalidInput (field ``moves``)."""
        cell = parse_cell(text, self.size, self.size)
        if cell is not None and not state[rules.OVER]:
            move = cell[0] * self.size + cell[1]
            if state[rules.CELLS + self.size**2 + move] >= 0:
                return move
        raise InvalidInput("moves", text, self._accepted(state))

    def format_position(self, state: State) -> str:
        """Rows from the top with numbers for empty cells, a space, and the player to move."""
        rows = "/".join(_format_row(row) for row in self._owners(state))
        return f"{rows} {'xo'[int(state[rules.STONES]) & 1]}"

    def parse_position(self, text: str) -> State:
        """The state that `format_position` wrote; raises InvalidInput (field ``position``)."""
        board, _, mover = text.partition(" ")
        rows = board.split("/")
        if mover not in ("x", "o") or len(rows) != self.size or not all(map(_ROW.fullmatch, rows)):
            raise InvalidInput("position", text, f"{self.size} {_FORM}")
        stones: list[_Stone] = []
        for row, line in zip(reversed(range(self.size)), rows, strict=True):
            column = 0
            for item in _ITEM.findall(line):
                if item in "xo":
                    stones.append((row, column, "xo".index(item)))
                column += 1 if item in "xo" else int(item)
            if column != self.size:
                raise InvalidInput(
                    "position", text, f"{self.size} cells in each row (row {row + 1} has {column})"
                )
        num_second = sum(player for _, _, player in stones)
        if len(stones) - 2 * num_second != "xo".index(mover):
            raise InvalidInput("position", text, "as many x as o when x moves, one x more when o moves")
        state = self._state_of(stones)
        if state[rules.OVER] and not self._can_be_last(state, stones):
            raise InvalidInput("position", text, "no five in a row except by the last move")
        return state

    def board(self, state: State, last_move: int | None = None) -> Board:
        """The position as size x size cells."""
        last = None if last_move is None else self.cells_of(last_move)
        return Board.of_owners(self._owners(state), _TEXTS, last)

    def cells_of(self, move: int) -> tuple[int, int]:
        """The (row, column) of the drawn board, row 0 on top."""
        row, column = divmod(move, self.size)
        return self.size - 1 - row, column

    def _accepted(self, state: State) -> str:
        if state[rules.OVER]:
            return "no further move: the game is over"
        corner = format_cell(self.size - 1, self.size - 1)
        if not self.candidates:
            return f"an empty cell from a1 to {corner}"
        if not state[rules.STONES]:
            return f"the centre cell {format_cell(*self._centre)} (candidates={self.candidates})"
        return f"an empty cell from a1 to {corner} within {self.candidates} cells of a stone"

    @property
    def _centre(self) -> tuple[int, int]:
        return (self.size - 1) // 2, (self.size - 1) // 2

    def _owners(self, state: State) -> list[list[int | None]]:
        """The owner of each cell (None: empty), rows from the top."""
        owners: list[list[int | None]] = []
        for row in reversed(range(self.size)):
            first, second = (int(state[rules.ROWS + 2 * row + player]) for player in (FIRST, SECOND))
            owners.append(
                [
                    FIRST if first >> column & 1 else SECOND if second >> column & 1 else None
                    for column in range(self.size)
                ]
            )
        return owners

    def _state_of(self, stones: list[_Stone]) -> State:
        """The state with these stones; cells are listed in ascending order."""
        size, area = self.size, self.size**2
        state = np.zeros(rules.CELLS + 2 * area, dtype=np.int32)
        state[rules.SIZE], state[rules.AREA] = size, area
        state[rules.CANDIDATES], state[rules.EXACT] = self.candidates, self.overline == "not"
        state[rules.STONES] = len(stones)
        for line, bit in (each for stone in stones for each in self._bits(stone)):
            state[line] |= bit
        for player in (FIRST, SECOND):
            if self._has_five(state, player):
                state[rules.OVER], state[rules.RESULT] = 1, 1 - 2 * player
        if len(stones) == area:
            state[rules.OVER] = 1
        seen = self._seen(stones)
        state[rules.SEEN : rules.SEEN + size] = seen
        taken = {(row, column) for row, column, _ in stones}
        cells = [
            (row, column)
            for row in range(size)
            for column in range(size)
            if seen[row] >> column & 1 and (row, column) not in taken
        ]
        state[rules.LISTED] = len(cells)
        state[rules.CELLS + area :] = -1
        for place, (row, column) in enumerate(cells):
            state[rules.CELLS + place] = row * 64 + column
            state[rules.CELLS + area + row * size + column] = place
        return state

    def _seen(self, stones: list[_Stone]) -> list[int]:
        """For each row a mask of the cells that are or were in the list of playable cells."""
        full = (1 << self.size) - 1
        if not self.candidates:
            return [full] * self.size
        seen = [0] * self.size
        if not stones:
            seen[self._centre[0]] = 1 << self._centre[1]
        for row, column, _ in stones:
            left, right = max(column - self.candidates, 0), column + self.candidates
            for near in range(max(row - self.candidates, 0), min(row + self.candidates + 1, self.size)):
                seen[near] |= ((2 << right) - (1 << left)) & full
        return seen

    def _bits(self, stone: _Stone) -> Iterator[tuple[int, int]]:
        """The four pairs (index, bit) of a stone in the state's line masks."""
        row, column, player = stone
        lines = source_of(rules.lines_of)(self.size, row, column)
        for line, place in zip(lines, (column, row, column, column), strict=True):
            yield line + player, 1 << place

    def _has_five(self, state: State, player: int) -> bool:
        fives, exact = source_of(rules.fives), int(state[rules.EXACT])
        return any(fives(int(mask), exact) for mask in state[rules.ROWS + player : rules.CELLS : 2])

    def _can_be_last(self, state: State, stones: list[_Stone]) -> bool:
        """Whether removing some stone of the player who moved last leaves no five in a row."""
        last_player = 1 - (len(stones) & 1)
        if self._has_five(state, 1 - last_player):
            return False
        for stone in stones:
            if stone[2] == last_player:
                before = state.copy()
                for line, bit in self._bits(stone):
                    before[line] ^= bit
                if not self._has_five(before, last_player):
                    return True
        return False


_TEXTS: dict[int | None, str] = {FIRST: "X", SECOND: "O", None: "."}


def _format_row(owners: list[int | None]) -> str:
    signs = "".join("." if owner is None else "xo"[owner] for owner in owners)
    return re.sub(r"\.+", lambda empty: str(len(empty[0])), signs)
