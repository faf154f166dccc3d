"""Hex: who connects the two edges of one's colour wins; a full board has one winner, so there are no draws.

Black moves first and connects the upper with the lower edge, white the left with the right one. With
``swap=yes``, the default, white may answer the first move by ``swap``: black's stone is taken away, and
white has one on its mirror image (row and column exchanged). Tournaments, servers and the Computer Olympiad
play with this rule, because a first move in the middle wins without it; ``swap=no`` is the game of most
programs that compare searches.

A move's text is its cell, such as ``f6``, or ``swap``. ``a1`` is the upper left cell; letters are columns. A
move's code is row * size + column, row 0 on top; the number of cells is the code of the swap.

A position's text is its rows from the top, divided by '/', then the player to move. Within a row, ``b`` and
``w`` are stones and a number stands for that many adjacent empty cells. After b1 and swap on a 3x3 board:
``3/w2/3 b``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.errors import InvalidInput
from games.game import FIRST, GAME_OVER, SECOND, Board, Game, Rules, State
from games.grid import format_grid, parse_grid
from games.hex import rules
from games.jit import source_of
from games.notation import format_cell, parse_cell
from games.spec import Options, Spec

MIN_SIZE = 2
SWAP = "swap"

RULES = Rules(
    rules.current_player,
    rules.legal_moves,
    rules.play,
    rules.is_terminal,
    rules.returns,
    rules.playout,
)

_SIGNS = "bw"
_TEXTS: dict[int | None, str] = {FIRST: "B", SECOND: "W", None: "."}
_Owners = list[list[int | None]]


class Hex(Game):
    """Hex with given options; all sizes and options share one set of compiled rules."""

    name = "hex"
    player_names = ("black", "white")
    # From matches: with 1,000 simulations a move (200 games) 0.1, 0.2, 0.7 and 1 score 69, 63, 24 and 17 %
    # against 0.35, but with 5,000 (60 games) 0.2 scores 30 %, and 0.1 is worse than 0.2.
    exploration = 0.35

    def __init__(self, size: int = 11, swap: str = "yes") -> None:
        """``size``: cells a side. ``swap``: whether white may swap the first stone, ``yes`` or ``no``."""
        self.size, self.swap = size, swap
        self.options: dict[str, str | int] = {"size": size, "swap": swap}
        self.rules = RULES
        self.max_moves = size * size
        self.max_plies = size * size + (swap == "yes")
        self.nominal_simulations_per_s = 6e5 * 121 / size**2
        self._start = self._state_of([[None] * size for _ in range(size)], 0)

    @classmethod
    def from_spec(cls, spec: Spec) -> Hex:
        """The game that the spec names; raises InvalidInput for an option that it does not have."""
        options = Options(spec, "game")
        game = cls(
            options.whole("size", 11, MIN_SIZE, rules.MAX_SIZE), options.choice("swap", "yes", ("yes", "no"))
        )
        options.close()
        return game

    def initial_state(self) -> State:
        """An empty board, ``int32[CELLS + 2 * size**2]`` (see `games.hex.rules`)."""
        return self._start.copy()

    def format_move(self, state: State, move: int) -> str:
        """The cell, such as ``f6``, or ``swap``."""
        return SWAP if move == self.size**2 else format_cell(*divmod(move, self.size))

    def parse_move(self, state: State, text: str) -> int:
        """The empty cell or the swap that the text names; raises InvalidInput (field ``moves``)."""
        if state[rules.OVER]:
            raise InvalidInput("moves", text, GAME_OVER)
        swap = bool(source_of(rules.may_swap)(state))
        if swap and text == SWAP:
            return self.size**2
        cell = parse_cell(text, self.size, self.size)
        if cell is not None:
            move = cell[0] * self.size + cell[1]
            if state[rules.CELLS + self.size**2 + move] >= 0:
                return move
        corner = format_cell(self.size - 1, self.size - 1)
        raise InvalidInput("moves", text, f"an empty cell from a1 to {corner}{', or swap' * swap}")

    def format_position(self, state: State) -> str:
        """Rows from the top with numbers for empty cells, a space, and the player to move."""
        return format_grid(self._owners(state), _SIGNS, int(state[rules.PLIES]) & 1)

    def parse_position(self, text: str) -> State:
        """The state of a text of `format_position`; raises InvalidInput (field ``position``)."""
        owners, mover = parse_grid(text, self.size, self.size, _SIGNS)
        first, second = (sum(row.count(player) for row in owners) for player in (FIRST, SECOND))
        # A swap leaves white one stone ahead of what its plies alone would give.
        swapped = first - second - mover == -1 and self.swap == "yes" and second > 0
        if first - second != mover and not swapped:
            accepted = "as many b as w when b moves, one b more when w moves"
            if self.swap == "yes":
                accepted += "; after a swap one b less"
            raise InvalidInput("position", text, accepted)
        state = self._state_of(owners, first + second + swapped)
        if state[rules.OVER]:
            winner = FIRST if state[rules.RESULT] > 0 else SECOND
            if winner == mover or not self._can_be_last(owners, winner):
                raise InvalidInput("position", text, "no connected edges except by the last move")
        return state

    def board(self, state: State, last_move: int | None = None) -> Board:
        """The position as size x size cells in slanted rows, row 1 on top; a swap marks white's stone."""
        last = None
        if last_move == self.size**2:
            last = next(cell for cell in np.ndindex(self.size, self.size) if self._owner(state, *cell))
        elif last_move is not None:
            last = self.cells_of(last_move)
        return Board.of_owners(self._owners(state), _TEXTS, last, first_row_on_top=True, slanted=True)

    def cells_of(self, move: int) -> tuple[int, int] | None:
        """The (row, column) of the drawn board, row 0 on top; None for the swap."""
        return None if move == self.size**2 else divmod(move, self.size)

    def owners(self, states: State) -> npt.NDArray[np.int8]:
        """int8[B, rows, columns]: see `Game.owners`. Computed for all states at once from the masks."""
        places = np.arange(self.size, dtype=states.dtype)
        begin = rules.STONES + 1
        first = states[:, begin : begin + self.size, None] >> places & 1
        begin += rules.PLAYER
        second = (states[:, begin : begin + self.size, None] >> places & 1).transpose(0, 2, 1)
        signs: npt.NDArray[np.int8] = (first + 2 * second)[:, ::-1].astype(np.int8)
        return signs

    def _owners(self, state: State) -> _Owners:
        """The owner of each cell (None: empty), rows from the top."""
        return [[self._owner(state, row, column) for column in range(self.size)] for row in range(self.size)]

    def _owner(self, state: State, row: int, column: int) -> int | None:
        if int(state[rules.STONES + 1 + row]) >> column & 1:
            return FIRST
        return SECOND if int(state[rules.STONES + rules.PLAYER + 1 + column]) >> row & 1 else None

    def _state_of(self, owners: _Owners, plies: int) -> State:
        """The state with these owners of cells, rows from the top; empty cells are listed in order."""
        size, area = self.size, self.size**2
        state = np.zeros(rules.CELLS + 2 * area, dtype=np.int32)
        state[rules.SIZE], state[rules.AREA], state[rules.SWAP] = size, area, self.swap == "yes"
        state[rules.PLIES] = plies
        for player in (FIRST, SECOND):
            state[rules.REACHED + player * rules.PLAYER] = -1
        state[rules.CELLS + area :] = -1
        add_stone = source_of(rules.add_stone)
        for row, each in enumerate(owners):
            for column, owner in enumerate(each):
                if owner is None:
                    state[rules.CELLS + state[rules.LISTED]] = row * 32 + column
                    state[rules.CELLS + area + row * size + column] = state[rules.LISTED]
                    state[rules.LISTED] += 1
                elif add_stone(state, owner, row * 32 + column):
                    state[rules.OVER], state[rules.RESULT] = 1, 1 - 2 * owner
        return state

    def _can_be_last(self, owners: _Owners, winner: int) -> bool:
        """Whether without some stone of the winner the winner's edges are not connected."""
        for row in owners:
            for column, owner in enumerate(row):
                if owner == winner:
                    row[column] = None
                    before = self._state_of(owners, 0)
                    row[column] = owner
                    if not before[rules.OVER]:
                        return True
        return False
