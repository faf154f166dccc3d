"""Playouts that are cut or follow a policy, progressive unpruning, and C scaled by the spread of values."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from statistics import pstdev
from typing import Any

import numpy as np
import pytest

import games
from games import catalogue
from games.compile.specialise import specialise
from games.game import State
from games.jit import njit
from games.rng import new_stream
from games.tictactoe import TicTacToe
from search.features import DECISIVE, GREEDY, RANDOM, Features
from search.kernel.engine import engine_of
from search.kernel.expand import FIRST_VISITS, GROWTH, allowed
from search.kernel.loop import ANY_MOVE
from search.kernel.params import NO_CUT, SearchParams, params_of
from search.kernel.playout import minimax_move
from search.kernel.workspace import Workspace
from search.minimax.alphabeta import advance, begin, open_frame
from search.minimax.lookahead import lookahead_of
from search.prepare import open_search
from search.request import SearchRequest
from tests.games.common import JIT, plain
from tests.search.common import KNOBS, agreed, digest_of_search, undisturbed
from tests.search.naive import Node

_allowed = plain(allowed)
WEIGHTS = np.array([2.0, 1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 1.0, 2.0])
"""What a cell of tic-tac-toe is worth at first sight."""


@njit
def weight(state: State, move: int) -> float:
    return float(WEIGHTS[move])


@njit
def stones(state: State) -> float:
    """A number in [-1, 1] that tells positions apart."""
    total = 0.0
    for i in range(len(state)):
        total += (i + 1) * float(state[i] % 3)
    return (total % 7.0) / 3.5 - 1.0


class Weighted(TicTacToe):
    """Tic-tac-toe with opinions."""

    name = "weighted"

    def __init__(self) -> None:
        super().__init__()
        self.rules = self.rules._replace(priority=weight, evaluate=stones)


def same_trees(params: SearchParams, features: Features, simulations: int, seed: int) -> Node:
    """Both searches from the start; the tree that they agree on."""
    return agreed(Weighted(), params, simulations, seed, features=features)


@pytest.mark.parametrize("plies", [0, 1, 3, NO_CUT])
@pytest.mark.parametrize("policies", [(RANDOM, RANDOM), (GREEDY, GREEDY), (RANDOM, GREEDY), (GREEDY, RANDOM)])
def test_steered_playouts_follow_their_policies_and_are_cut(plies: int, policies: tuple[int, int]) -> None:
    params = KNOBS._replace(playout_plies=plies, first_policy=policies[0], second_policy=policies[1])
    same_trees(params, Features(steered=True), 400 if JIT else 100, seed=plies % 7)


@pytest.mark.parametrize("widening", [1, 2, 5, 20])
@pytest.mark.parametrize("urgency", [math.inf, 0.3])
def test_widened_nodes_begin_with_the_best_looking_moves(widening: int, urgency: float) -> None:
    params = KNOBS._replace(widening=widening, first_play_urgency=urgency, playout_plies=NO_CUT)
    simulations = 600 if JIT else 150
    root = same_trees(params, Features(steered=True, widened=True), simulations, seed=widening)
    # The children came in the order of their weights.
    came = [WEIGHTS[child.move] for child in root.children]
    assert came == sorted(came, reverse=True)
    assert len(root.children) <= min(9, _allowed(params, simulations))


@pytest.mark.parametrize("implicit", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("solver", [False, True])
def test_evaluations_steer_as_published(implicit: float, solver: bool) -> None:
    params = KNOBS._replace(implicit=implicit, solver=solver)
    root = same_trees(params, Features(evaluated=True), 250 if JIT else 60, seed=7)
    if not solver:
        assert (root == unsteered()) == (implicit == 0.0)


@functools.cache
def unsteered() -> Node:
    return same_trees(KNOBS, Features(), 250 if JIT else 60, seed=7)


@pytest.mark.parametrize("solver", [False, True])
@pytest.mark.parametrize("policy", [RANDOM, DECISIVE])
def test_a_winning_move_is_the_only_one(solver: bool, policy: int) -> None:
    params = KNOBS._replace(solver=solver, first_policy=policy, second_policy=policy, playout_plies=NO_CUT)
    features = Features(decisive=True, steered=policy != RANDOM)
    same_trees(params, features, 4000 if JIT else 100, seed=11)


def test_the_number_of_moves_grows_as_published() -> None:
    params = KNOBS._replace(widening=5)
    for k in range(5, 40):
        visits = FIRST_VISITS * GROWTH ** (k - 5)
        assert _allowed(params, math.ceil(visits) + 1) == k
        assert k == 5 or _allowed(params, math.floor(visits) - 1) == k - 1


REQUESTS = [
    {"playout_plies": 4},
    {"playout_policy": "greedy"},
    {"playout_policy": "random-greedy", "playout_plies": 6, "exploration_scale": "fixed"},
    {"widening": 4, "playout_plies": 2},
    {"decisive": True, "playout_policy": "decisive", "solver": True},
    {"decisive": True, "playout_plies": 0, "widening": 4, "solver": True, "game": "gomoku:size=9"},
    {"playout_policy": "minimax2-minimax1_first", "game": "tictactoe", "simulations": 60},
]


@pytest.mark.parametrize("strategy", ["root", "tree", "leaf"])
@pytest.mark.parametrize("asked", REQUESTS)
def test_placement_changes_nothing(strategy: str, asked: dict[str, object]) -> None:
    simulations = 4000 if JIT else 60
    request: dict[str, Any] = {"game": "gomoku:size=5", "lanes": 3, "simulations": simulations, **asked}
    undisturbed(SearchRequest(strategy=strategy, **request), (4,))


@pytest.mark.parametrize(("spec", "low", "high"), [("tictactoe", 0.8, 1.0), ("thud:ruleset=seed", 0.01, 0.6)])
def test_the_spread_scales_exploration(spec: str, low: float, high: float) -> None:
    fixed = open_search(SearchRequest(game=spec, simulations=100))
    scaled = open_search(SearchRequest(game=spec, simulations=100, exploration_scale="spread"))
    scale = scaled.context.exploration_scale
    assert fixed.context.exploration_scale == 1.0
    assert low < scale < high
    assert params_of(scaled.context).exploration == params_of(fixed.context).exploration * scale


def test_the_spread_is_that_of_the_positions_after_the_root_moves() -> None:
    game = Weighted()
    engine = engine_of(game, Features(steered=True))
    values = np.zeros(200)
    engine.play_flat(
        game.initial_state(),
        KNOBS._replace(playout_plies=0),
        np.full(len(values), ANY_MOVE, dtype=np.uint16),
        values,
        new_stream(3),
        engine.new_workspace(),
    )
    expected = set()
    for move in range(9):
        state = game.initial_state()
        game.calls.play(state, move)
        expected.add(float(game.calls.evaluate(state)))  # type: ignore[misc]
    assert set(values.tolist()) == expected
    assert pstdev(values.tolist()) > 0


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("depth", [1, 2])
def test_a_player_in_a_playout_who_looks_ahead_moves_as_minimax_does(depth: int, first: bool) -> None:
    """Each best move of minimax is played, or the first in the order of the rules, and no other."""
    game = Weighted()
    state = game.initial_state()
    game.play_text(state, ["a1", "b3", "c2"])
    lookahead = lookahead_of(game, "default")
    best = lookahead.search(state, lookahead.limits(depth)).best_moves
    functions = specialise((open_frame, begin, advance, minimax_move, random_best), game)
    work = engine_of(game, Features(steered=True, thinking=True)).new_workspace()
    moves = np.zeros(200 if JIT else 40, dtype=np.int64)
    functions["random_best"](state, depth, first, moves, new_stream(2), work)
    assert set(moves.tolist()) == set(best[:1] if first else best)


def random_best(state: State, depth: int, first: bool, moves: Any, stream: Any, work: Workspace) -> None:
    """Generic: that many draws of `minimax_move`."""
    for n in range(len(moves)):
        for i in range(len(state)):
            work.state[i] = state[i]
        moves[n] = minimax_move(depth, first, work, stream)


FILE = str(Path(__file__).parents[1] / "games" / "gym_environments.py")


@pytest.mark.parametrize("plies", [0, 1, 2, 5])
@pytest.mark.parametrize(
    "spec",
    [
        "gym:CartPole-v1:discount=0.5",
        "gym:FrozenLake-v1:model=environment",
        "gym:FrozenLake-v1:model=environment,loop=open,discount=0.5",
        f"gym:{FILE}:Walk",
    ],
)
def test_cut_playouts_are_those_of_the_kernel(spec: str, plies: int) -> None:
    """Which plays move by move, and keeps every position."""
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    compare(spec, plies)


def compare(spec: str, plies: int) -> None:
    digests = []
    for at_once in (True, False):
        catalogue.forget()
        game: Any = games.load(spec)
        assert game.rules.cut_rollout is not None
        if not at_once:
            game.rules = game.rules._replace(cut_rollout=None)
        request = {"game": spec, "lanes": 3, "simulations": 24, "seed": plies, "playout_plies": plies}
        digests.append([digest_of_search(strategy=name, **request) for name in ("tree", "leaf")])
        assert games.load(spec) is game
    catalogue.forget()
    assert digests[0] == digests[1]
