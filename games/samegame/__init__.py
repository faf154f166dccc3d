"""SameGame: remove groups of neighbours of one colour; stones fall down, and empty columns close to the left.

A group of n stones, at least two, gives (n - 2)² points. When no group is left, an empty board gives 1,000
points more, and n stones left of a colour take (n - 2)² away.

A move's text is a cell of the group, such as ``c4``; any of its cells is read. ``a1`` is the lower left cell.

A position's text is its rows from the top, divided by '/', then the points. Within a row a letter is a colour
(``rgbyvco``: red, green, blue, yellow, violet, cyan, orange) and a number stands for that many adjacent empty
cells: ``4/1r2/rrgb/rggb 16``.
"""

from __future__ import annotations

import re
from typing import Annotated

import numpy as np

from games.board import column_name, parse_cell
from games.compile.specialise import cached_njit
from games.errors import InvalidInput
from games.game import GAME_OVER, Cell, Game, Rules, State
from games.grid import with_dots, with_numbers
from games.jit import source_of
from games.rng import below, new_stream
from games.samegame import rules
from games.samegame.rules import MOST_COLOURS

MIN_SIDE = 4
MAX_COLUMNS = 16
MAX_ROWS = 15
LETTERS = "rgbyvco"
MAX_POINTS = 10**9


_FINISH, _RETURNS = source_of(rules.finish), source_of(rules.returns)
# Called from Python it would be compiled anew in each process.
_below = cached_njit(source_of(below))
_POINTS = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)


class SameGame(Game):
    """SameGame on a random board; all sizes share one set of compiled rules."""

    name = "samegame"
    num_players = 1
    rewards = True
    rules = Rules.of(vars(rules))
    player_names = ("player",)
    opening_plies = 0

    def __init__(
        self,
        columns: Annotated[int, range(MIN_SIDE, MAX_COLUMNS + 1)] = 15,
        rows: Annotated[int, range(MIN_SIDE, MAX_ROWS + 1)] = 15,
        colours: Annotated[int, range(2, MOST_COLOURS + 1)] = 5,
        seed: int = 1,
    ) -> None:
        """``columns`` (4 to 16) and ``rows`` (4 to 15): the size of the board. ``colours``: how many, 2 to 7.
        ``seed``: of the random start position."""
        self.rows, self.columns = rows, columns
        self._colours, self._seed = colours, seed
        # Each move removes two stones or more.
        self.max_moves = self.max_plies = rows * columns // 2
        self.nominal_simulations_per_s = 2e5 * 225 / (rows * columns)

    def initial_state(self) -> State:
        """A full board of random colours with at least one group, ``uint64[LENGTH]``.

        See `games.samegame.rules`. It depends on the options alone.
        """
        stream = new_stream(self._seed)
        while True:
            board = [
                [1 + int(_below(stream, self._colours)) for _ in range(self.rows)]
                for _ in range(self.columns)
            ]
            state = self._state_of(board, 0)
            if not state[rules.OVER]:
                return state

    def parse_move(self, state: State, text: str) -> int:
        """The move that removes the group of a cell; raises InvalidInput (field ``moves``)."""
        moves = self.legal_moves(state)
        cell = parse_cell(text, self.rows, self.columns)
        if cell is not None and moves and _colour(state, *cell):
            # To remove the group from any of its cells leads to the same board.
            wanted = state.copy()
            self.calls.play(wanted, cell[0] * self.columns + cell[1])
            for move, after in self.successors(state):
                if np.array_equal(after, wanted):
                    return move
        such = self.format_move(state, moves[0]) if moves else ""
        accepted = f"a cell with a neighbour of the same colour, such as {such}" if moves else GAME_OVER
        raise InvalidInput("moves", text, accepted)

    def format_position(self, state: State) -> str:
        """Rows of colours from the top with numbers for empty cells, a space, and the points."""
        rows = []
        for row in reversed(range(self.rows)):
            colours = [_colour(state, row, column) for column in range(self.columns)]
            rows.append(with_numbers("".join(LETTERS[colour - 1] if colour else "." for colour in colours)))
        return f"{'/'.join(rows)} {_points(state)}"

    def parse_position(self, text: str) -> State:
        rows, _, points = text.partition(" ")
        lines = [with_dots(line, LETTERS) for line in rows.split("/")]
        if (
            len(lines) != self.rows
            or None in lines
            or not _POINTS.fullmatch(points)
            or abs(int(points)) > MAX_POINTS
        ):
            accepted = (
                f"{self.rows} rows from the top divided by '/' ({LETTERS}, or a number of empty cells), "
                "a space, and the points"
            )
            raise InvalidInput("position", text, accepted)
        board: list[list[int]] = [[] for _ in range(self.columns)]
        for row, signs in enumerate(filter(None, reversed(lines))):
            if len(signs) != self.columns:
                accepted = f"{self.columns} cells in each row (row {row + 1} has {len(signs)})"
                raise InvalidInput("position", text, accepted)
            for column, sign in enumerate(signs):
                if sign == ".":
                    continue
                if len(board[column]) != row:
                    accepted = f"no empty cell below a stone (column {column_name(column)})"
                    raise InvalidInput("position", text, accepted)
                board[column].append(1 + LETTERS.index(sign))
        heights = [len(column) > 0 for column in board]
        if heights != sorted(heights, reverse=True):
            raise InvalidInput("position", text, "no empty column to the left of a stone")
        state = self._state_of(board, 0)
        earned = int(points) - _points(state)
        if earned < 0:
            raise InvalidInput("position", text, f"points from {_points(state)} on")
        state[rules.POINTS] = earned
        return state

    def cell(self, state: State, row: int, column: int) -> Cell | None:
        """The letter of the colour, coloured, or None."""
        colour = _colour(state, row, column)
        return Cell(LETTERS[colour - 1].upper(), colour=colour - 1) if colour else None

    def _state_of(self, board: list[list[int]], points: int) -> State:
        """The state with these columns of colours; it is over, with what the end gives, without a group."""
        state = np.zeros(rules.LENGTH, dtype=np.uint64)
        for column, colours in enumerate(board):
            for row, colour in enumerate(colours):
                for plane in range(rules.PLANES):
                    bit = (colour >> plane & 1) << 16 * (column % 4) + row
                    state[plane * rules.WORDS + column // 4] |= np.uint64(bit)
                state[rules.COUNTS + colour] += np.uint64(1)
        state[rules.POINTS], state[rules.COLUMNS] = points, self.columns
        if not self.legal_moves(state):
            _FINISH(state)
        return state


def _colour(state: State, row: int, column: int) -> int:
    """The colour of a cell, 1 to 7; 0 if it is empty."""
    words = (int(state[plane * rules.WORDS + column // 4]) for plane in range(rules.PLANES))
    return sum((word >> 16 * (column % 4) + row & 1) << plane for plane, word in enumerate(words))


def _points(state: State) -> int:
    """What `rules.returns` gives, as a whole number."""
    return int(_RETURNS(state))
