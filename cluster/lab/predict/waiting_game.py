"""Connect Four as a waiting simulator: a game file for `banyan predict` whose playouts take `wait_ms` ms.

banyan predict ./cluster/lab/predict/waiting_game.py:wait_ms=20 --strategies leaf
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from games import PythonGame

COLUMNS, ROWS, HEIGHT = 7, 6, 7
"""A column has HEIGHT bits, its lowest cell first; the highest stays empty and ends lines there."""
LINES = 1, HEIGHT - 1, HEIGHT, HEIGHT + 1
"""Bits from a cell to the next one in a line: up, down right, right, up right."""


class Board:
    """A position as two sets of cells, one for each player."""

    def __init__(self, stones: tuple[int, int] = (0, 0), plies: int = 0) -> None:
        self.stones, self.plies = stones, plies

    def copy(self) -> "Board":
        return Board(self.stones, self.plies)

    def current_player(self) -> int:
        return self.plies & 1

    def legal_moves(self) -> list[int]:
        taken = self.stones[0] | self.stones[1]
        return [column for column in range(COLUMNS) if not taken >> HEIGHT * column & 1 << ROWS - 1]

    def play(self, column: int) -> None:
        taken = self.stones[0] | self.stones[1]
        lowest = 1 << HEIGHT * column
        cells = (1 << HEIGHT) - 1 << HEIGHT * column
        placed = taken + lowest & cells & ~taken
        first, second = self.stones
        self.stones = (first, second | placed) if self.plies & 1 else (first | placed, second)
        self.plies += 1

    def has_line(self, player: int) -> bool:
        pairs = ((self.stones[player] & self.stones[player] >> step, step) for step in LINES)
        return any(pair & pair >> 2 * step for pair, step in pairs)

    def is_terminal(self) -> bool:
        return self.plies == COLUMNS * ROWS or self.has_line(1 - (self.plies & 1))

    def returns(self) -> float:
        return float(self.has_line(0) - self.has_line(1))

    def format_move(self, column: int) -> str:
        return "abcdefg"[column]

    def __str__(self) -> str:
        cells = range(COLUMNS * HEIGHT)
        signs = [".XO"[(self.stones[0] >> k & 1) + 2 * (self.stones[1] >> k & 1)] for k in cells]
        return "\n".join(" ".join(signs[row::HEIGHT]) for row in range(ROWS - 1, -1, -1))


class WaitingGame(PythonGame):
    """Connect Four; each playout waits first, like one that calls a process, a server or a device."""

    max_moves, max_plies, player_names = COLUMNS, COLUMNS * ROWS, ("X", "O")

    def __init__(self, wait_ms: int = 20) -> None:
        super().__init__()
        self.wait_s, self.nominal_simulations_per_s = wait_ms / 1000, 1000 / (1 + wait_ms)

    def new_position(self) -> Board:
        return Board()

    def roll_out(self, position: Any, draw: Callable[[int], int]) -> Sequence[int]:
        time.sleep(self.wait_s)
        return super().roll_out(position, draw)
