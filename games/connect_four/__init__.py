"""Connect four: stones fall down a column, four in a row win; X moves first, and a full board is a draw.

A move's text is the letter of its column, such as ``d``; its code is the number of the column from the left.

A position's text is its rows from the top, divided by '/', then the player to move. Within a row, ``x`` and
``o`` are stones and a number stands for that many adjacent empty cells, as in the FEN of chess. After
d d e: ``7/7/7/7/3o3/3xx2 o``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np

from games.board import column_name
from games.compile.specialise import cached_njit
from games.connect_four import rules
from games.connect_four.solver import Solver
from games.errors import InvalidInput
from games.game import FIRST, SECOND, Rules, State
from games.grid import GridGame, Owners
from games.jit import source_of

MIN_SIDE = 4
MAX_ROWS = 14
MAX_COLUMNS = 12
MAX_BITS = 63
"""Of a bitboard: a column takes one bit more than the board has rows."""

RULES = Rules.of(vars(rules))
# What it calls would be compiled anew in each process.
_set_position = cached_njit(source_of(rules.set_position))


class ConnectFour(GridGame):
    """Connect four on a board of a given size; all sizes share one set of compiled rules."""

    name = "connect_four"
    player_names = ("x", "o")
    frame: Mapping[int | None, int] = {FIRST: 0, SECOND: 3}
    rules = RULES
    # By exact values of 600 positions on 6x7, with 300 and 3,000 simulations: constants from 0.5 to 2 differ
    # by less than the error, smaller ones are worse.
    exploration = 1.0
    opening_plies = 4

    def __init__(
        self,
        rows: Annotated[int, range(MIN_SIDE, MAX_ROWS + 1)] = 6,
        columns: Annotated[int, range(MIN_SIDE, MAX_COLUMNS + 1)] = 7,
    ) -> None:
        """``rows`` and ``columns``: the size of the board, at most 63 for columns * (rows + 1); raises
        InvalidInput if it is larger."""
        if columns * (rows + 1) > MAX_BITS:
            accepted = f"from {MIN_SIDE} to {MAX_BITS // (rows + 1)} with rows={rows}"
            raise InvalidInput("game option columns", columns, accepted)
        self.rows, self.columns = rows, columns
        self.max_moves = columns
        self.max_plies = rows * columns
        self.nominal_simulations_per_s = 2e6 * 42 / (rows * columns)
        self.places = np.arange(columns) * (rows + 1) + np.arange(rows)[:, None]

    def format_move(self, state: State, move: int) -> str:
        """The letter of the column, such as ``d``."""
        return column_name(move)

    def accepted_moves(self, state: State, moves: Sequence[str]) -> str:
        """The columns that are not full."""
        return f"a column that is not full: {', '.join(moves)}"

    def parse_position(self, text: str) -> State:
        owners, mover = self.read_alternating(text)
        tops = [self._top(owners, column) for column in range(self.columns)]
        for row, column in np.ndindex(self.rows, self.columns):
            if owners[row][column] is None and row > tops[column]:
                accepted = f"no empty cell below a stone (column {column_name(column)})"
                raise InvalidInput("position", text, accepted)
        state = self.state_of(owners, mover)
        last = [(top, column) for column, top in enumerate(tops) if top < self.rows]
        last = [(row, column) for row, column in last if owners[row][column] != mover]
        if state[rules.OVER] and not self.can_be_last(owners, last):
            raise InvalidInput("position", text, "no four in a row except by the last move")
        return state

    def marked(self, state: State, move: int) -> tuple[int, int]:
        """The uppermost stone of the column."""
        return self._top(self.owners_of(state), move), move

    def cells_of(self, move: int) -> tuple[int, int]:
        """The uppermost cell of the column: the stone falls from there, so it is empty before the move."""
        return 0, move

    def exact_solver(self) -> Solver:
        """A new solver, which takes 32 MiB; see `games.connect_four.solver`."""
        return Solver(self)

    def _top(self, owners: Owners, column: int) -> int:
        """The row, from the top, of the uppermost stone of a column; the number of rows if it has none."""
        return next((row for row in range(self.rows) if owners[row][column] is not None), self.rows)

    def state_of(self, owners: Owners, mover: int) -> State:
        """The state with these stones."""
        height = self.rows + 1
        open_columns = [column for column, owner in enumerate(owners[0]) if owner is None]
        state = np.zeros(rules.LENGTH, dtype=np.int64)
        state[rules.HEIGHT], state[rules.CELLS] = height, self.max_plies
        state[rules.BOTTOM] = sum(1 << column * height for column in range(self.columns))
        listed = sum(column << 4 * place for place, column in enumerate(open_columns))
        boards = self.bitboards(owners)
        number = sum(board.bit_count() for board in boards)
        _set_position(state, *boards, number, listed, len(open_columns))
        return state
