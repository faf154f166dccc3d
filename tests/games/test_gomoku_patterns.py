"""The article's pattern table: figures from its pages, and a slow sum over cells and windows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import games
from games.gomoku import Gomoku, patterns, rules
from games.jit import source_of
from tests.games.common import JIT, random_game

COUNTS = {0: 0, 1: 1, 2: 5, 3: 25, 4: 100, 5: 10_000}
LINES = ((0, 1), (1, 0), (1, 1), (1, -1))


def naive_cell(stones: dict[tuple[int, int], int], size: int, cell: tuple[int, int], player: int) -> int:
    """All windows of five through the cell, with the player's stone on it."""
    stones = {**stones, cell: player}
    total = 0
    for down, across in LINES:
        for start in range(-4, 1):
            window = [(cell[0] + k * down, cell[1] + k * across) for k in range(start, start + 5)]
            if all(0 <= r < size and 0 <= c < size for r, c in window):
                owners = [stones[place] for place in window if place in stones]
                total += COUNTS[len(owners)] if set(owners) == {player} else 0
    return total


def naive_sum(stones: dict[tuple[int, int], int], size: int) -> int:
    """The first player's less the second's, over empty cells."""
    empty = [(r, c) for r in range(size) for c in range(size) if (r, c) not in stones]
    return sum(naive_cell(stones, size, cell, 0) - naive_cell(stones, size, cell, 1) for cell in empty)


@pytest.mark.parametrize("spec", ["gomoku", "gomoku:size=5", "gomoku:size=9,overline=not", "gomoku:size=20"])
def test_sums_and_priorities_equal_a_slow_sum_over_cells(spec: str) -> None:
    game = games.load(spec)
    assert isinstance(game, Gomoku)
    stones: dict[tuple[int, int], int] = {}
    for ply, (state, legal, move) in enumerate(random_game(game, 3, max_plies=80)):
        if ply % (5 if game.size < 20 else 40) == 0:
            assert patterns.table_sum(state) == naive_sum(stones, game.size)
            for each in legal[:: 1 if JIT else 9]:
                cell = divmod(each, game.size)
                values = [naive_cell(stones, game.size, cell, player) for player in (0, 1)]
                assert [patterns.cell_worth(state, each, player) for player in (0, 1)] == values
                assert patterns.priority(state, each) == sum(values)
        stones[divmod(move, game.size)] = game.calls.current_player(state)


def test_an_empty_board_is_worth_20_inside_and_3_in_its_corners() -> None:
    state = games.load("gomoku").initial_state()
    worth = np.array([patterns.cell_worth(state, move, 0) for move in range(144)]).reshape(12, 12)
    assert set(worth[4:8, 4:8].ravel()) == {20}
    assert [worth[0, 0], worth[0, 11], worth[11, 0], worth[11, 11]] == [3, 3, 3, 3]
    assert patterns.table_sum(state) == 0 and patterns.evaluate(state) == 0.0


def test_the_printed_sum_drops_when_a_five_is_closed() -> None:
    """A row of O, four of X, an empty cell, and O: -10660 for O before X closes the five, -980 after."""
    state = games.load("gomoku").initial_state()
    for column, sign in enumerate("..O" + 4 * "X" + ".O..."):
        if sign != ".":
            source_of(rules.add_stone)(state, 5, column, "XO".index(sign))
    assert -patterns.table_sum(state) == -10660
    before = patterns.evaluate(state)
    assert rules.add_stone(state, 5, 7, 0)
    assert -patterns.table_sum(state) == -980
    assert 0 < patterns.evaluate(state) < before < 1


def test_evaluation_keeps_the_order_of_sums() -> None:
    game = games.load("gomoku:size=9")
    values = {}
    for seed in range(3):
        for state, _, _ in random_game(game, seed):
            values[patterns.table_sum(state)] = patterns.evaluate(state)
    ordered = [values[total] for total in sorted(values)]
    assert all(low < high for low, high in pairwise(ordered))
