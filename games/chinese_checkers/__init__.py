"""Chinese checkers: pieces step, or hop over pieces, from one triangle of the star to the opposite one.

A move's text is the cells of its start and its end, such as ``j3i5``; each hop of a turn is a move of its
own, and ``pass`` ends the turn after a hop where another would be possible. Rows are counted from the top,
columns from the left of the grid in which the star is drawn; each of its rows begins half a cell further to
the right than the row above.

A position's text is the star's rows from the top, divided by '/', the player to move, and the turns so far.
Within a row a letter is a piece (``b``, ``y``, ``r``, ``g``, ``v``, ``w``: blue, yellow, red, green, violet,
white) and a number stands for that many adjacent empty cells. In a series of hops its cells follow, divided
by commas, from the start to the piece's present one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

import numpy as np

from games.board import format_cell, named_grid, parse_cell
from games.chinese_checkers import rules
from games.chinese_checkers.rules import (
    CELL_AT,
    CELLS,
    DIRECTIONS,
    DISTANCE,
    FAR,
    HOMES,
    MOST_HOPS,
    NEAR,
    PLACES,
    SIDE,
    TRIANGLES,
    WALL,
    WIDTHS,
)
from games.errors import InvalidInput, refuse_if_any
from games.game import Board, Cell, Game, Rules, State
from games.grid import format_grid, parse_grid
from games.jit import source_of

NAMES = ("blue", "yellow", "red", "green", "violet", "white")
PASS = "pass"
MAX_TURNS = 10_000
FULL = 20
"""Steps of the pieces in a full triangle to its outermost cell, in all."""


_TEXTS: dict[int | None, str] = {None: ".", **{player: name[0].upper() for player, name in enumerate(NAMES)}}
_FIRST_OF_ROW = tuple(sum(WIDTHS[:row]) for row in range(SIDE))


class ChineseCheckers(Game):
    """Chinese checkers for a given number of players; all share one set of compiled rules."""

    name = "chinese_checkers"
    rules = Rules.of(vars(rules), evaluate=rules.returns)
    rows = columns = SIDE
    max_moves = 60

    def __init__(
        self,
        players: Annotated[int, (2, 3, 4, 6)] = 3,
        turns: Annotated[int, range(1, MAX_TURNS + 1)] = 1_000,
    ) -> None:
        """``players``: 2, 3, 4 or 6, who begin clockwise from the top as in OpenSpiel. ``turns``: the number
        of turns of all players together after which the game is a draw."""
        self.num_players, self.turns = players, turns
        self.player_names = NAMES[:players]
        self.max_plies = MOST_HOPS * turns
        self.nominal_simulations_per_s = min(3e7 / turns, 5e5)
        self._signs = "".join(name[0] for name in self.player_names)
        owners: list[int | None] = [None] * CELLS
        for player, home in enumerate(HOMES[players]):
            for cell in TRIANGLES[home]:
                owners[cell] = player
        self._start = self._state_of(owners, 0)

    def initial_state(self) -> State:
        """Each player's ten pieces in a triangle, ``int16[LENGTH]`` (see `games.chinese_checkers.rules`)."""
        return self._start.copy()

    def format_move(self, state: State, move: int) -> str:
        """The cells of start and end, such as ``j3i5``, or ``pass``."""
        if move == rules.PASS:
            return PASS
        return _name(move // DIRECTIONS) + _name(int(source_of(rules.end_of)(state, move)))

    def accepted_moves(self, state: State, moves: Sequence[str]) -> str:
        """The first legal moves of the player to move."""
        mover = self.player_names[int(state[rules.MOVER])]
        return f"a move of a piece of {mover}: {', '.join(moves[:8])}{', ...' * (len(moves) > 8)}"

    def format_position(self, state: State) -> str:
        """Rows from the top with numbers for empty cells, the player to move, the turns, and any hops."""
        owners = self._owners(state)
        rows = [owners[first : first + width] for first, width in zip(_FIRST_OF_ROW, WIDTHS, strict=True)]
        text = f"{format_grid(rows, self._signs, int(state[rules.MOVER]))} {int(state[rules.TURNS])}"
        visited = state[rules.VISITED : rules.VISITED + int(state[rules.HOPS])].tolist()
        return f"{text} {','.join(map(_name, visited))}" if visited else text

    def parse_position(self, text: str) -> State:
        words = text.split(" ")
        owners, mover = parse_grid(" ".join(words[:2]), SIDE, WIDTHS, self._signs, whole=text)
        cells = [owner for row in owners for owner in row]
        turns = words[2] if len(words) in (3, 4) else ""
        is_count = turns.isascii() and turns.isdigit() and len(turns) <= 5 and int(turns) <= self.turns
        faults = (
            (
                any(cells.count(player) != rules.EACH for player in range(self.num_players)),
                f"{rules.EACH} pieces of each player",
            ),
            (not is_count, f"after the player to move the turns so far, from 0 to {self.turns}"),
            (
                is_count and int(turns) % self.num_players != mover,
                f"a number of turns after which {self.player_names[mover]} is to move",
            ),
        )
        refuse_if_any("position", text, faults)
        if len(words) == 4:
            state = self._after_hops(cells, int(turns), text, words[3])
        else:
            state = self._state_of(cells, int(turns))
        full = [player for player in range(self.num_players) if state[rules.LEFT + player] == 0]
        last = mover if len(words) == 4 else (mover - 1) % self.num_players
        if full and (full != [last] or int(turns) == 0):
            raise InvalidInput("position", text, "no full triangle except by the last move")
        if full and len(words) == 3:
            state[rules.WINNER] = 1 + last
        return state

    def outcome_text(self, state: State) -> str:
        """The winner, or ``a draw``."""
        winner = int(state[rules.WINNER])
        return f"{self.player_names[winner - 1]} wins" if winner else "a draw"

    def board(self, state: State, last_move: int | None = None) -> Board:
        """The star in a grid of slanted rows, row 1 on top. The start of the last move is marked, and its end
        unless both a step and a hop could have led to the position."""
        owners = self._owners(state)
        marked = []
        if last_move is not None and last_move != rules.PASS:
            last = int(state[rules.MOVER]) - (state[rules.HOPS] == 0)
            ends = [int(end) for end in (NEAR[last_move], FAR[last_move]) if end != WALL]
            found = [end for end in ends if owners[end] == last % self.num_players]
            marked = [last_move // DIRECTIONS, *(found if len(found) == 1 else ())]
        rows = [[Cell("") for _ in range(SIDE)] for _ in range(SIDE)]
        for cell, (row, column) in enumerate(PLACES):
            rows[row][column] = Cell(_TEXTS[owners[cell]], owners[cell], cell in marked)
        return named_grid(rows, top_first=True, slanted=True)

    def cells_of(self, move: int) -> tuple[int, int] | None:
        """The (row, column) of the drawn board, row 0 on top, where the move starts; None for ``pass``."""
        return None if move == rules.PASS else PLACES[move // DIRECTIONS]

    def _owners(self, state: State) -> list[int | None]:
        """By cell, the owner of its piece, or None."""
        pieces: list[int] = state[rules.BOARD : rules.BOARD + CELLS].tolist()
        return [None if piece < 0 else piece // rules.EACH for piece in pieces]

    def _state_of(self, owners: Sequence[int | None], turns: int) -> State:
        """The unfinished state with these owners of cells, pieces numbered by cell; no hop was made."""
        state = np.zeros(rules.LENGTH, dtype=np.int16)
        state[rules.PLAYERS], state[rules.MOVER] = self.num_players, turns % self.num_players
        state[rules.TURNS], state[rules.LIMIT] = turns, self.turns
        state[rules.BOARD : rules.PIECES] = rules.EMPTY
        state[rules.BOARD + WALL] = rules.OUTSIDE
        for player, home in enumerate(HOMES[self.num_players]):
            goal = CELLS * ((home + 3) % 6)
            cells = [cell for cell, owner in enumerate(owners) if owner == player]
            first = rules.EACH * player
            state[rules.PIECES + first : rules.PIECES + first + rules.EACH] = cells
            state[[rules.BOARD + cell for cell in cells]] = range(first, first + rules.EACH)
            state[rules.GOAL + player] = goal
            state[rules.LEFT + player] = sum(int(DISTANCE[goal + cell]) for cell in cells) - FULL
        return state

    def _after_hops(self, owners: list[int | None], turns: int, text: str, hops: str) -> State:
        """The state with these owners of cells in a series of hops; raises InvalidInput if it did not lead
        there, or has ended."""
        places = [parse_cell(name, SIDE, SIDE) for name in hops.split(",")]
        cells = [CELL_AT.get(place, WALL) if place else WALL for place in places]
        mover = turns % self.num_players
        if WALL not in cells and owners[cells[0]] is None and owners[cells[-1]] == mover:
            owners[cells[0]], owners[cells[-1]] = mover, None
            state, end_of = self._state_of(owners, turns), source_of(rules.end_of)
            for start, end in pairwise(cells):
                for move in self.legal_moves(state):
                    if move // DIRECTIONS == start and FAR[move] == end_of(state, move) == end:
                        self.calls.play(state, move)
                        break
            if state[rules.VISITED : rules.VISITED + int(state[rules.HOPS])].tolist() == cells:
                return state
        accepted = "the cells of hops from which another hop is possible, such as g1,g3"
        raise InvalidInput("position", text, accepted)


def _name(cell: int) -> str:
    """The name of a cell, such as ``g3``."""
    return format_cell(*PLACES[cell])
