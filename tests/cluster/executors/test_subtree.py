"""Strategy subtree: one tree for any number of threads, in which every visit is where its simulation went."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import banyan
import numpy as np
import pytest

import search
from cluster.executors.threads import ThreadsExecutor
from games.errors import InvalidInput
from search.coordinator import Coordinator
from search.kernel.subtrees import SIMULATIONS
from search.kernel.turns import NEXT
from search.packing.arrays import CorruptState
from search.prepare import check_request, open_search
from search.request import SearchRequest
from search.result import SearchResult
from search.strategies.subtree import GrowingTree, SubtreeStrategy, new_jobs
from search.tree.arena import ROOT, UNPROVEN
from tests.cluster.command import Here
from tests.cluster.searches import compiled_only, nothing_in_flight, search_on
from tests.games.common import best_value
from tests.search.common import nodes_of, position
from tests.search.naive import Node
from tests.search.test_solver import GAME, check_proofs

pytestmark = compiled_only
GAMES = ("gomoku:size=9", "connect_four", "morris:variant=six", "tictactoe", "thud")


def request(game: str, lanes: int, **others: Any) -> SearchRequest:
    return SearchRequest(game, strategy="subtree", lanes=lanes, **{"simulations": 20_000, "seed": 3} | others)


def searched(executor: ThreadsExecutor, asked: SearchRequest) -> tuple[SearchResult, Coordinator]:
    result, session = search_on(executor, asked)
    return result, session.coordinator


def check_sums(node: Node) -> None:
    """No visit is in flight, and each node has those of its children and its own first one, no more."""
    assert node.unobserved == 0
    if node.children:
        below = sum(child.visits for child in node.children)
        assert node.visits - 1 <= below <= node.visits
        assert abs(node.total_value - sum(child.total_value for child in node.children)) <= 1
        assert len({child.move for child in node.children}) == len(node.children)
    for child in node.children:
        assert child.visits > 0
        check_sums(child)


@pytest.mark.parametrize("game", GAMES)
def test_any_number_of_threads_grows_the_same_tree(game: str) -> None:
    for lanes in (1, 3, 16):
        asked = request(game, lanes, simulations=2_000 if game == "thud" else 20_000)
        alone = search.run(asked)
        for number in (1, 2, 5):
            with closing(ThreadsExecutor(number)) as executor:
                result, coordinator = searched(executor, asked)
            assert (result.digest, result.simulations) == (alone.digest, asked.simulations), (lanes, number)
            assert coordinator.search.strategy.tree.visits[ROOT] == asked.simulations


def test_the_digest_is_the_same_on_any_machine() -> None:
    asked = SearchRequest(
        "gomoku:size=9",
        moves=("e5",),
        strategy="subtree",
        lanes=5,
        simulations=3_001,
        seed=7,
        exploration=0.5,
    )
    assert search.run(asked).digest == "e61f6ee2b051c3b218ce5752f4bea3fd8dbf29790e82357fffae9053c71a234f"


@pytest.mark.slow
def test_threads_that_meet_often_grow_the_same_tree() -> None:
    asked = request("gomoku:size=9", 64, simulations=300_000)
    alone = search.run(asked).digest
    with closing(ThreadsExecutor(9)) as executor:
        assert {searched(executor, asked)[0].digest for _ in range(6)} == {alone}


@pytest.mark.parametrize("options", [{}, {"first_play_urgency": 0.4}, {"widening": 3}, {"decisive": True}])
def test_every_visit_is_counted_where_it_went(options: dict[str, Any]) -> None:
    with closing(ThreadsExecutor(3)) as executor:
        _, coordinator = searched(executor, request("gomoku:size=9", 16, **options))
    check_sums(nodes_of(coordinator.search.strategy.tree))


def test_a_lane_alone_chooses_like_a_sequential_search() -> None:
    moves = ("e5", "a1", "d5", "a2", "c5", "a9")
    one = search.run(request("gomoku:size=9", 1, moves=moves, simulations=60_000))
    sequential = search.run(
        SearchRequest("gomoku:size=9", strategy="tree", lanes=1, moves=moves, simulations=60_000)
    )
    assert {one.move, sequential.move} <= {"b5", "f5"}
    assert one.value == pytest.approx(sequential.value, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("line", ["", "a1 b1", "b2 a1", "a1 b2 c3", "b2 a1 a2", "a1 c3 b2"])
def test_what_is_proven_is_right_and_ends_the_search(line: str) -> None:
    asked = request(
        "tictactoe", 8, moves=tuple(line.split()), solver=True, exploration=4.0, simulations=600_000
    )
    with closing(ThreadsExecutor(2)) as executor:
        result, coordinator = searched(executor, asked)
        again, _ = searched(executor, asked)
    root = nodes_of(coordinator.search.strategy.tree)
    assert check_proofs(root, position(GAME, line)) > 50
    assert root.proof != UNPROVEN
    assert result.stopped_by == "proven"
    assert result.simulations == root.visits < 600_000
    value = best_value(GAME, position(GAME, line), {})
    assert result.value == pytest.approx(value * (-1) ** len(line.split()))
    assert again.digest == result.digest


def test_a_search_in_seconds_ends_in_time_with_all_that_was_begun() -> None:
    with closing(ThreadsExecutor(2)) as executor:
        searched(executor, request("gomoku:size=9", 4))
        result, coordinator = searched(executor, request("gomoku:size=9", 4, simulations=None, seconds=0.5))
    assert 0.5 <= result.elapsed_s < 10.0
    assert result.simulations == coordinator.search.strategy.tree.visits[ROOT] > 100
    check_sums(nodes_of(coordinator.search.strategy.tree))


def test_memory_that_is_used_up_ends_the_search_at_the_same_simulation() -> None:
    asked = request("gomoku:size=9", 4, simulations=None, stop_when_full=True, memory_mb=4)
    with closing(ThreadsExecutor(2)) as executor:
        result, coordinator = searched(executor, asked)
    assert result.stopped_by == "memory"
    assert result.tree_full
    check_sums(nodes_of(coordinator.search.strategy.tree))
    nodes = coordinator.tree_nodes
    assert 0.2 * 4 * 2**20 / 24 < nodes < 4 * 2**20 / 24


def test_a_full_tree_is_searched_further() -> None:
    asked = request("gomoku:size=9", 4, simulations=400_000, memory_mb=2)
    with closing(ThreadsExecutor(2)) as executor:
        result, coordinator = searched(executor, asked)
    assert (result.simulations, result.tree_full) == (400_000, True)
    assert result.digest == search.run(asked).digest
    root = nodes_of(coordinator.search.strategy.tree)
    assert root.visits == 400_000


def test_many_lanes_do_not_use_up_the_memory() -> None:
    result = search.run(request("gomoku:size=9", 1_024, simulations=50_000))
    assert not result.tree_full
    assert result.tree_nodes == pytest.approx(50_001, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("memory_mb", [1_000, 8])
def test_a_checkpoint_between_two_stretches_goes_on_to_the_same_end(memory_mb: int) -> None:
    asked = request("gomoku:size=9", 8, simulations=3_000_000, memory_mb=memory_mb)
    whole = Coordinator(open_search(asked), 2)
    whole.share_tree(1, nothing_in_flight)
    states = [whole.state()]
    jobs = whole.start()
    while jobs:
        jobs = whole.job_done(jobs[0].run())  # type: ignore[union-attr]
        states.append(whole.state())
    assert len(states) > 6
    assert whole.counters.tree_full == (memory_mb == 8)
    for state in (states[0], states[3], states[-2]):
        resumed = Coordinator(open_search(asked), 2)
        resumed.restore(state)
        resumed.share_tree(1, nothing_in_flight)
        jobs = resumed.start()
        while jobs:
            jobs = resumed.job_done(jobs[0].run())  # type: ignore[union-attr]
        assert resumed.stopped_by == "simulations"
        assert resumed.result(1.0, "inline").digest == whole.result(1.0, "inline").digest


def test_a_state_with_a_visit_in_flight_is_not_one() -> None:
    coordinator = Coordinator(open_search(request("gomoku:size=9", 2)), 1)
    state = coordinator.state()
    state["tree.unobserved"] = state["tree.unobserved"] + 1
    with pytest.raises(CorruptState):
        Coordinator(open_search(request("gomoku:size=9", 2)), 1).restore(state)


def test_where_it_cannot_run_the_error_says_so(tmp_path: Path) -> None:
    def refused(asked: SearchRequest, **others: Any) -> str:
        with pytest.raises(InvalidInput, match="strategy: 'subtree' is not accepted") as caught:
            check_request(asked, **others)
        return str(caught.value)

    assert "where something is hidden" in refused(request("battleship", 2))
    assert "one player" in refused(request("2048", 2))
    assert "in a service" in refused(request("gomoku", 2), files=False)
    for place in ({"executor": "ray"}, {"address": "127.0.0.1:1"}):
        with pytest.raises(InvalidInput, match="on Ray"):
            banyan.search("gomoku", strategy="subtree", simulations=100, **place)
    with pytest.raises(InvalidInput, match="memory"):
        check_request(request("gomoku", 1_024, simulations=10**6, memory_mb=4))


@pytest.mark.slow
def test_its_throughput_is_measured_beside_searches_that_share_nothing(here: Here) -> None:
    asked = ("speedup", "gomoku:size=9", "--strategies", "subtree", "--simulations", "300000")
    rows = here.json(*asked, "--executor", "threads", "--repeats", "1")
    assert [row["workers"] for row in rows] == [1, 2]
    assert rows[0]["digest"] == rows[1]["digest"]
    assert all(0.02 < row["of_ceiling"] < 30 for row in rows)
    assert "on Ray" in here.refusal(*asked)


def test_what_is_postponed_is_in_no_tree_at_the_end() -> None:
    """Lanes come to taken nodes all the time where one line is much better than the others."""
    opened = open_search(request("gomoku:size=9", 16, simulations=30_000))
    strategy = opened.strategy
    assert isinstance(strategy, SubtreeStrategy)
    shared = GrowingTree(strategy.setup, 1, new_jobs(strategy.setup))
    shared.begin_stretch()
    played = shared.take_turns(shared.goal(30_000), 0)
    assert strategy.tree.visits[ROOT] == 30_000
    # The last jobs of the 16 lanes find nothing left to begin; others found only nodes that were taken.
    assert shared.jobs.marks[NEXT] - played > 16 + 10
    assert not shared.jobs.postponed.any()
    assert (shared.jobs.takes == -1).all()
    check_sums(nodes_of(strategy.tree))


def test_jobs_are_short_where_little_is_known() -> None:
    """A job adds at most half of the visits of its node: all jobs of a small tree are small."""
    opened = open_search(request("gomoku:size=9", 16, simulations=2_000))
    strategy = opened.strategy
    assert isinstance(strategy, SubtreeStrategy)
    strategy.share_tree(1)
    job = strategy.next_stretch(1, 2_000, 1.0)
    result = job.run()
    assert result.simulations == 125 * 16 or result.simulations <= 2_000
    assert result.simulations / SIMULATIONS < result.played <= result.simulations
    assert not strategy.shared.jobs.taken.any()
    assert not np.any(strategy.shared.jobs.tally[1:] < 0)
