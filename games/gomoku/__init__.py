"""Gomoku: five in a row on a square board; X moves first, and a full board is a draw.

A move's text is its cell, such as ``f6`` for row 5 and column 5 counted from 0; its code is
row * size + column, row 0 the bottom row.

A position's text is its rows from the top, divided by '/', then the player to move. Within a row, ``x`` and
``o`` are stones and a number stands for that many adjacent empty cells, as in the FEN of chess. After
f6 and g7 on a 12x12 board: ``12/12/12/12/12/6o5/5x6/12/12/12/12/12 x``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
import numpy.typing as npt

from games.board import format_cell
from games.compile.specialise import cached_njit
from games.errors import InvalidInput
from games.game import FIRST, SECOND, Rules, State
from games.gomoku import rules
from games.gomoku.rules import MAX_SIZE
from games.gomoku.threats import decisive_moves
from games.grid import GridGame, Owners, cells_with
from games.jit import source_of
from games.rules import StaticEvaluator

MIN_SIZE = 5

# The rule itself would be compiled anew in each process.
_add_stone = cached_njit(source_of(rules.add_stone))


class Gomoku(GridGame):
    """Gomoku with given options; all sizes and options share one set of compiled rules."""

    name = "gomoku"
    player_names = ("x", "o")
    rules = Rules.of(vars(rules), decisive_moves=decisive_moves)
    exploration = 0.35

    def __init__(
        self,
        size: Annotated[int, range(MIN_SIZE, MAX_SIZE + 1)] = 12,
        candidates: Annotated[int, range(5)] = 0,
        overline: Annotated[str, ("wins", "not")] = "wins",
    ) -> None:
        """``size``: cells a side. ``candidates``: moves must be within this distance of a stone, 0 for no
        limit. ``overline``: whether more than five in a row ``wins`` or does ``not``."""
        self.size, self.candidates, self.overline = size, candidates, overline
        self.rows = self.columns = size
        self.max_moves = self.max_plies = size * size
        self.nominal_simulations_per_s = 8e5 * 144 / size**2
        self._centre = (size - 1) // 2

    def owners(self, states: State) -> npt.NDArray[np.int8]:
        """int8[B, rows, columns]: see `Game.owners`. Computed for all states at once from the row masks."""
        rows = states[:, rules.ROWS : rules.ROWS + 2 * self.size].reshape(-1, self.size, 2, 1)
        stones = rows >> np.arange(self.size, dtype=rows.dtype) & 1
        signs: npt.NDArray[np.int8] = (stones[:, :, 0] + 2 * stones[:, :, 1]).astype(np.int8)
        return signs

    @property
    def evaluators(self) -> Mapping[str, StaticEvaluator]:
        """``table``, and ``table_printed``, which also evaluates finished games; see `rules`."""
        return {
            "table": StaticEvaluator(rules.table),
            "table_printed": StaticEvaluator(rules.table, finished=True),
            "odds": StaticEvaluator(rules.evaluate),
        }

    def accepted_moves(self, state: State, moves: Sequence[str]) -> str:
        """The cells of the board, or those near to a stone."""
        if self.candidates and not state[rules.STONES]:
            centre = format_cell(self._centre, self._centre)
            return f"the centre cell {centre} (candidates={self.candidates})"
        near = f" within {self.candidates} cells of a stone" if self.candidates else ""
        return f"an empty cell from a1 to {format_cell(self.size - 1, self.size - 1)}{near}"

    def parse_position(self, text: str) -> State:
        owners, mover = self.read_alternating(text)
        state = self.state_of(owners, mover)
        if state[rules.OVER] and not self.can_be_last(owners, cells_with(owners, 1 - mover)):
            raise InvalidInput("position", text, "no five in a row except by the last move")
        return state

    def state_of(self, owners: Owners, mover: int) -> State:
        """The state with these stones; cells are listed in ascending order."""
        size, area = self.size, self.size**2
        state = np.zeros(rules.CELLS + 2 * area, dtype=np.int32)
        state[rules.SIZE], state[rules.AREA] = size, area
        state[rules.CANDIDATES], state[rules.EXACT] = self.candidates, self.overline == "not"
        stones = [
            (size - 1 - row, column, player)
            for player in (FIRST, SECOND)
            for row, column in cells_with(owners, player)
        ]
        for stone in stones:
            _add_stone(state, *stone)
        # With all stones there: five of a longer row need not win.
        for row, column, player in stones:
            if _add_stone(state, row, column, player):
                state[rules.OVER], state[rules.RESULT] = 1, 1 - 2 * player
        state[rules.STONES] = len(stones)
        if len(stones) == area:
            state[rules.OVER] = 1
        seen = self._seen(stones)
        state[rules.SEEN : rules.SEEN + size] = seen
        state[rules.CELLS + area :] = -1
        for row, line in enumerate(reversed(owners)):
            for column, owner in enumerate(line):
                if owner is None and seen[row] >> column & 1:
                    place = state[rules.LISTED]
                    state[rules.CELLS + place] = row * 64 + column
                    state[rules.CELLS + area + row * size + column] = place
                    state[rules.LISTED] += 1
        return state

    def _seen(self, stones: Sequence[tuple[int, int, int]]) -> list[int]:
        """For each row a mask of the cells that are or were in the list of playable cells."""
        full, reach = (1 << self.size) - 1, self.candidates
        if not reach:
            return [full] * self.size
        seen = [0] * self.size
        if not stones:
            seen[self._centre] = 1 << self._centre
        for row, column, _ in stones:
            window = (2 << column + reach) - (1 << max(column - reach, 0))
            for near in range(max(row - reach, 0), min(row + reach + 1, self.size)):
                seen[near] |= window & full
        return seen
