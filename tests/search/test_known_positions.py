"""Leaf parallelisation without the rules: the leaves are those that the rules would select."""

from __future__ import annotations

import math
import pickle
import random
import time
from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import games
from games.compile.specialise import is_compiled
from games.rng import GOLDEN, mix, new_stream
from search.job import Job, LeafJob
from search.kernel import known
from search.kernel.engine import engine_of
from search.kernel.params import params_of
from search.prepare import open_search
from search.request import SearchRequest
from search.strategies import LeafStrategy, Setup
from search.strategies.selection import Selection
from search.summary import digest
from search.worker import Worker
from tests.games.common import JIT
from tests.games.own_game import write_waiting
from tests.search.forms import problem

SIMULATIONS = 600 if JIT else 200
KINDS: dict[str, dict[str, Any]] = {
    "one leaf in flight": {"lanes": 1},
    "many in flight": {"lanes": 64},
    "batches of playouts": {"lanes": 4, "batch": 3, "playouts_per_leaf": 2},
    "solver": {"lanes": 16, "solver": True, "moves": tuple("dcdcd")},
    "virtual loss": {"lanes": 16, "in_flight": "virtual-loss"},
    "first-play urgency": {"lanes": 16, "first_play_urgency": 0.4},
    "playouts cut short": {"lanes": 16, "playout_plies": 6},
    "little memory": {"lanes": 16, "memory_mb": 1},
    **{
        form: {"lanes": 16, "game": problem(form, 3, plain=True), "simulations": 150}
        for form in ("one player", "discount", "rewards of two", "three", "five at the end")
    },
}


@pytest.fixture(scope="module")
def plain_game(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Connect Four in plain Python, without its wait."""
    return write_waiting(tmp_path_factory.mktemp("game")) + ":wait_ms=0"


def strategies(request: SearchRequest) -> tuple[LeafStrategy, LeafStrategy]:
    """Two strategies of a search: one that selects with the rules, and one without."""
    search = open_search(request)
    context, tree = search.context, search.strategy.tree
    engine = engine_of(search.game, context.features)
    assert engine.asks_workers
    legal = len(search.game.legal_moves(search.root_state))
    mover = int(search.game.calls.current_player(search.root_state))
    setup = Setup(context, engine, params_of(context), search.plan, tree, mover, legal)
    other = replace(setup, tree=engine.new_tree(len(tree.visits)))
    return LeafStrategy(setup, Selection(setup, False)), LeafStrategy(other, Selection(other, True))


def run(strategy: LeafStrategy, worker: Worker, losing: random.Random | None = None) -> list[tuple[Any, ...]]:
    """Run all jobs of a strategy; returns the paths that they contain. ``losing``: half of the positions."""
    jobs: deque[Job] = deque()
    paths: list[tuple[Any, ...]] = []
    total = strategy.context.request.simulations or 0
    size = -(-total // -(-total // (strategy.context.request.batch or 1)))
    made = 0
    while made < total or jobs:
        while made < total and strategy.ready:
            job = strategy.next_job(min(size, total - made))
            made += job.simulations
            jobs.append(job)
        job = jobs.popleft()
        assert isinstance(job, LeafJob)
        paths.append((job.moves.tolist(), job.depths.tolist(), job.visits.tolist()))
        result = worker.run(strategy.context, job)
        assert result.positions is not None
        lost = losing is not None and losing.random() < 0.5
        strategy.absorb(job, replace(result, positions=None) if lost else result)
    return paths


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_the_same_leaves_are_selected_without_the_rules(kind: dict[str, Any], plain_game: str) -> None:
    common = {"game": plain_game, "strategy": "leaf", "simulations": SIMULATIONS, "batch": 1, "seed": 4}
    request = SearchRequest(**{**common, **kind})
    with_rules, without = strategies(request)
    worker = Worker()
    assert run(with_rules, worker) == run(without, worker)
    assert digest(with_rules.tree) == digest(without.tree)
    assert int(without.tree.visits[0]) == request.simulations


def test_with_one_leaf_in_flight_the_rules_are_asked_about_the_root_alone(plain_game: str) -> None:
    _, without = strategies(
        SearchRequest(plain_game, strategy="leaf", lanes=1, simulations=SIMULATIONS, batch=1)
    )
    run(without, Worker())
    assert without.selection.asked == 1


def test_what_workers_say_of_positions_is_a_cache(plain_game: str) -> None:
    """Neither results without positions nor positions that are forgotten change what is selected."""
    request = SearchRequest(plain_game, strategy="leaf", lanes=16, simulations=SIMULATIONS, batch=1, seed=2)
    with_rules, without = strategies(request)
    worker = Worker()
    expected = run(with_rules, worker)
    assert run(without, worker, random.Random(1)) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known, "MOST_BYTES", 0)
        patch.setattr(known, "FIRST_ENTRIES", 32)
        _, forgetful = strategies(request)
        assert run(forgetful, worker) == expected
        assert forgetful.selection.asked > 0


def test_a_job_travels_in_few_bytes(plain_game: str) -> None:
    search = open_search(SearchRequest(plain_game, strategy="leaf", lanes=1, simulations=30, batch=3))
    assert len(pickle.dumps(search.strategy.next_job(3))) < 250


def test_only_games_in_plain_python_ask_their_workers(plain_game: str) -> None:
    game = games.load(plain_game)
    assert engine_of(game).asks_workers
    compiled = games.load("tictactoe")
    assert engine_of(compiled).asks_workers is not is_compiled(compiled.rules)
    hidden = open_search(SearchRequest("battleship", strategy="leaf", lanes=2, simulations=10))
    assert not engine_of(hidden.game, hidden.context.features).asks_workers


@pytest.mark.skipif(not JIT, reason="a bound of the time of compiled code")
def test_selecting_a_leaf_takes_less_than_half_the_time_that_the_rules_take(plain_game: str) -> None:
    """The coordinator's CPU time, without jobs; the least of a few repeats, since other programs disturb."""
    request = SearchRequest(plain_game, strategy="leaf", lanes=8, simulations=SIMULATIONS, batch=1)
    times = [[own_s(strategy) for strategy in strategies(request)] for _ in range(3)]
    with_rules_s, without_s = (min(column) for column in zip(*times, strict=True))
    assert without_s < with_rules_s / 2
    assert math.isfinite(without_s)


def own_s(strategy: LeafStrategy) -> float:
    """CPU seconds of this thread in the strategy, for a whole search."""
    worker, spent_s = Worker(), 0.0
    jobs: deque[Job] = deque()
    for _ in range(SIMULATIONS):
        began_s = time.thread_time()
        while strategy.ready and strategy.issued < SIMULATIONS:
            jobs.append(strategy.next_job(1))
        spent_s += time.thread_time() - began_s
        job = jobs.popleft()
        result = worker.run(strategy.context, job)
        began_s = time.thread_time()
        strategy.absorb(job, result)
        spent_s += time.thread_time() - began_s
    return spent_s


def test_streams_made_of_python_integers_are_those_of_the_kernels() -> None:
    for number in (0, 1, -1, 2**63, 2**64 - 1):
        state = mix(GOLDEN ^ np.uint64(number & (2**64 - 1))) + GOLDEN
        expected = [int(mix(state)), int(mix(state + GOLDEN)) | 1]
        assert new_stream(number).tolist() == expected
