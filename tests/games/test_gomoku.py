"""Gomoku: playouts against a slow twin, cases set by hand, and its table against a slow sum."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

import games
from games.gomoku import Gomoku, rules
from games.jit import source_of
from games.rng import new_stream
from tests.games.common import JIT, loaded, random_game, random_position
from tests.games.naive import NaiveGomoku

_load = partial(loaded, Gomoku)


@pytest.mark.parametrize(
    "spec", ["gomoku", "gomoku:size=5", "gomoku:size=7", "gomoku:size=15", "gomoku:size=20"]
)
@pytest.mark.parametrize("plies", [0, 1, 20, 45])
def test_playouts_end_at_the_first_five(spec: str, plies: int) -> None:
    """The cells that a playout drew stand at the end of the cell list: the twin replays them."""
    game = _load(spec)
    start = random_position(game, 41, plies)
    moves, stream = np.zeros(game.max_moves, dtype=np.uint16), new_stream(43, plies)
    for _ in range(100 if JIT else 5):
        state, naive = start.copy(), NaiveGomoku(game.size, 0, game.overline)
        for row, owners in enumerate(reversed(game.board(start).rows)):
            naive.pieces |= {
                (row, column): cell.owner for column, cell in enumerate(owners) if cell.owner is not None
            }
        num_cells = state[rules.LISTED]
        length = rules.playout(state, moves, stream)
        drawn = state[rules.CELLS + num_cells - length : rules.CELLS + num_cells][::-1]
        for cell in drawn.tolist():
            assert naive.score is None
            naive.place((cell >> 6, cell & 63))
        assert game.rules.is_terminal(state)
        assert game.rules.returns(state) == naive.score


def test_cells_of_a_playout_are_drawn_evenly() -> None:
    game = _load("gomoku:size=5")
    state, moves, stream = game.initial_state(), np.zeros(25, dtype=np.uint16), new_stream(47)
    number = 20_000 if JIT else 2_000
    counts = np.zeros((3, 25))
    for _ in range(number):
        state[:] = game.initial_state()
        rules.playout(state, moves, stream)
        for ply in range(3):
            cell = int(state[rules.CELLS + 24 - ply])
            counts[ply, (cell >> 6) * 5 + (cell & 63)] += 1
    # Chi-square with 24 degrees of freedom: above 60 once in 16,000 times.
    assert (((counts - number / 25) ** 2) / (number / 25)).sum(axis=1).max() < 60


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("step", [(0, 1), (1, 0), (1, 1), (1, -1)])
def test_every_five_wins_wherever_it_lies(step: tuple[int, int], player: int) -> None:
    game = _load("gomoku:size=7")
    down, right = step
    for row in range(7):
        for column in range(7):
            line = [(row + k * down, column + k * right) for k in range(5)]
            if not all(0 <= r < 7 and 0 <= c < 7 for r, c in line):
                continue
            others = [(r, c) for r in range(0, 7, 3) for c in range(0, 7, 2) if (r, c) not in line]
            sides = [line, others] if player == 0 else [others, line]
            state = game.initial_state()
            for ply in range(9 + player):
                assert not game.rules.is_terminal(state)
                r, c = sides[ply % 2][ply // 2]
                game.rules.play(state, r * 7 + c)
            assert game.rules.is_terminal(state)
            assert game.rules.returns(state) == (1.0, -1.0)[player]


COUNTS = {0: 0, 1: 1, 2: 5, 3: 25, 4: 100, 5: 10_000}
LOOKS = {0: (4, 4), 1: (50, 15), 2: (125, 83), 3: (185, 266), 4: (100_000, 10_004)}
"""By the number of stones in a window: what it adds to a priority, of the mover's and of the other's."""
LINES = ((0, 1), (1, 0), (1, 1), (1, -1))


Stones = dict[tuple[int, int], int]


def windows_through(stones: Stones, size: int, cell: tuple[int, int]) -> Iterator[list[int]]:
    """The owners of the stones in each window of five through the cell."""
    for down, across in LINES:
        for start in range(-4, 1):
            window = [(cell[0] + k * down, cell[1] + k * across) for k in range(start, start + 5)]
            if all(0 <= r < size and 0 <= c < size for r, c in window):
                yield [stones[place] for place in window if place in stones]


def naive_cell(stones: Stones, size: int, cell: tuple[int, int], player: int) -> int:
    """All windows through the cell that have the player's stones alone, with one on the cell."""
    owners = windows_through({**stones, cell: player}, size, cell)
    return sum(COUNTS[len(each)] for each in owners if set(each) == {player})


