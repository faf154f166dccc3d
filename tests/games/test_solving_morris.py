"""Three men's morris solved: who wins, how fast, and by which first moves."""

from __future__ import annotations

import pytest

import games
from games.analysis.solving import Solution, solve
from tests.games.common import JIT

pytestmark = pytest.mark.skipif(not JIT, reason="5,390 positions take too long uncompiled")


def solved(spec: str) -> Solution:
    game = games.load(spec)
    return solve(game, game.initial_state())


def test_adjacent_is_won_in_nine_plies_by_the_centre_alone() -> None:
    solution = solved("morris:variant=three,move=adjacent")
    assert (solution.value_of(solution.start), solution.plies_of(solution.start)) == (1, 9)
    # Points row by row: the centre is 4, corners are even, edges odd.
    values = {outcome.move: outcome.value for outcome in solution.outcomes(solution.start)}
    assert values == {move: 1 if move == 4 else -(move % 2) for move in range(9)}


def test_moving_to_any_point_draws() -> None:
    solution = solved("morris:variant=three,move=any")
    assert solution.value_of(solution.start) == 0
    assert {outcome.value for outcome in solution.outcomes(solution.start)} == {0}
