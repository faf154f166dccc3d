"""Playouts that learn: their table beside value iteration over the same counts, and when it is full."""

from __future__ import annotations

import os

import numpy as np
import pytest

from cluster.runtime.session import Session
from cluster.workers.inline import InlineExecutor
from games import Game, Rules, njit
from games.catalogue import load
from games.game import Moves, State
from games.rng import mix, new_stream
from search.coordinator import Coordinator
from search.features import Features
from search.job import Context, Job, JobResult
from search.kernel.engine import engine_of
from search.kernel.learning import END, MOST_POSITIONS, NONE, POSITIONS
from search.kernel.params import params_from, with_exploration
from search.kernel.workspace import Experience, Workspace
from search.prepare import open_search
from search.request import SearchRequest
from search.tree.arena import ROOT, children_of
from search.tree.merge import first_children_of
from search.worker import Worker

LEARNS = Features(steered=True, learnt=True)
_PRIME = np.uint64(0x9E3779B97F4A7C15)


def learnt(game: Game, simulations: int, seed: int = 0) -> tuple[Workspace, list[float]]:
    """The workspace after a search, and the means of the root's children."""
    engine = engine_of(game, LEARNS)
    request = with_exploration(SearchRequest(game.spec, simulations=1, playout_policy="learnt"), game)
    work, tree = engine.new_workspace(), engine.new_tree(4 * simulations + 64)
    params = params_from(request, 1.0)
    engine.simulate(tree, params, game.initial_state(), simulations, new_stream(seed), work)
    before = engine.lone_root()
    engine.look_back(tree, before, first_children_of(before.num_children), work)
    assert int(tree.visits[ROOT]) == simulations
    return work, [float(tree.total_value[child] / tree.visits[child]) for child in children_of(tree, ROOT)]


def values_of(met: Experience, discount: float) -> dict[int, float]:
    """By cell, what positions are worth by value iteration over the counts."""
    model: dict[int, list[list[tuple[int, int, float]]]] = {}
    for cell in met.order[: met.counts[POSITIONS]].tolist():
        first, size = int(met.first[cell]), int(met.size[cell])
        model[cell] = []
        for entry in range(first, first + max(1, size)):
            outcome, found = int(met.outcome[entry]) if met.tried[entry] else NONE, []
            while outcome != NONE:
                found.append((int(met.times[outcome]), int(met.after[outcome]), float(met.gains[outcome])))
                outcome = int(met.link[outcome])
            assert sum(times for times, _, _ in found) == met.tried[entry]
            model[cell].append(found)
    worth = dict.fromkeys([END, *model], 0.0)
    while True:
        change = 0.0
        for cell, moves in model.items():
            factor = discount if met.size[cell] else 1.0
            found = [
                sum(gain + times * factor * worth[after] for times, after, gain in outcomes)
                / sum(times for times, _, _ in outcomes)
                for outcomes in moves
                if outcomes
            ]
            value = max(found, default=0.0)
            change, worth[cell] = max(change, abs(value - worth[cell])), value
        if change < 1e-9:
            return worth


@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_values_are_those_of_the_counts(discount: float) -> None:
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    game = load(f"gym:FrozenLake-v1(is_slippery=True):steps=12,discount={discount}")
    work, means = learnt(game, 500)
    met = work.experience
    truth = values_of(met, discount)
    root = int(work.places[0])
    assert met.worth[root] == pytest.approx(truth[root], abs=0.002)
    assert max(means) == pytest.approx(truth[root], abs=0.002), "what is known at the end counts"
    assert met.counts[POSITIONS] == len(truth) - 1 > 100


@njit
def current_player(state: State) -> int:
    return 0


@njit
def legal_moves(state: State, moves: Moves) -> int:
    for move in range(4):
        moves[move] = move
    return 4


@njit
def play(state: State, move: int) -> None:
    state[0] += 1
    state[1] = np.int64(mix(np.uint64(state[1]) * _PRIME + np.uint64(move)) >> np.uint64(1))
    state[2] += state[1] & 1


@njit
def is_terminal(state: State) -> bool:
    return bool(state[0] == 200)


@njit
def returns(state: State) -> float:
    return float(state[2])


@njit
def pack(state: State) -> np.uint64:
    return np.uint64(state[1])


class Wide(Game):
    """Four moves, two hundred times, and never the same position: each brings a point or none."""

    name = "wide"
    rules = Rules(current_player, legal_moves, play, is_terminal, returns, pack=pack)
    num_players, rewards, max_moves, max_plies, player_names = 1, True, 4, 200, ("you",)

    def initial_state(self) -> State:
        return np.array([0, 1, 0], dtype=np.int64)


@pytest.mark.slow
def test_a_full_table_is_searched_further() -> None:
    game = Wide()
    work, means = learnt(game, 400)
    assert MOST_POSITIONS * 0.9 < work.experience.counts[POSITIONS] <= MOST_POSITIONS
    assert len(means) == 4
    assert all(90.0 < mean <= 200.0 for mean in means)


class Forgetful(Worker):
    """Loses the trees of its lanes before each job, as a process does that takes another's place."""

    def run(self, context: Context, job: Job) -> JobResult:
        self._search_id = None
        return super().run(context, job)


@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="too many simulations for plain Python"
)
def test_a_lane_that_is_grown_again_learns_the_same() -> None:
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    spec = "gym:FrozenLake-v1(is_slippery=True):steps=30"
    request = SearchRequest(spec, strategy="root", lanes=2, simulations=120_000, playout_policy="learnt")
    digests = set()
    for make_worker in (Worker, Forgetful):
        search, executor = open_search(request), InlineExecutor(make_worker)
        assert search.plan.rounds > 1
        executor.open(search.context)
        digests.add(Session(Coordinator(search, 1), executor).run().digest)
    assert len(digests) == 1
