"""Connect four: stones fall down a column, four in a row win; X moves first, and a full board is a draw.

A move's text is the letter of its column, such as ``d``; its code is the number of the column from the left.

A position's text is its rows from the top, divided by '/', then the player to move. Within a row, ``x`` and
``o`` are stones and a number stands for that many adjacent empty cells, as in the FEN of chess. After
d d e: ``7/7/7/7/3o3/3xx2 o``.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from games.connect_four import rules
from games.connect_four.solver import Solver
from games.errors import InvalidInput
from games.game import FIRST, SECOND, Board, Game, Rules, State
from games.jit import source_of
from games.notation import column_name
from games.spec import Options, Spec

MIN_SIDE = 4
MAX_ROWS = 14
MAX_COLUMNS = 12
MAX_BITS = 63
"""Of a bitboard: a column takes one bit more than the board has rows."""

RULES = Rules(
    rules.current_player,
    rules.legal_moves,
    rules.play,
    rules.is_terminal,
    rules.returns,
    rules.playout,
    pack=rules.pack,
    unpack=rules.unpack,
)

_ROW = re.compile(r"(?:[xo]|[1-9][0-9]?)+")
_ITEM = re.compile(r"[xo]|[0-9]+")
_FORM = "rows from the top divided by '/' (x, o, or a number of empty cells), a space, and x or o to move"
_TEXTS: dict[int | None, str] = {FIRST: "X", SECOND: "O", None: "."}


class ConnectFour(Game):
    """Connect four on a board of a given size; all sizes share one set of compiled rules."""

    name = "connect_four"
    player_names = ("x", "o")
    # By exact values of 600 positions on 6x7, with 300 and 3,000 simulations: constants from 0.5 to 2 differ
    # by less than the error, smaller ones are worse.
    exploration = 1.0
    opening_plies = 4

    def __init__(self, rows: int = 6, columns: int = 7) -> None:
        """``rows`` and ``columns``: the size of the board, at most 63 for columns * (rows + 1)."""
        self.rows, self.columns = rows, columns
        self.options: dict[str, str | int] = {"rows": rows, "columns": columns}
        self.rules = RULES
        self.max_moves = columns
        self.max_plies = rows * columns
        self.nominal_simulations_per_s = 2e6 * 42 / (rows * columns)

    @classmethod
    def from_spec(cls, spec: Spec) -> ConnectFour:
        """The game that the spec names; raises InvalidInput for options that it does not have or that do not
        go together."""
        options = Options(spec, "game")
        rows = options.whole("rows", 6, MIN_SIDE, MAX_ROWS)
        columns = options.whole("columns", 7, MIN_SIDE, MAX_COLUMNS)
        options.close()
        if columns * (rows + 1) > MAX_BITS:
            accepted = f"from {MIN_SIDE} to {MAX_BITS // (rows + 1)} with rows={rows}"
            raise InvalidInput("game option columns", columns, accepted)
        return cls(rows, columns)

    def initial_state(self) -> State:
        """An empty board, ``int64[LENGTH]`` (see `games.connect_four.rules`)."""
        return self._state_of([[] for _ in range(self.columns)])

    def format_move(self, state: State, move: int) -> str:
        """The letter of the column, such as ``d``."""
        return column_name(move)

    def parse_move(self, state: State, text: str) -> int:
        """The column, not full, that the text names; raises InvalidInput (field ``moves``)."""
        names = {column_name(move): move for move in self.legal_moves(state)}
        if text in names:
            return names[text]
        accepted = f"a column that is not full: {', '.join(names)}"
        raise InvalidInput("moves", text, accepted if names else "no further move: the game is over")

    def format_position(self, state: State) -> str:
        """Rows from the top with numbers for empty cells, a space, and the player to move."""
        rows = "/".join(_format_row(row) for row in self._owners(state))
        return f"{rows} {'xo'[int(state[rules.STONES]) & 1]}"

    def parse_position(self, text: str) -> State:
        """The state that `format_position` wrote; raises InvalidInput (field ``position``)."""
        board, _, mover = text.partition(" ")
        rows = board.split("/")
        if mover not in ("x", "o") or len(rows) != self.rows or not all(map(_ROW.fullmatch, rows)):
            raise InvalidInput("position", text, f"{self.rows} {_FORM}")
        stones: list[list[int]] = [[] for _ in range(self.columns)]
        for row, line in enumerate(reversed(rows)):
            signs = "".join(item if item in "xo" else "." * int(item) for item in _ITEM.findall(line))
            if len(signs) != self.columns:
                accepted = f"{self.columns} cells in each row (row {row + 1} has {len(signs)})"
                raise InvalidInput("position", text, accepted)
            for column, sign in enumerate(signs):
                if sign == ".":
                    continue
                if len(stones[column]) != row:
                    accepted = f"no empty cell below a stone (column {column_name(column)})"
                    raise InvalidInput("position", text, accepted)
                stones[column].append("xo".index(sign))
        if board.count("x") - board.count("o") != "xo".index(mover):
            raise InvalidInput("position", text, "as many x as o when x moves, one x more when o moves")
        state = self._state_of(stones)
        if state[rules.OVER] and not self._can_be_last(stones, 1 - "xo".index(mover)):
            raise InvalidInput("position", text, "no four in a row except by the last move")
        return state

    def board(self, state: State, last_move: int | None = None) -> Board:
        """The position as rows x columns cells; the last stone is the uppermost one of its column."""
        owners, last = self._owners(state), None
        if last_move is not None:
            last = next(row for row in range(self.rows) if owners[row][last_move] is not None), last_move
        return Board.of_owners(owners, _TEXTS, last)

    def cells_of(self, move: int) -> tuple[int, int]:
        """The uppermost cell of the column: the stone falls from there, so it is empty before the move."""
        return 0, move

    def owners(self, states: State) -> npt.NDArray[np.int8]:
        """int8[B, rows, columns]: see `Game.owners`. Computed for all states at once from the bitboards."""
        columns = np.arange(self.columns, dtype=np.int64)[None, :] * (self.rows + 1)
        places = columns + np.arange(self.rows, dtype=np.int64)[:, None]
        stones = states[:, :2, None, None] >> places & 1
        signs: npt.NDArray[np.int8] = (stones[:, FIRST] + 2 * stones[:, SECOND]).astype(np.int8)
        return signs

    def exact_solver(self) -> Solver:
        """A new solver, which takes 32 MiB; see `games.connect_four.solver`."""
        return Solver(self)

    def _owners(self, state: State) -> list[list[int | None]]:
        """The owner of each cell (None: empty), rows from the top."""
        signs = self.owners(state[None])[0, ::-1].tolist()
        return [[None if sign == 0 else sign - 1 for sign in row] for row in signs]

    def _state_of(self, stones: list[list[int]]) -> State:
        """The state with these owners of stones, by column from the bottom."""
        height = self.rows + 1
        boards = [0, 0]
        for column, owners in enumerate(stones):
            for row, owner in enumerate(owners):
                boards[owner] |= 1 << (column * height + row)
        open_columns = [column for column in range(self.columns) if len(stones[column]) < self.rows]
        state = np.zeros(rules.LENGTH, dtype=np.int64)
        state[rules.HEIGHT], state[rules.CELLS] = height, self.max_plies
        state[rules.BOTTOM] = sum(1 << column * height for column in range(self.columns))
        listed = sum(column << 4 * place for place, column in enumerate(open_columns))
        number = sum(map(len, stones))
        source_of(rules.set_position)(state, *boards, number, listed, len(open_columns))
        return state

    def _can_be_last(self, stones: list[list[int]], last_player: int) -> bool:
        """Whether without some uppermost stone of the player who moved last there is no four in a row."""
        for column, owners in enumerate(stones):
            if owners and owners[-1] == last_player:
                before = self._state_of([each[:-1] if i == column else each for i, each in enumerate(stones)])
                if not before[rules.OVER]:
                    return True
        return False


def _format_row(owners: list[int | None]) -> str:
    signs = "".join("." if owner is None else "xo"[owner] for owner in owners)
    return re.sub(r"\.+", lambda empty: str(len(empty[0])), signs)
