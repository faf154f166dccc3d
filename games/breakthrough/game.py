"""Breakthrough: pieces go forward, straight or diagonally, and take diagonally; one on the last row wins.

A move's text is the cells of its start and its end, such as ``a2a3``; ``a2-a3`` and ``a2xb3`` are read too.
``a1`` is the lower left cell, and white, who begins, moves up. `games.breakthrough.rules` has the codes.

A position's text is its rows from the top, divided by '/', then the player to move. Within a row, ``w`` and
``b`` are pieces and a number stands for that many adjacent empty cells. The start is
``bbbbbbbb/bbbbbbbb/8/8/8/8/wwwwwwww/wwwwwwww w``.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from games.breakthrough import rules
from games.errors import InvalidInput
from games.game import FIRST, GAME_OVER, SECOND, Board, Game, Rules, State
from games.grid import format_grid, parse_grid
from games.notation import format_cell
from games.spec import Options, Spec

MIN_SIDE = 4
MAX_SIDE = 16
MAX_CELLS = 64
ROWS_OF_TWO = 6
"""With fewer rows each player begins with one row of pieces, as in OpenSpiel; otherwise with two."""

RULES = Rules(
    rules.current_player,
    rules.legal_moves,
    rules.play,
    rules.is_terminal,
    rules.returns,
    rules.playout,
)

_SIGNS = "wb"
_TEXTS: dict[int | None, str] = {FIRST: "W", SECOND: "B", None: "."}
_MOVE = re.compile(r"([a-z][0-9]{1,2})[-x]?([a-z][0-9]{1,2})")


class Breakthrough(Game):
    """Breakthrough on a board of a given size; all sizes share one set of compiled rules."""

    name = "breakthrough"
    player_names = ("white", "black")
    # From matches of 200 games with 1,000 simulations a move: 0.1, 0.2, 0.7 and 1 score 29, 42, 43 and 36 %
    # against 0.35.
    exploration = 0.35
    opening_plies = 4

    def __init__(self, rows: int = 8, columns: int = 8) -> None:
        """``rows`` and ``columns``: the size of the board, at most 64 cells. Each player's pieces fill the
        two rows at their edge, with fewer than six rows only one."""
        self.rows, self.columns = rows, columns
        self.options: dict[str, str | int] = {"rows": rows, "columns": columns}
        self.rules = RULES
        self._home = 2 if rows >= ROWS_OF_TWO else 1
        """Rows of pieces of each player at the start."""
        self.max_moves = 3 * self._home * columns
        # Each ply takes one piece one row on.
        self.max_plies = 2 * columns * sum(rows - 1 - row for row in range(self._home))
        self.nominal_simulations_per_s = 5e5 * 64 / (rows * columns)

    @classmethod
    def from_spec(cls, spec: Spec) -> Breakthrough:
        """The game that the spec names; raises InvalidInput for options that it does not have or that do not
        go together."""
        options = Options(spec, "game")
        rows = options.whole("rows", 8, MIN_SIDE, MAX_SIDE)
        columns = options.whole("columns", 8, MIN_SIDE, MAX_SIDE)
        options.close()
        if rows * columns > MAX_CELLS:
            accepted = f"from {MIN_SIDE} to {MAX_CELLS // rows} with rows={rows}"
            raise InvalidInput("game option columns", columns, accepted)
        return cls(rows, columns)

    def initial_state(self) -> State:
        """Rows of pieces at both edges, ``uint64[LENGTH]`` (see `games.breakthrough.rules`)."""
        home, between = self._home, self.rows - 2 * self._home
        owners: list[int | None] = [SECOND] * home + [None] * between + [FIRST] * home
        return self._state_of([[owner] * self.columns for owner in owners], FIRST)

    def format_move(self, state: State, move: int) -> str:
        """The cells of start and end, such as ``a2a3``."""
        return "".join(format_cell(*cell) for cell in self._cells(move))

    def parse_move(self, state: State, text: str) -> int:
        """The legal move that the text names; raises InvalidInput (field ``moves``)."""
        moves = {self.format_move(state, move): move for move in self.legal_moves(state)}
        found = _MOVE.fullmatch(text)
        if found and found[1] + found[2] in moves:
            return moves[found[1] + found[2]]
        if not moves:
            raise InvalidInput("moves", text, GAME_OVER)
        ends = [name[len(found[1]) :] for name in moves if found and name.startswith(found[1])]
        shown = (
            f"from {found[1]} to {' or '.join(ends)}" if found and ends else f"such as {next(iter(moves))}"
        )
        mover = self.player_names[int(state[rules.MOVER])]
        raise InvalidInput("moves", text, f"a move of a piece of {mover}, {shown}")

    def format_position(self, state: State) -> str:
        """Rows from the top with numbers for empty cells, a space, and the player to move."""
        return format_grid(self._owners(state), _SIGNS, int(state[rules.MOVER]))

    def parse_position(self, text: str) -> State:
        """The state of a text of `format_position`; raises InvalidInput (field ``position``)."""
        owners, mover = parse_grid(text, self.rows, self.columns, _SIGNS)
        state = self._state_of(owners, mover)
        if max(int(state[player]).bit_count() for player in (FIRST, SECOND)) > self._home * self.columns:
            accepted = f"at most {self._home * self.columns} pieces of each player"
            raise InvalidInput("position", text, accepted)
        there = [int(state[player] & state[rules.GOALS + player]).bit_count() for player in (FIRST, SECOND)]
        if there[mover] or there[1 - mover] > 1 or not state[1 - mover]:
            accepted = "at most one piece on its last row, or none left, by the last move of the other player"
            raise InvalidInput("position", text, accepted)
        if there[1 - mover] or not state[mover]:
            state[rules.WINNER] = 2 - mover
        return state

    def board(self, state: State, last_move: int | None = None) -> Board:
        """The position as rows x columns cells; the last move is marked at its end."""
        last = None if last_move is None else self.cells_of(last_move)
        return Board.of_owners(self._owners(state), _TEXTS, last)

    def cells_of(self, move: int) -> tuple[int, int]:
        """The (row, column) of the drawn board, row 0 on top, where the move ends."""
        row, column = self._cells(move)[1]
        return self.rows - 1 - row, column

    def owners(self, states: State) -> npt.NDArray[np.int8]:
        """int8[B, rows, columns]: see `Game.owners`. Computed for all states at once from the bitboards."""
        places = np.arange(self.rows * self.columns, dtype=np.uint64).reshape(self.rows, self.columns)
        pieces = states[:, :2, None, None] >> places & np.uint64(1)
        signs: npt.NDArray[np.int8] = (pieces[:, FIRST] + np.uint64(2) * pieces[:, SECOND]).astype(np.int8)
        return signs

    def _cells(self, move: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """The (row, column), row 0 at the bottom, of a move's start and of its end."""
        row, column = divmod(move // 12, self.columns)
        side, aside = divmod(move // 2 % 6, 3)
        return (row, column), (row + 1 - 2 * side, column + aside - 1)

    def _owners(self, state: State) -> list[list[int | None]]:
        """The owner of each cell (None: empty), rows from the top."""
        signs = self.owners(state[None])[0, ::-1].tolist()
        return [[None if sign == 0 else sign - 1 for sign in row] for row in signs]

    def _state_of(self, owners: list[list[int | None]], mover: int) -> State:
        """The unfinished state with these owners of cells, rows from the top."""
        pieces = [0, 0]
        for row, each in enumerate(reversed(owners)):
            for column, owner in enumerate(each):
                if owner is not None:
                    pieces[owner] |= 1 << row * self.columns + column
        first_row = (1 << self.columns) - 1
        left = sum(1 << row * self.columns for row in range(self.rows))
        board = (1 << self.rows * self.columns) - 1
        edges = [board ^ left, board ^ left << self.columns - 1]
        goals = [first_row << (self.rows - 1) * self.columns, first_row]
        return np.array([*pieces, mover, 0, self.columns, *edges, *goals], dtype=np.uint64)
