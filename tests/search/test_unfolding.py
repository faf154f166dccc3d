"""A tree that unfolds as it is searched is the tree that was unfolded before; what each lane tries of it."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import games
from games.compile.specialise import callable_from_python
from games.game import State
from games.rng import new_stream
from search.features import Features
from search.kernel.engine import Engine, engine_of
from search.kernel.lazy_snapshot import base_of, begin_tree
from search.kernel.lazy_snapshot import visits_before as compiled_visits_before
from search.kernel.params import SearchParams
from search.prepare import open_search
from search.request import SearchRequest
from search.summary import digest, digest_of
from search.tree.arena import FULL, NODES, ROOT, Tree, children_of, new_tree
from search.tree.merge import Statistics, increments, lone_root, snapshot
from search.worker import Worker
from tests.games.common import JIT
from tests.search.common import KNOBS, grow, position, unfold_all
from tests.search.hidden_nim import HiddenNim

EXAMPLES = settings(max_examples=30 if JIT else 10)
SIZES = st.integers(1, 600 if JIT else 120)
ALL_ROWS = 10**6


def lane(
    engine: Engine,
    root_state: State,
    statistics: Statistics,
    params: SearchParams,
    *,
    simulations: int,
    folded: bool = True,
    slots: int = 100_000,
) -> tuple[Tree, Statistics]:
    """The tree of a lane that starts from the snapshot, and its increments."""
    base = base_of(statistics)
    tree = engine.new_tree(slots)
    if folded:
        begin_tree(tree, base, params)
    else:
        unfold_all(tree, base, params)
    work = engine.new_workspace()._replace(base=base)
    stream = new_stream(9)
    engine.simulate(tree, params, root_state, simulations, stream, work)
    return tree, increments(tree, base.statistics, 2, ALL_ROWS, base.first_children)[0]


def columns(statistics: Statistics) -> list[list[float]]:
    return [column.tolist() for column in statistics]


@given(
    st.sampled_from(["tictactoe", "gomoku:size=5"]),
    st.integers(0, 10_000),
    SIZES,
    SIZES,
    st.integers(0, 15),
    st.booleans(),
    st.sampled_from([0, 15]),
)
@EXAMPLES
def test_increments_are_those_of_a_tree_that_was_unfolded_before(
    spec: str, seed: int, before: int, more: int, share: int, solver: bool, anticipated: int
) -> None:
    game = games.load(spec)
    params = KNOBS._replace(solver=solver)
    statistics, _ = snapshot(grow(spec, before, seed, params=params), 2, ALL_ROWS)
    params = params._replace(anticipated=anticipated, share=share, num_shares=anticipated + 1)
    given = (engine_of(game), position(game), statistics, params)
    folded, added = lane(*given, simulations=more)
    whole, expected = lane(*given, simulations=more, folded=False)
    assert columns(added) == columns(expected)
    assert folded.counts[NODES] <= whole.counts[NODES]


@pytest.mark.parametrize("anticipated", [0, 15])
def test_so_it_is_where_something_is_hidden(anticipated: int) -> None:
    game = HiddenNim()
    view = game.observation(game.initial_state(), 0)
    engine = engine_of(game, Features(hidden=True))
    _, statistics = lane(engine, view, engine.lone_root(), KNOBS, simulations=400)
    params = KNOBS._replace(anticipated=anticipated, share=5, num_shares=anticipated + 1)
    _, added = lane(engine, view, statistics, params, simulations=300)
    _, expected = lane(engine, view, statistics, params, simulations=300, folded=False)
    assert added.available.sum() > 0
    assert columns(added) == columns(expected)


def test_a_job_holds_what_it_visits() -> None:
    """Beside nodes on its way: their siblings."""
    game = games.load("gomoku:size=5")
    statistics, _ = snapshot(grow("gomoku:size=5", 20_000 if JIT else 2000, 1), 2, ALL_ROWS)
    tree, _ = lane(engine_of(game), position(game), statistics, KNOBS, simulations=3)
    assert tree.counts[NODES] < 3 * 25 * 25 < len(statistics.visits)


def test_read_only_snapshots_are_copied_and_others_are_not() -> None:
    """As they come out of an object store."""
    statistics, _ = snapshot(grow("tictactoe", 100, 1), 2, ALL_ROWS)
    assert base_of(statistics).statistics.visits is statistics.visits
    for column in statistics:
        column.flags.writeable = False
    base = base_of(statistics)
    begin_tree(new_tree(100), base, KNOBS)
    assert all(column.flags.writeable for column in base.statistics)
    assert columns(base.statistics) == columns(statistics)


@pytest.mark.skipif(not JIT, reason="too many simulations for plain Python")
def test_with_a_full_arena_jobs_add_the_same_whatever_ran_before() -> None:
    request = SearchRequest("gomoku", strategy="tree", lanes=4, rounds=4, simulations=3_200_000, memory_mb=1)
    search = open_search(request)
    used, fold, full = Worker(), search.strategy, 0
    for index in range(search.plan.jobs):
        job = fold.next_job(search.plan.size(index))
        result, fresh = used.run(search.context, job), Worker().run(search.context, job)
        assert result.added is not None
        assert fresh.added is not None
        assert columns(result.added) == columns(fresh.added)
        assert (result.added.visits > 0).all()
        assert (np.abs(result.added.total_value) <= result.added.visits).all()
        full += result.tree_full
        if fold.absorb(job, result):
            fold.end_round()
    assert full > 2


@pytest.mark.parametrize("rows", range(2, 120))
def test_twice_as_many_slots_as_rows_hold_any_snapshot(rows: int) -> None:
    draw = random.Random(rows)
    num_children = np.zeros(rows, dtype=np.uint16)
    for child in range(1, rows):
        num_children[draw.randrange(0, child)] += 1
    # Breadth first: a row's parent comes before it.
    first = np.cumsum(np.concatenate([[1], num_children[:-1]]))
    if not (first[num_children > 0] > np.flatnonzero(num_children)).all():
        num_children[:] = 0
        num_children[: rows - 1] = 1
    statistics = lone_root()._replace(
        move=np.arange(rows, dtype=np.uint16),
        visits=np.ones(rows, dtype=np.int32),
        total_value=np.zeros(rows),
        num_children=num_children,
        marks=np.zeros(rows, dtype=np.uint8),
    )
    tree = new_tree(2 * rows)
    unfold_all(tree, base_of(statistics), KNOBS)
    assert tree.counts[NODES] == rows
    assert tree.counts[FULL] == 0
    assert digest(tree) == digest_of(statistics)


visits_before = callable_from_python(compiled_visits_before)


def lane_params(lane: int, lanes: int) -> SearchParams:
    return KNOBS._replace(anticipated=lanes - 1, share=lane, num_shares=lanes)


def tried(tree: Tree) -> list[int]:
    return [int(tree.move[child]) for child in children_of(tree, ROOT)]


@pytest.mark.parametrize("lanes", [2, 7, 25])
@pytest.mark.parametrize("simulations", [0, 5])
def test_lanes_with_hidden_information_try_different_moves(lanes: int, simulations: int) -> None:
    """Each lane draws from its own part of the moves that the node of a snapshot has left."""
    game = games.load("battleship")
    view = game.observation(game.initial_state(), 0)
    engine = engine_of(game, Features(hidden=True))
    tree, work = engine.new_tree(1000), engine.new_workspace()
    engine.simulate(tree, KNOBS, view, simulations, new_stream(1), work)
    known = snapshot(tree, 2, 1000)[0]
    assert known.num_children[0] == simulations
    base, tries = base_of(known), []
    for lane in range(lanes):
        params = lane_params(lane, lanes)
        begin_tree(tree, base, params)
        engine.simulate(tree, params, view, 1, new_stream(lane), work._replace(base=base))
        tries += tried(tree)[simulations:]
    assert len(set(tries)) == len(tries) == lanes
    assert not set(tries) & set(known.move[1:].tolist())


@pytest.mark.parametrize("lanes", [2, 16, 37])
@pytest.mark.parametrize("row", [0, 1, 77, 123_456])
def test_each_lane_has_a_visit_of_its_own(lanes: int, row: int) -> None:
    before = [visits_before(lane_params(lane, lanes), row) for lane in range(lanes)]
    assert sorted(before) == list(range(lanes))
    assert visits_before(KNOBS, row) == 0
    twice = [
        visits_before(lane_params(k, lanes)._replace(anticipated=2 * lanes - 2), row) for k in range(lanes)
    ]
    assert twice == [2 * visits for visits in before]
