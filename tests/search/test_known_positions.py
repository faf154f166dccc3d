"""Leaf parallelisation without the rules: the leaves are those that the rules would select."""

from __future__ import annotations

import math
import pickle
import time
from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import games
from games.compile.specialise import is_compiled
from games.rng import GOLDEN, mix, new_stream
from search.job import Job, JobResult, LeafJob
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
from tests.search.common import undisturbed
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


def run(strategy: LeafStrategy, worker: Worker, without_positions: bool = False) -> list[tuple[Any, ...]]:
    """Run all jobs of a strategy; returns the paths that they contain."""
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
        strategy.absorb(job, replace(result, positions=None) if without_positions else result)
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
    assert run(without, worker, without_positions=True) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known, "MOST_BYTES", 0)
        patch.setattr(known, "FIRST_ENTRIES", 32)
        _, forgetful = strategies(request)
        assert run(forgetful, worker) == expected
        assert forgetful.selection.asked > 0


def test_a_position_is_found_by_its_moves() -> None:
    """Against a dictionary, with moves and lists of moves at random, and room that grows."""
    draw = np.random.default_rng(7)
    kept = known.new_known(2, 2)
    said: dict[tuple[int, ...], tuple[int, float, list[int]]] = {}
    for _ in range(3_000 if JIT else 300):
        path = list(said)[draw.integers(len(said))] if said else ()
        if said and said[path][2]:
            path = (*path, int(draw.choice(said[path][2])))
        legal = draw.choice(65_535, size=draw.integers(1 if not said else 0, 9), replace=False).astype(
            np.uint16
        )
        mover, score = int(draw.integers(0, 4)), float(draw.normal())
        said.setdefault(path, (mover, score, legal.tolist()))
        kept = known.with_room(kept, 1, len(legal))
        moves, counts = np.array([path], dtype=np.uint16), np.array([len(legal)], dtype=np.int32)
        depths = np.array([len(path)], dtype=np.int32)
        known.remember(
            kept, moves, depths, np.array([mover], dtype=np.uint8), np.array([score]), counts, legal
        )
    assert int(kept.counts[known.ENTRIES]) == len(said)
    places = {(): 0}
    for path, (mover, score, legal_moves) in said.items():
        if path:
            before = places[path[:-1]]
            place = kept.first_legal[before] + said[path[:-1]][2].index(path[-1])
            places[path] = int(kept.after[place])
        entry = places[path]
        first = int(kept.first_legal[entry])
        assert (kept.movers[entry], kept.scores[entry]) == (mover, score)
        assert kept.legal[first : first + int(kept.num_legal[entry])].tolist() == legal_moves


def test_a_position_whose_parent_is_not_known_is_left_out() -> None:
    kept = known.new_known()
    deep = np.array([[3, 4]], dtype=np.uint16), np.array([2], dtype=np.int32)
    nothing = (
        np.zeros(1, dtype=np.uint8),
        np.zeros(1),
        np.zeros(1, dtype=np.int32),
        np.zeros(0, dtype=np.uint16),
    )
    known.remember(kept, *deep, *nothing)
    known.remember(kept, deep[0], np.zeros(1, dtype=np.int32), *nothing)
    known.remember(kept, *deep, *nothing)
    assert int(kept.counts[known.ENTRIES]) == 1


@pytest.mark.parametrize("solver", [False, True])
def test_jobs_in_any_order_lost_and_repeated_change_nothing(solver: bool, plain_game: str) -> None:
    asked: dict[str, Any] = {"lanes": 16, "simulations": SIMULATIONS, "solver": solver, "seed": 6}
    undisturbed(SearchRequest(plain_game, strategy="leaf", **asked), workers=5)


def test_jobs_and_results_are_the_same_after_a_journey(plain_game: str) -> None:
    request = SearchRequest(plain_game, strategy="leaf", lanes=1, simulations=30, batch=3)
    search = open_search(request)
    job = search.strategy.next_job(3)
    sent: Any = pickle.loads(pickle.dumps(job))
    assert_equal(sent, job, ("index", "moves", "depths", "visits", "draws", "simulations"))
    result = Worker().run(search.context, sent)
    back: JobResult = pickle.loads(pickle.dumps(result))
    assert_equal(back, result, ("index", "simulations", "sums", "playouts", "duration_s", "tree_full"))
    assert_equal(back.positions, result.positions, ("movers", "scores", "counts", "moves"))
    assert len(pickle.dumps(job)) < 250
    grown = open_search(SearchRequest("tictactoe", strategy="root", lanes=1, simulations=10))
    kept = Worker().run(grown.context, grown.strategy.next_job(10))
    assert pickle.loads(pickle.dumps(kept)).added.visits.tolist() == kept.added.visits.tolist()  # type: ignore[union-attr]


def assert_equal(one: Any, other: Any, names: tuple[str, ...]) -> None:
    for name in names:
        mine, its = getattr(one, name), getattr(other, name)
        assert np.array_equal(mine, its), name
        assert not isinstance(mine, np.ndarray) or (mine.dtype, mine.shape) == (its.dtype, its.shape), name


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
