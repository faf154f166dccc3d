"""Othello: discs that enclose others turn them over; black moves first, and most discs win.

A move's text is its cell, such as ``d3``, or ``pass``, which is the only move of a player who cannot turn
over a disc while the other can. ``a1`` is the upper left cell, as in all records of Othello. A move's code is
row * 8 + column, row 0 on top, for every size; 64 is a pass.

A position's text is its rows from the top, divided by '/', then the player to move. Within a row, ``b`` and
``w`` are discs and a number stands for that many adjacent empty cells. The start is
``8/8/8/3wb3/3bw3/8/8/8 b``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.errors import InvalidInput
from games.game import FIRST, GAME_OVER, SECOND, Board, Game, Rules, State
from games.grid import format_grid, parse_grid
from games.jit import source_of
from games.notation import format_cell
from games.othello import rules
from games.spec import Options, Spec

SIZES = ("4", "6", "8")
PASS = "pass"

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


class Othello(Game):
    """Othello on a board of a given size; all sizes share one set of compiled rules."""

    name = "othello"
    player_names = ("black", "white")
    # From matches of 200 games with 1,000 simulations a move: 0.1, 0.2, 0.7 and 1 score 23, 40, 46 and 39 %
    # against 0.35.
    exploration = 0.35
    opening_plies = 4

    def __init__(self, size: int = 8) -> None:
        """``size``: cells a side, 4, 6 or 8."""
        self.size = size
        self.options: dict[str, str | int] = {"size": size}
        self.rules = RULES
        self.max_moves = size * size - 4
        # A pass follows on a disc, so there are as many passes as discs at most.
        self.max_plies = 2 * (size * size - 4)
        self.nominal_simulations_per_s = 4e5 * 64 / size**2

    @classmethod
    def from_spec(cls, spec: Spec) -> Othello:
        """The game that the spec names; raises InvalidInput for an option that it does not have."""
        options = Options(spec, "game")
        size = int(options.choice("size", "8", SIZES))
        options.close()
        return cls(size)

    def initial_state(self) -> State:
        """Two discs each in the middle, ``uint64[LENGTH]`` (see `games.othello.rules`)."""
        owners: list[list[int | None]] = [[None] * self.size for _ in range(self.size)]
        low, high = self.size // 2 - 1, self.size // 2
        owners[low][high] = owners[high][low] = FIRST
        owners[low][low] = owners[high][high] = SECOND
        return self._state_of(owners, FIRST)

    def format_move(self, state: State, move: int) -> str:
        """The cell, such as ``d3``, or ``pass``."""
        return PASS if move == rules.PASS_MOVE else format_cell(*divmod(move, rules.STRIDE))

    def parse_move(self, state: State, text: str) -> int:
        """The legal cell or pass that the text names; raises InvalidInput (field ``moves``)."""
        moves = {self.format_move(state, move): move for move in self.legal_moves(state)}
        if text in moves:
            return moves[text]
        accepted = f"a cell that turns over a disc: {', '.join(moves)}"
        if PASS in moves:
            accepted = "pass: the player to move cannot turn over a disc"
        raise InvalidInput("moves", text, accepted if moves else GAME_OVER)

    def format_position(self, state: State) -> str:
        """Rows from the top with numbers for empty cells, a space, and the player to move."""
        return format_grid(self._owners(state), _SIGNS, int(state[rules.MOVER]))

    def parse_position(self, text: str) -> State:
        """The state of a text of `format_position`, with any discs; raises InvalidInput (``position``)."""
        return self._state_of(*parse_grid(text, self.size, self.size, _SIGNS))

    def outcome_text(self, state: State) -> str:
        """The winner and the discs of both, such as ``black wins 40-24``."""
        first, second = (int(state[player]).bit_count() for player in (FIRST, SECOND))
        return f"{super().outcome_text(state)} {first}-{second}"

    def board(self, state: State, last_move: int | None = None) -> Board:
        """The position as size x size cells, row 1 on top; a pass marks no cell."""
        last = None if last_move is None else self.cells_of(last_move)
        return Board.of_owners(self._owners(state), _TEXTS, last, first_row_on_top=True)

    def cells_of(self, move: int) -> tuple[int, int] | None:
        """The (row, column) of the drawn board, row 0 on top; None for a pass."""
        return None if move == rules.PASS_MOVE else divmod(move, rules.STRIDE)

    def owners(self, states: State) -> npt.NDArray[np.int8]:
        """int8[B, rows, columns]: see `Game.owners`. Computed for all states at once from the bitboards."""
        below = np.arange(self.size, dtype=np.uint64)[::-1, None] * np.uint64(rules.STRIDE)
        places = below + np.arange(self.size, dtype=np.uint64)
        discs = states[:, :2, None, None] >> places & np.uint64(1)
        signs: npt.NDArray[np.int8] = (discs[:, FIRST] + np.uint64(2) * discs[:, SECOND]).astype(np.int8)
        return signs

    def _owners(self, state: State) -> list[list[int | None]]:
        """The owner of each cell (None: empty), rows from the top."""
        signs = self.owners(state[None])[0, ::-1].tolist()
        return [[None if sign == 0 else sign - 1 for sign in row] for row in signs]

    def _state_of(self, owners: list[list[int | None]], mover: int) -> State:
        """The state with these owners of cells, rows from the top."""
        discs, board = [0, 0], 0
        for row, each in enumerate(owners):
            for column, owner in enumerate(each):
                bit = 1 << row * rules.STRIDE + column
                board |= bit
                if owner is not None:
                    discs[owner] |= bit
        state = np.array([*discs, mover, 0, 0, board], dtype=np.uint64)
        with np.errstate(over="ignore"):
            source_of(rules.settle)(state)
        return state
