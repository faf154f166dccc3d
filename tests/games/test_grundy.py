"""Grundy's game against a slow twin and against the theory of sums of games."""

from __future__ import annotations

from functools import cache, reduce
from operator import xor

import pytest

import games
from games import Game
from games.analysis.solving import solve
from games.board import draw
from games.game import State
from tests.games.common import JIT, random_game, states_of
from tests.games.naive import Piles, splits


def piles_of(game: Game, state: State) -> Piles:
    text, _ = game.format_position(state).split(" ")
    return tuple(sorted(int(size) for size in text.split("+")))


@cache
def grundy_number(size: int) -> int:
    """The smallest number that no split of the pile has."""
    reached = {grundy_number(part) ^ grundy_number(size - part) for part in range(1, (size + 1) // 2)}
    return next(number for number in range(size + 1) if number not in reached)


@pytest.mark.parametrize("pile", [3, 11, 40, 99])
def test_moves_and_positions_equal_the_twins(pile: int) -> None:
    game = games.load(f"grundy:pile={pile}")
    for seed in range(20 if JIT else 3):
        piles: Piles = (pile,)
        for ply, (state, moves, move) in enumerate(random_game(game, seed)):
            assert piles_of(game, state) == piles
            assert game.calls.current_player(state) == ply % 2
            assert {divmod(each, 64) for each in moves} == splits(piles).keys()
            piles = splits(piles)[divmod(move, 64)]
        assert splits(piles) == {}


def test_grundy_numbers() -> None:
    known = [0, 0, 0, 1, 0, 2, 1, 0, 2, 1, 0, 2, 1, 3, 2, 1, 3, 2, 4, 3, 0]
    assert [grundy_number(size) for size in range(21)] == known
    assert [size for size in range(1, 51) if grundy_number(size) == 0] == [1, 2, 4, 7, 10, 20, 23, 26, 50]


@pytest.mark.parametrize("pile", [*range(3, 31), 50] if JIT else [3, 4, 7, 10, 15])
def test_who_moves_wins_if_and_only_if_the_piles_do_not_cancel(pile: int) -> None:
    game = games.load(f"grundy:pile={pile}")
    solution = solve(game, game.initial_state())
    assert (solution.value_of(game.initial_state()) == -1) == (pile in (4, 7, 10, 20, 23, 26, 50))
    assert pile != 7 or solution.num_positions == 14
    if pile <= 30:
        for state in states_of(solution):
            wins = reduce(xor, map(grundy_number, piles_of(game, state))) != 0
            assert solution.value_of(state) == (1 if wins else -1) * (
                1 - 2 * game.calls.current_player(state)
            )


def test_board_is_ten_piles_a_row() -> None:
    game = games.load("grundy:pile=16")
    state = game.parse_position("8+8 second")
    game.play_text(state, ["8-1+7"])
    assert draw(game.board(state, 8 * 64 + 1), colour=False) == "0  8 [7][1]\n   1  2  3"
    rows = game.board(game.parse_position("3+2" + "+1" * 11 + " first")).rows
    assert [[cell.text for cell in row] for row in rows] == [["3", "2"] + ["1"] * 8, ["1"] * 3 + [""] * 7]
