"""The compiled search makes the very tree that the naive one makes."""

from __future__ import annotations

import math

import pytest

import games
from games.rng import new_stream
from search.kernel.engine import engine_of
from search.kernel.params import SearchParams
from search.tree.arena import NODES, PLAIN_LAYOUT, new_tree
from tests.games.common import JIT
from tests.search.common import KNOBS, nodes_of, position
from tests.search.naive import NaiveSearch, Node

SIMULATIONS = {
    "tictactoe": 1500 if JIT else 300,
    "gomoku:size=5": 700 if JIT else 120,
    "gomoku:size=7": 500 if JIT else 80,
}


def compare(spec: str, seed: int, stages: list[tuple[SearchParams, int]], moves: str = "") -> Node:
    """Grow both trees, one stage after the other, and compare them after each."""
    game = games.load(spec)
    engine = engine_of(game)
    root_state = position(game, moves)
    tree = new_tree(PLAIN_LAYOUT.capacity_for(2**26, sum(simulations for _, simulations in stages)))
    stream, work = new_stream(seed), engine.new_workspace()
    naive = NaiveSearch(game, root_state, new_stream(seed))
    for params, simulations in stages:
        done = engine.simulate(tree, params, root_state, simulations, stream, work)
        assert done == naive.simulate(params, simulations)
        assert nodes_of(tree) == naive.root
    assert tree.counts[NODES] == count(naive.root)
    return naive.root


def count(node: Node) -> int:
    return 1 + sum(count(child) for child in node.children)


@pytest.mark.parametrize("spec", SIMULATIONS)
@pytest.mark.parametrize("exploration", [0.0, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("seed", [0, 11])
def test_any_exploration(spec: str, exploration: float, seed: int) -> None:
    compare(spec, seed, [(KNOBS._replace(exploration=exploration), SIMULATIONS[spec])])


@pytest.mark.parametrize("spec", SIMULATIONS)
@pytest.mark.parametrize("urgency", [-1.0, 0.0, 0.4, 1.1, 2.5])
def test_first_play_urgency(spec: str, urgency: float) -> None:
    root = compare(spec, 5, [(KNOBS._replace(first_play_urgency=urgency), SIMULATIONS[spec])])
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
    compare(spec, seed, [(params, SIMULATIONS[spec] // 2)] * 2, moves)


@pytest.mark.parametrize("spec", SIMULATIONS)
@pytest.mark.parametrize("anticipated", [1, 15, 300])
@pytest.mark.parametrize("solver", [False, True])
def test_anticipated_visits(spec: str, anticipated: int, solver: bool) -> None:
    compare(spec, 3, [(KNOBS._replace(anticipated=anticipated, solver=solver), SIMULATIONS[spec])])


@pytest.mark.parametrize("spec", SIMULATIONS)
def test_visits_beyond_the_tables(spec: str) -> None:
    """Anticipated visits make the counts large without many simulations."""
    compare(spec, 4, [(KNOBS._replace(anticipated=5000), SIMULATIONS[spec] // 3)])


def test_the_seed_changes_the_tree() -> None:
    first, second = (compare("tictactoe", seed, [(KNOBS, 200)]) for seed in (1, 2))
    assert first != second
