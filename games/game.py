"""The contract of a game: compiled rules over a small array, and its text in ordinary Python.

Rules and adapters are apart: `Rules` (games/rules.py) holds the functions that kernels call millions of
times a second; `Game` holds what people read and write. What every game must keep to is
written down here and checked by tests/games/test_contract.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from games.calls import calls_of
from games.errors import InvalidInput
from games.notation import column_name, format_cell, row_name
from games.rng import Stream
from games.rules import FIRST, SECOND, Evaluator, Moves, Rules, State
from games.spec import Spec, options_of

__all__ = ["FIRST", "SECOND", "Board", "Cell", "Game", "Moves", "Rules", "State"]

GAME_OVER = "no further move: the game is over"
VALUES_A_ROW = 10


@dataclass(frozen=True)
class Cell:
    """One drawn cell: its text (one or two characters wide at most) and how to draw it."""

    text: str
    owner: int | None = None
    """FIRST, SECOND or None: whose piece it is, for the colour."""
    last: bool = False
    """Whether the last move was made here."""


@dataclass(frozen=True)
class Board:
    """A position as a grid that any front end can draw; row 0 is the top one."""

    rows: Sequence[Sequence[Cell]]
    row_labels: Sequence[str]
    column_labels: Sequence[str]
    lines: Sequence[tuple[tuple[int, int], tuple[int, int]]] = ()
    """What joins two cells, each (row, column), where pieces move along lines."""


class Game(ABC):
    """A game with its options fixed: rules for kernels, text for people.

    A game of one's own needs ``rules``, `initial_state`, ``max_moves`` and ``max_plies``. The text
    has defaults that do for a start: moves are numbers, a position is its state's values.
    Options are the parameters of ``__init__``, each with a default that is a whole number or text.
    """

    name: str = ""
    """The game's name in a spec, such as ``gomoku``; a game file's is the name of the file."""
    options: Mapping[str, str | int] = {}
    """All options, defaults included, in their canonical order."""
    rules: Rules
    player_names: tuple[str, str] = ("first", "second")
    """What the players are called on the board."""
    max_moves: int
    """The most legal moves that any position has (at most 4,095)."""
    max_plies: int
    """The most plies that any game takes."""
    nominal_simulations_per_s: float = 50_000.0
    """About how many simulations a second one core makes from the start. It decides into which jobs a
    search is cut, and so has a say in its answer: a constant, never measured."""
    opening_plies: int = 2
    """Random moves with which the pairs of a match begin, unless it is told otherwise: 0 where the sides
    are unlike each other, or chance sees to it that no two games are alike."""
    points: int = 1
    """How many points a return of 1 stands for, where games are won by margins; 1: by winning alone."""
    rows: int = 0
    columns: int = 0
    """The grid that `board` draws with `cell`, and whose cells name the moves; 0: there is none."""
    source: str | None = None
    """What stands before the options in the spec, where that is not the name: the path of a file."""
    source_text: str | None = None
    """The text of that file, with which `games.load` makes the same game where there is no such file."""

    @classmethod
    def from_spec(cls, spec: Spec) -> Game:
        """The game that the spec names; raises InvalidInput for an option that it does not have."""
        return cls(**options_of(cls.__init__, spec))

    @property
    def spec(self) -> str:
        """The game with all its options as one line, which `games.load` reads back."""
        options = ",".join(f"{key}={value}" for key, value in self.options.items())
        name = self.source or self.name
        return f"{name}:{options}" if options else name

    @property
    def evaluators(self) -> Mapping[str, Evaluator]:
        """Ways to say what a position is worth, by name; the first is ``rules.evaluate``, if there is one."""
        return {} if self.rules.evaluate is None else {"default": Evaluator(self.rules.evaluate)}

    @property
    def calls(self) -> Rules:
        """The rules for callers in Python: compiled ones are cached on disk; without ``playout``."""
        return calls_of(self)

    @property
    def playout_game(self) -> Game:
        """The game whose random moves ``rules.playout`` plays: itself, unless playouts leave out a rule."""
        return self

    @property
    def hidden_information(self) -> bool:
        """Whether there is anything that a player does not see."""
        return self.rules.determinize is not None

    @abstractmethod
    def initial_state(self) -> State:
        """A new array with the start position."""

    def format_move(self, state: State, move: int) -> str:
        """The move in the game's notation, without blanks; ``state`` is the position before it.

        As it stands: the cell with that number, row by row from ``a1``, if there is a grid; else the number.
        """
        cell = self._cell_of(move)
        return str(move) if cell is None else format_cell(*cell)

    def parse_move(self, state: State, text: str) -> int:
        """The legal move that ``text`` means; raises InvalidInput with the field ``moves``."""
        moves = {self.format_move(state, move): move for move in self.legal_moves(state)}
        if text in moves:
            return moves[text]
        shown = ", ".join([*moves][:12]) + (", ..." if len(moves) > 12 else "")
        raise InvalidInput("moves", text, f"one of {shown}" if moves else GAME_OVER)

    def format_position(self, state: State) -> str:
        """The position as one line of text without spaces at its ends."""
        return ",".join(str(value) for value in state.tolist())

    def format_seen(self, state: State) -> str:
        """The same without what is hidden from either player; as it stands nothing is left out."""
        return self.format_position(state)

    def parse_position(self, text: str) -> State:
        """The state that `format_position` wrote; raises InvalidInput with the field ``position``.

        The answer depends on the position alone, not on the moves that led to it.
        """
        state = self.initial_state()
        values = text.split(",")
        try:
            if len(values) != len(state):
                raise ValueError(text)
            state[:] = [state.dtype.type(value) for value in values]
        except (ValueError, OverflowError):
            accepted = f"{len(state)} numbers ({state.dtype}) divided by commas"
            raise InvalidInput("position", text, accepted) from None
        return state

    def outcome_text(self, state: State) -> str:
        """How a finished game ended, for people; as it stands who wins, or ``a draw``."""
        outcome = self.calls.returns(state)
        return f"{self.player_names[FIRST if outcome > 0 else SECOND]} wins" if outcome else "a draw"

    def board(self, state: State, last_move: int | None = None) -> Board:
        """The position as a grid of cells; as it stands of `cell`, or else the state's values."""
        if self.rows and self.columns:
            return self._grid(state, None if last_move is None else self.cells_of(last_move))
        values = [str(value) for value in state.tolist()]
        rows = [values[start : start + VALUES_A_ROW] for start in range(0, len(values), VALUES_A_ROW)]
        return Board(
            [[Cell(value) for value in row] for row in rows],
            [str(VALUES_A_ROW * number) for number in range(len(rows))],
            [str(number) for number in range(min(len(values), VALUES_A_ROW))],
        )

    def cell(self, state: State, row: int, column: int) -> int | str | Cell | None:
        """What `board` shows in a cell of the grid, row 0 at the bottom: FIRST or SECOND for a player's
        piece, None for nothing, or a text, or a Cell."""
        raise NotImplementedError(f"{type(self).__name__} has rows and columns, but no cell()")

    def observation(self, state: State, observer: int) -> State:
        """What ``observer`` (FIRST or SECOND) knows in this position, for ``Rules.determinize``.

        A search gets nothing else. With hidden information: an array of any length that is the same
        for all positions which the observer cannot tell apart; raises InvalidInput (field
        ``position``) if no whole position fits. Without: the position itself.
        """
        return state.copy()

    def secret(self, state: State, owner: int) -> Board | None:
        """What ``owner`` (FIRST or SECOND) sees of a whole position and the other does not; None: nothing."""
        return None

    def chances(self, state: State, draws: int, stream: Stream) -> dict[tuple[int, int], float]:
        """By (row, column) of the drawn board: in what share of so many draws of what is hidden, each as
        likely as the rules make it, whoever moves finds something there; as it stands none."""
        return {}

    def cells_of(self, move: int) -> tuple[int, int] | None:
        """The (row, column) of the drawn board where a move is shown, for heat maps; None if nowhere.

        Row 0 is the top one. As it stands the cell whose name `format_move` gives.
        """
        cell = None if type(self).format_move is not Game.format_move else self._cell_of(move)
        return None if cell is None else (self.rows - 1 - cell[0], cell[1])

    def owners(self, states: State) -> npt.NDArray[np.int8]:
        """[B, rows, columns] whose piece is on each cell of the board, row 0 at the bottom, in each of the
        ``states`` [B, state length]: 0 nobody's, 1 the first player's, 2 the second's.

        As it stands of `board`, which is slow.
        """
        boards = [self.board(state).rows[::-1] for state in states]
        signs = [
            [[0 if cell.owner is None else cell.owner + 1 for cell in row] for row in rows] for rows in boards
        ]
        return np.array(signs, dtype=np.int8)

    def canonical(self, state: State) -> State:
        """The same position as an array that does not depend on the moves that led to it."""
        return self.parse_position(self.format_position(state))

    def legal_moves(self, state: State) -> list[int]:
        """The legal moves in ascending order; empty when the game is over."""
        if self.calls.is_terminal(state):
            return []
        moves = np.zeros(self.max_moves, dtype=np.uint16)
        count = self.calls.legal_moves(state, moves)
        return sorted(int(move) for move in moves[:count])

    def play_text(self, state: State, texts: Iterable[str]) -> list[int]:
        """Play moves given as text, ``state`` modified in place; returns them as numbers.

        Raises InvalidInput (field ``moves``) at the first one that is not legal.
        """
        played = []
        for text in texts:
            if self.calls.is_terminal(state):
                raise InvalidInput("moves", text, GAME_OVER)
            move = self.parse_move(state, text)
            self.calls.play(state, move)
            played.append(move)
        return played

    def _cell_of(self, move: int) -> tuple[int, int] | None:
        """The (row, column), row 0 at the bottom, that has the move's number; letters end at 26 columns."""
        if move >= self.rows * self.columns or self.columns > 26:
            return None
        return divmod(move, self.columns)

    def _grid(self, state: State, last: tuple[int, int] | None) -> Board:
        below = range(self.rows - 1, -1, -1)
        rows = [
            [_drawn(self.cell(state, row, column), (top, column) == last) for column in range(self.columns)]
            for top, row in enumerate(below)
        ]
        names = [column_name(column) if self.columns <= 26 else "" for column in range(self.columns)]
        return Board(rows, [row_name(row) for row in below], names)


def _drawn(value: int | str | Cell | None, last: bool) -> Cell:
    if isinstance(value, Cell):
        return value
    if value is None or isinstance(value, str):
        return Cell("." if value is None else value, None, last)
    return Cell("XO"[value], int(value), last)
