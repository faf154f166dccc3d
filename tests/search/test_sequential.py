"""The compiled search makes the very tree that the naive one makes."""

from __future__ import annotations

import math
from typing import Any

import pytest

import games
from search.kernel.params import SearchParams
from tests.games.common import JIT
from tests.search.common import KNOBS, agreed, position
from tests.search.naive import Node

SIMULATIONS = {
    "tictactoe": 1500 if JIT else 300,
    "gomoku:size=5": 700 if JIT else 120,
    "gomoku:size=7": 500 if JIT else 80,
}


def compare(spec: str, seed: int, params: SearchParams, **options: Any) -> Node:
    """The tree of both searches."""
    return agreed(games.load(spec), params, options.pop("simulations", SIMULATIONS[spec]), seed, **options)


@pytest.mark.parametrize("spec", SIMULATIONS)
@pytest.mark.parametrize("exploration", [0.0, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("seed", [0, 11])
def test_any_exploration(spec: str, exploration: float, seed: int) -> None:
    compare(spec, seed, KNOBS._replace(exploration=exploration))


@pytest.mark.parametrize("spec", SIMULATIONS)
@pytest.mark.parametrize("urgency", [-1.0, 0.0, 0.4, 1.1, 2.5])
def test_first_play_urgency(spec: str, urgency: float) -> None:
    root = compare(spec, 5, KNOBS._replace(first_play_urgency=urgency))
    all_tried = len(root.children) == len(games.load(spec).legal_moves(games.load(spec).initial_state()))
    assert all_tried or urgency < 2.5


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
def test_solver(spec: str, moves: str, urgency: float, seed: int) -> None:
    params = KNOBS._replace(solver=True, first_play_urgency=urgency)
    root = position(games.load(spec), moves)
    compare(spec, seed, params, simulations=SIMULATIONS[spec] // 2, stages=2, root_state=root)


@pytest.mark.parametrize("spec", SIMULATIONS)
@pytest.mark.parametrize("anticipated", [1, 15, 300])
@pytest.mark.parametrize("solver", [False, True])
def test_anticipated_visits(spec: str, anticipated: int, solver: bool) -> None:
    compare(spec, 3, KNOBS._replace(anticipated=anticipated, solver=solver))


@pytest.mark.parametrize("spec", SIMULATIONS)
def test_visits_beyond_the_tables(spec: str) -> None:
    """Anticipated visits make the counts large without many simulations."""
    compare(spec, 4, KNOBS._replace(anticipated=5000), simulations=SIMULATIONS[spec] // 3)


def test_the_seed_changes_the_tree() -> None:
    first, second = (compare("tictactoe", seed, KNOBS, simulations=200) for seed in (1, 2))
    assert first != second