def naive_priority(stones: Stones, size: int, cell: tuple[int, int], player: int) -> int:
    owners = [each for each in windows_through(stones, size, cell) if len(set(each)) < 2]
    return sum(LOOKS[len(each)][each[:1] == [1 - player]] for each in owners)


def naive_sum(stones: Stones, size: int) -> int:
    """The first player's less the second's, over empty cells."""
    empty = [(r, c) for r in range(size) for c in range(size) if (r, c) not in stones]
    return sum(naive_cell(stones, size, cell, 0) - naive_cell(stones, size, cell, 1) for cell in empty)


@pytest.mark.parametrize("spec", ["gomoku", "gomoku:size=5", "gomoku:size=9,overline=not", "gomoku:size=20"])
def test_sums_and_priorities_equal_a_slow_sum_over_cells(spec: str) -> None:
    game = games.load(spec)
    assert isinstance(game, Gomoku)
    stones: Stones = {}
    for ply, (state, legal, move) in enumerate(random_game(game, 3, max_plies=80)):
        if ply % (5 if game.size < 20 else 40) == 0:
            assert rules.table_sum(state) == naive_sum(stones, game.size)
            for each in legal[:: 1 if JIT else 9]:
                cell = divmod(each, game.size)
                values = [naive_cell(stones, game.size, cell, player) for player in (0, 1)]
                assert [rules.cell_worth(state, each, player) for player in (0, 1)] == values
                looks = naive_priority(stones, game.size, cell, game.calls.current_player(state))
                assert rules.priority(state, each) == looks
        stones[divmod(move, game.size)] = game.calls.current_player(state)


def test_an_empty_board_is_worth_20_inside_and_3_in_its_corners() -> None:
    state = games.load("gomoku").initial_state()
    worth = np.array([rules.cell_worth(state, move, 0) for move in range(144)]).reshape(12, 12)
    assert set(worth[4:8, 4:8].ravel()) == {20}
    assert [worth[0, 0], worth[0, 11], worth[11, 0], worth[11, 11]] == [3, 3, 3, 3]
    assert rules.table_sum(state) == 0 and rules.table(state) == 0.0


def test_the_printed_sum_drops_when_a_five_is_closed() -> None:
    """A row of O, four of X, an empty cell, and O: -10660 for O before X closes the five, -980 after."""
    state = games.load("gomoku").initial_state()
    for column, sign in enumerate("..O" + 4 * "X" + ".O..."):
        if sign != ".":
            source_of(rules.add_stone)(state, 5, column, "XO".index(sign))
    assert -rules.table_sum(state) == -10660
    before = rules.table(state)
    assert rules.add_stone(state, 5, 7, 0)
    assert -rules.table_sum(state) == -980
    assert 0 < rules.table(state) < before < 1


def test_the_table_keeps_the_order_of_sums() -> None:
    game = games.load("gomoku:size=9")
    values = {}
    for seed in range(3):
        for state, _, _ in random_game(game, seed):
            values[rules.table_sum(state)] = rules.table(state)
    ordered = [values[total] for total in sorted(values)]
    assert all(low < high for low, high in pairwise(ordered))


def test_evaluation_asks_whose_turn_it_is() -> None:
    game = games.load("gomoku:size=15")
    open_three = {"h8": 0, "i8": 0, "j8": 0, "a1": 1, "o1": 1, "a15": 1}
    values = []
    for player, others in ((0, 1), (1, 0)):
        state = game.initial_state()
        for cell, owner in open_three.items():
            row, column = divmod(game.parse_move(game.initial_state(), cell), 15)
            source_of(rules.add_stone)(state, row, column, owner ^ player)
        for mover in (player, others):
            state[rules.STONES] = mover
            values.append(rules.evaluate(state) * (1 - 2 * player))
    assert values[:2] == values[2:] and values[0] > values[1] + 0.1 > 0.1
