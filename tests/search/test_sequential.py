"""Kernels make the very tree that the naive search makes, for problems of every form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import games
from games.rules import MAX_MOVE_CODE
from search.kernel.params import params_of
from search.request import SearchRequest
from tests.games.common import JIT
from tests.search.common import KNOBS, agreed, nodes_of, position, run_search
from tests.search.forms import COMPILED, FORMS, problem
from tests.search.naive import NaiveSearch

SIMULATIONS = {
    "tictactoe": 1500 if JIT else 300,
    "gomoku:size=5": 700 if JIT else 120,
    "gomoku:size=7": 500 if JIT else 80,
}


SETTINGS: list[dict[str, Any]] = [
    *({"exploration": exploration} for exploration in (0.0, 0.3, 1.0, 5.0)),
    *({"first_play_urgency": urgency} for urgency in (-1.0, 0.0, 0.4, 1.1, 2.5)),
    # Counts become large without many simulations: the last are beyond the tables.
    *({"anticipated": visits, "solver": solver} for visits in (1, 15, 300, 5000) for solver in (False, True)),
]
WANTED = np.full(MAX_MOVE_CODE + 1, -1, dtype=np.int64)
"""Four moves that are searched, two of which are to get some visits at least."""
WANTED[[0, 3, 4, 8]] = 0, 30, 0, 20
SETTINGS += [{"wanted": WANTED, "solver": solver, "first_play_urgency": 0.4} for solver in (False, True)]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("spec", SIMULATIONS)
def test_with_any_settings_the_tree_is_the_naive_one(spec: str, settings: dict[str, Any]) -> None:
    agreed(games.load(spec), KNOBS._replace(**settings), SIMULATIONS[spec], seed=11)


@pytest.mark.parametrize("urgency", [math.inf, 0.4])
@pytest.mark.parametrize(
    ("spec", "moves"),
    [
        ("tictactoe", ""),
        ("tictactoe", "a1 b1"),
        ("tictactoe", "a1 b2 c3 a3"),
        ("gomoku:size=5", ""),
        ("gomoku:size=5", "a1 a5 b1 b5 c1 c5"),
        ("gomoku:size=7", "b2 b4 c2 c4 d2 d4"),
    ],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_with_the_solver_it_is_the_naive_one_until_the_root_is_proven(
    spec: str, moves: str, urgency: float, seed: int
) -> None:
    params = KNOBS._replace(solver=True, first_play_urgency=urgency)
    game = games.load(spec)
    agreed(game, params, SIMULATIONS[spec] // 2, seed, position(game, moves), stages=2)


COMPILED_SIMULATIONS = 400 if JIT else 100
PLAIN_SIMULATIONS = 100
PROBLEMS = [(form, False) for form in COMPILED] + [(form, True) for form in FORMS]


@pytest.mark.parametrize(("exploration", "urgency"), [(0.2, math.inf), (0.05, 0.1)])
@pytest.mark.parametrize(("form", "plain"), PROBLEMS)
def test_the_tree_of_any_problem_is_the_naive_one(
    form: str, plain: bool, exploration: float, urgency: float
) -> None:
    params = KNOBS._replace(exploration=exploration, first_play_urgency=urgency)
    simulations = PLAIN_SIMULATIONS if plain else COMPILED_SIMULATIONS
    for seed in (2,) if plain else (3, 4, 5):
        agreed(games.load(problem(form, seed, plain)), params, simulations, seed)


@pytest.mark.parametrize(
    "options", [{"lanes": 12, "batch": 1}, {"lanes": 5, "batch": 2, "playouts_per_leaf": 3}]
)
@pytest.mark.parametrize(("form", "plain"), PROBLEMS)
def test_so_it_is_with_leaves_in_flight(form: str, plain: bool, options: dict[str, Any]) -> None:
    """In plain Python without the rules, from what workers say of positions."""
    compare_by_leaves(form, plain, options)


@pytest.mark.parametrize("form", FORMS)
def test_so_it_is_with_playouts_that_are_cut(form: str) -> None:
    """Without rewards nobody has a score before the end."""
    cut = {"lanes": 2, "playout_plies": 2, "exploration": 0.2, "exploration_scale": "fixed"}
    compare_by_leaves(form, True, cut)


def compare_by_leaves(form: str, plain: bool, options: dict[str, Any]) -> None:
    simulations = PLAIN_SIMULATIONS if plain else COMPILED_SIMULATIONS
    request = SearchRequest(
        problem(form, 8, plain), strategy="leaf", simulations=simulations, seed=5, **options
    )
    result, session = run_search(request)
    search = session.search
    naive = NaiveSearch(search.game, search.context.root_state, features=search.context.features)
    naive.search_by_leaves(params_of(search.context), search.plan, request.seed)
    assert nodes_of(search.strategy.tree) == naive.root
    outlook = search.strategy.outlook
    if search.game.has_lines and request.playout_plies is not None:
        # A playout that is cut does not come to the end.
        assert outlook.line == ()
        assert result.best_line is None
    elif search.game.has_lines:
        assert (outlook.value, [*outlook.line]) == naive.best
        assert result.best_line is not None
        assert result.best_line.value == naive.best[0]
    if search.game.num_players > 2:
        assert result.values == tuple(total / simulations for total in naive.totals)
