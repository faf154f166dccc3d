"""Portions: how a round of `tree` is cut, what a lane makes of its part, what a checkpoint keeps of it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import games
from cluster.runtime.session import session_on
from cluster.workers.threads import ThreadsExecutor
from games.rng import new_stream
from search.coordinator import Coordinator
from search.job import ROUND_STREAM, LaneJob, Portions, Snapshot, empty_portions
from search.kernel.engine import Engine, engine_of
from search.kernel.lazy_snapshot import base_of, begin_tree
from search.kernel.params import SearchParams
from search.kernel.portions import MADE
from search.kernel.workspace import Workspace
from search.packing.arrays import CorruptState
from search.prepare import open_search
from search.request import SearchRequest
from search.run_inline import run
from search.strategies import TreeStrategy
from search.strategies.rounds import batch_of, scratch_of
from search.strategies.tree import (
    MOST_PLANNED,
    PARTS,
    QUANTA,
    pack_portions,
    resized,
    unpack_portions,
)
from search.summary import digest
from search.tree.arena import ROOT, Tree, children_of
from search.tree.merge import snapshot
from search.worker import Worker
from tests.cluster.searches import nothing_in_flight
from tests.games.common import JIT
from tests.search.common import KNOBS, assert_visits_add_up, grow, nodes_of
from tests.search.forms import COMPILED, problem

GROWN = 4000 if JIT else 600
RATE = 1e4 if JIT else 1e3
"""Simulations a second."""
GAMES = ["tictactoe", "gomoku:size=5", *(problem(form, 3) for form in COMPILED)]


def planned(
    spec: str, lanes: int, size: int, rounds: int = 3, **asked: Any
) -> tuple[TreeStrategy, list[LaneJob]]:
    """A search after ``rounds`` rounds, and the jobs of the next one."""
    request = SearchRequest(
        spec,
        strategy="tree",
        lanes=lanes,
        rounds=rounds + 1,
        simulations=lanes * size * (rounds + 1),
        **asked,
    )
    opened = open_search(request)
    strategy, worker = opened.strategy, Worker()
    assert isinstance(strategy, TreeStrategy)
    for _ in range(rounds * lanes):
        job = strategy.next_job(size)
        if strategy.absorb(job, worker.run(opened.context, job)):
            strategy.end_round()
    jobs = [strategy.next_job(size) for _ in range(lanes)]
    assert all(isinstance(job, LaneJob) for job in jobs)
    return strategy, jobs  # type: ignore[return-value]


def portions_of(job: LaneJob) -> Portions:
    assert job.portions is not None
    return job.portions


def grow_portion(
    engine: Engine, tree: Tree, params: SearchParams, moves: list[int], visits: int, work: Workspace
) -> int:
    """Grow the subtree to which the moves lead; returns how many simulations were made."""
    context = open_search(SearchRequest(engine.game.spec, strategy="tree", lanes=2, simulations=1000)).context
    portions = Portions(
        np.array([visits], dtype=np.int64),
        np.array([len(moves)], dtype=np.int32),
        np.array([moves or [0]], dtype=np.uint16),
    )
    job = LaneJob(0, 0, 0, visits, Snapshot(0, engine.lone_root()), portions)
    batch = batch_of(context, [job], engine)
    with np.errstate(over="ignore"):
        engine.grow_portions(
            tree, params, context.root_state.copy(), batch, work, *scratch_of(context, engine)
        )
    return int(batch.results[0, MADE])


def end_of(tree: Tree, moves: list[int]) -> int:
    """The node to which the moves lead; they must lead to one."""
    node = ROOT
    for move in moves:
        (node,) = [child for child in children_of(tree, node) if tree.move[child] == move]
    return node


@pytest.mark.parametrize("spec", GAMES)
@pytest.mark.parametrize("lanes", [2, 5, 16])
def test_each_lane_gets_its_simulations_in_subtrees_that_hardly_overlap(spec: str, lanes: int) -> None:
    size = 60
    if games.load(spec).hidden_information:
        pytest.skip("without positions to hand out, all lanes grow the whole tree")
    strategy, jobs = planned(spec, lanes, size)
    tree, whose = strategy.tree, dict[tuple[int, ...], set[int]]()
    for job in jobs:
        portions = portions_of(job)
        assert portions.visits.sum() == size
        assert portions.visits.min() > 0
        for moves, depth in zip(portions.moves.tolist(), portions.depths.tolist(), strict=True):
            end_of(tree, moves[:depth])
            whose.setdefault(tuple(moves[:depth]), set()).add(job.lane)
    # What is planned leaves no trace.
    assert_visits_add_up(nodes_of(tree))
    # Consecutive lanes share at most the portion between them, unless it is larger than one of them can take.
    for path, sharers in whose.items():
        assert sharers == set(range(min(sharers), max(sharers) + 1)), path


def test_a_young_subtree_is_not_cut() -> None:
    """In the first round nothing is known, so all lanes grow the whole tree; later ones cut it."""
    _, first = planned("gomoku:size=5", 4, 100, rounds=0)
    assert [portions_of(job).depths.tolist() for job in first] == [[0]] * 4
    strategy, later = planned("gomoku:size=5", 4, 100, rounds=8)
    depths = [depth for job in later for depth in portions_of(job).depths.tolist()]
    assert min(depths) >= 1
    for job in later:
        portions = portions_of(job)
        rows = zip(portions.visits.tolist(), portions.depths.tolist(), portions.moves.tolist(), strict=True)
        for visits, depth, moves in rows:
            # Larger than a part of a lane's visits only where it is young or cannot be cut.
            node = end_of(strategy.tree, moves[:depth])
            young = strategy.tree.visits[node] < visits + 100
            assert visits <= 100 // PARTS or young or not children_of(strategy.tree, node)


def test_what_is_planned_goes_where_a_search_would_go() -> None:
    """Visits planned with one visit at a time, on a tree that is large beside them, are those of UCT."""
    game = games.load("tictactoe")
    engine = engine_of(game)
    tree = grow("tictactoe", GROWN)
    visits = [int(tree.visits[child]) for child in children_of(tree, ROOT)]
    root, work = game.initial_state(), engine.new_workspace()
    engine.plan_visits(tree, KNOBS, root, GROWN, 1, work, new_stream(1))
    got = [int(tree.unobserved[child]) for child in children_of(tree, ROOT)]
    assert sum(got) == tree.unobserved[ROOT] == GROWN
    # With these values for ever, the best child gets a larger share than so far, and no other starves.
    assert np.argmax(got) == np.argmax(visits)
    assert max(got) > max(visits)
    assert min(got) > 0


@pytest.mark.parametrize("spec", GAMES)
@pytest.mark.parametrize("solver", [False, True])
def test_the_whole_tree_as_a_portion_is_a_sequential_search(spec: str, solver: bool) -> None:
    game = games.load(spec)
    if solver and not game.is_two_player:
        pytest.skip("nothing is proven beyond two players")
    engine, params = engine_of(game), KNOBS._replace(solver=solver)
    grown = []
    for by_portions in (False, True):
        tree, work, root = engine.new_tree(20_000), engine.new_workspace(), game.initial_state()
        begin_tree(tree, work.base, params)
        if by_portions:
            done = grow_portion(engine, tree, params, [], 500, work)
        else:
            stream = new_stream(SearchRequest(spec).seed, ROUND_STREAM, 0, 0)
            done = engine.simulate(tree, params, root, 500, stream, work)
        grown.append((done, nodes_of(tree)))
    assert grown[0] == grown[1]


@pytest.mark.parametrize("spec", GAMES)
def test_a_portion_adds_its_visits_to_its_path_and_below(spec: str) -> None:
    """A lane that grows one subtree changes nothing beside it, and adds as much at every node of the path."""
    game = games.load(spec)
    engine = engine_of(game)
    grown = grow(spec, 800)
    base = base_of(snapshot(grown, 2, 100_000)[0])
    best = max(children_of(grown, ROOT), key=lambda child: int(grown.visits[child]))
    path = [int(grown.move[best])]
    if children := [child for child in children_of(grown, best) if grown.visits[child] > 5]:
        path.append(int(grown.move[children[0]]))
    tree = engine.new_tree(50_000)
    work = engine.new_workspace()._replace(base=base)
    assert grow_portion(engine, tree, KNOBS, path, 90, work) == 90
    node, before = ROOT, ROOT
    for move in path:
        assert tree.visits[node] == grown.visits[before] + 90
        for child in children_of(tree, node):
            if tree.move[child] != move:
                old = [c for c in children_of(grown, before) if grown.move[c] == tree.move[child]]
                assert [int(tree.visits[child])] == [int(grown.visits[c]) for c in old]
        node = end_of(tree, [move]) if node == ROOT else end_of(tree, path)
        before = end_of(grown, [move]) if before == ROOT else end_of(grown, path)
    assert tree.visits[node] == grown.visits[before] + 90


@given(st.lists(st.integers(1, 50), min_size=1, max_size=9), st.integers(1, 400))
@settings(deadline=None)
def test_portions_keep_their_proportions(visits: list[int], simulations: int) -> None:
    rows = len(visits)
    portions = empty_portions(rows, 2)._replace(visits=np.array(visits, dtype=np.int64))
    portions.moves[:, 0] = np.arange(rows)
    scaled = resized(portions, simulations)
    assert scaled.visits.sum() == simulations
    assert scaled.visits.min() > 0
    by_move = dict(zip(scaled.moves[:, 0].tolist(), scaled.visits.tolist(), strict=True))
    for row, count in enumerate(visits):
        assert by_move.get(row, 0) == pytest.approx(count * simulations / sum(visits), abs=1.0)


def test_a_round_of_billions_is_planned_in_proportion() -> None:
    """Nodes count visits in flight in 32 bits, and a round may have more of them."""
    strategy, _ = planned("gomoku:size=5", 4, 100)
    assert strategy.planner is not None
    sizes = np.array([2**31, 2**31, 2**30, 3], dtype=np.int64)
    lanes = strategy.planner.plan(sizes, 0)
    assert_visits_add_up(nodes_of(strategy.tree))
    assert 0 < sum(int(lane.visits.sum()) for lane in lanes) <= MOST_PLANNED + len(sizes)
    assert lanes[0].visits.sum() == pytest.approx(2 * lanes[2].visits.sum(), abs=1)
    for lane, size in zip(lanes, sizes.tolist(), strict=True):
        assert resized(lane, size).visits.sum() == size


def test_portions_are_kept_and_checked() -> None:
    strategy, jobs = planned("gomoku:size=5", 4, 100)
    lanes, plies = [portions_of(job) for job in jobs], games.load("gomoku:size=5").max_plies + 1
    arrays = pack_portions(lanes)
    again = unpack_portions(arrays, 4, plies, strategy.tree)
    for one, other in zip(lanes, again, strict=True):
        assert all((a == b).all() for a, b in zip(one, other, strict=True))
    for name, value in [("visits", 0), ("depths", 10**6), ("depths", -1), ("counts", 0), ("moves", 9999)]:
        broken = {key: column.copy() for key, column in arrays.items()}
        broken[name][0] = value
        with pytest.raises(CorruptState):
            unpack_portions(broken, 4, plies, strategy.tree)
    with pytest.raises(CorruptState, match="not those of all lanes"):
        unpack_portions(arrays, 5, plies, strategy.tree)


@pytest.mark.slow
def test_a_lane_plans_with_few_selections() -> None:
    _, jobs = planned("gomoku:size=5", 8, 80, rounds=6)
    assert all(len(portions_of(job).visits) <= QUANTA + 2 for job in jobs)
    lanes = [job.lane for job in jobs]
    assert all(after == before + 1 for before, after in pairwise(lanes))


@pytest.mark.skipif(not JIT, reason="threads need compiled rules")
@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        ("connect_four", {"solver": True}),
        ("gomoku:size=9", {"rounds": 5}),
        ("gomoku:size=5", {"first_play_urgency": 1.0}),
        # The last one has no child for several rounds.
        ("gomoku:size=5", {"avoid": "e5", "least_visits": "a1=5000 c3=2000 b2=10"}),
        ("morris:variant=six", {}),
        # Beyond two players, lanes keep what belongs to a job.
        *((problem(form, 3), {}) for form in COMPILED),
    ],
)
def test_threads_that_share_a_round_find_what_lanes_find(spec: str, asked: dict[str, Any]) -> None:
    request = SearchRequest(spec, strategy="tree", lanes=5, simulations=20_011, seed=3, **asked)
    expected = run(request)
    for threads in (2, 5):
        executor = ThreadsExecutor(threads)
        try:
            found = session_on(executor, open_search(request), threads).run()
        finally:
            executor.close()
        assert (found.digest, found.jobs, found.playouts) == (
            expected.digest,
            expected.jobs,
            expected.playouts,
        )


def driven(shared: bool, restored_after: int | None = None) -> str:
    """The digest after six rounds of a search by a clock that stands still, whose rounds are jobs of threads
    or of lanes; after so many results it goes on in another coordinator."""
    request = SearchRequest("connect_four", lanes=3, seconds=60.0, seed=3)

    def opened() -> Coordinator:
        coordinator = Coordinator(open_search(request), 2)
        coordinator._rate = RATE
        return coordinator

    coordinator, worker, results = opened(), Worker(), 0
    coordinator.work_in_place(2 * shared, nothing_in_flight)
    waiting, context = coordinator.start(), coordinator.search.context
    while coordinator.search.strategy.absorbed < 18:
        whole = worker.together(context, [*waiting], 2, sent=False) if shared else None
        if whole is None:
            done = worker.run(context, waiting.pop(0))
        else:
            waiting.clear()
            for part in whole.parts():
                part()
            done = whole.outcome()
        waiting += coordinator.job_done(replace(done, duration_s=done.simulations / RATE))
        results += 1
        if results == restored_after:
            state = {name: array.copy() for name, array in coordinator.state().items()}
            coordinator = opened()
            coordinator.restore(state)
            coordinator.work_in_place(2 * shared, nothing_in_flight)
            waiting = coordinator.start()
    return digest(coordinator.search.strategy.tree)


def test_rounds_of_threads_are_kept_as_those_of_lanes() -> None:
    expected = driven(shared=False)
    assert driven(shared=False, restored_after=13) == expected
    if JIT:
        assert driven(shared=True) == driven(shared=True, restored_after=3) == expected
