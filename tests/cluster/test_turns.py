"""Strategy leaf in one process: threads take turns in one tree, with the answer of jobs sent one by one."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import banyan
import numpy as np
import pytest

from cluster.checkpoint.checkpoint import Keeper, Opened, read_checkpoint
from cluster.executors.handover import HandoverExecutor
from cluster.executors.inline import InlineExecutor
from cluster.executors.threads import ThreadsExecutor
from cluster.runtime.coordinator import Coordinator
from cluster.runtime.session import Session
from cluster.runtime.tasks import Executor
from games.jit import callable_from_python
from games.rng import begin_stream, new_stream
from search.kernel.turns import stream_of
from search.prepare import open_search
from search.request import SearchRequest
from search.result import SearchResult
from search.run_inline import run
from search.strategies import LeafStrategy, leaf
from search.strategies.stretches import StretchJob
from tests.cluster.problems import WALK

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="turns are taken in compiled kernels"
)

ONE = {"batch": 1, "playouts_per_leaf": 1}
THREE = {"batch": 3, "playouts_per_leaf": 2}
LOST = {"in_flight": "virtual-loss"} | ONE
CASES: dict[str, dict[str, Any]] = {
    "one leaf a job": {"game": "connect_four", "simulations": 4_000, "lanes": 16, **ONE},
    "several leaves": {
        "game": "tictactoe",
        "simulations": 3_001,
        "lanes": 7,
        "batch": 3,
        "playouts_per_leaf": 2,
    },
    "lanes by the budget": {"game": "tictactoe", "simulations": 9, "lanes": 16, **ONE},
    "proven": {"game": "grundy:pile=12", "simulations": 90_000, "lanes": 8, "solver": True, **ONE},
    "full": {"game": "gomoku", "simulations": 30_000, "lanes": 8, "memory_mb": 1, **ONE},
    "hidden": {"game": "battleship:size=6,fleet=3-2", "simulations": 1_000, "lanes": 5, **ONE},
    "virtual loss": {
        "game": "tictactoe",
        "simulations": 2_000,
        "lanes": 9,
        "in_flight": "virtual-loss",
        **ONE,
    },
    "one player": {"game": "jobshop", "simulations": 2_000, "lanes": 16, **ONE},
    "chance": {"game": "2048", "simulations": 500, "lanes": 6, **ONE},
    "three players": {"game": "chinese_checkers:turns=30", "simulations": 1_000, "lanes": 6, **ONE},
}


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns are taken in short searches too."""
    monkeypatch.setattr(leaf, "PAYS_JOBS", 0)
    monkeypatch.setattr(leaf, "PAYS_JOB_S", 1e9)


@pytest.fixture(params=[1, 2, 6], ids="{} threads".format)
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    executor = ThreadsExecutor(request.param)
    yield executor
    executor.close()


def session_of(request: SearchRequest, executor: Executor) -> Session:
    search = open_search(request)
    executor.open(search.context)
    return Session(Coordinator(search, executor.num_workers), executor)


def one_by_one(request: SearchRequest) -> SearchResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InlineExecutor, "sharing", 0)
        return session_of(request, InlineExecutor()).run()


def told(result: SearchResult) -> tuple[Any, ...]:
    """What must not depend on the way in which jobs run."""
    numbers = (result.simulations, result.playouts, result.tree_nodes, result.stopped_by)
    return result.digest, str(result.best_line), str(result.values), numbers


@pytest.mark.parametrize("case", CASES)
def test_turns_give_the_answer_of_jobs_one_by_one(case: str, executor: Executor) -> None:
    request = SearchRequest(strategy="leaf", seed=3, **CASES[case])
    session = session_of(request, executor)
    result = session.run()
    assert isinstance(session.search.strategy, LeafStrategy)
    assert session.search.strategy.shared is not None
    expected = one_by_one(request)
    # Jobs in flight are dropped at an early end; how many of them had been played depends on threads.
    early = result.stopped_by != "simulations"
    assert told(result)[:3] == told(expected)[:3]
    assert early or told(result)[3] == told(expected)[3]
    counters = session.coordinator.counters
    assert counters.simulations == result.simulations == session.search.strategy.tree.visits[0]
    assert counters.jobs_done == session.search.strategy.absorbed
    assert run(request).digest == expected.digest


def test_many_threads_and_short_stretches_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Far more threads than cores, and stretches of a few jobs: every thread waits in every place."""
    monkeypatch.setattr(leaf, "STRETCH_S", 1e-5)
    request = SearchRequest("tictactoe", strategy="leaf", lanes=12, simulations=5_000, **ONE)
    expected = one_by_one(request).digest
    executor = ThreadsExecutor(12)
    try:
        for _ in range(3):
            assert session_of(request, executor).run().digest == expected
    finally:
        executor.close()


@pytest.mark.parametrize("resumed_by_turns", [True, False])
@pytest.mark.parametrize("saved_by_turns", [True, False])
def test_a_search_goes_on_after_a_checkpoint(
    saved_by_turns: bool, resumed_by_turns: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = SearchRequest("tictactoe", strategy="leaf", lanes=8, simulations=4_000, seed=5, **ONE)
    expected = one_by_one(request).digest
    monkeypatch.setattr(leaf, "STRETCH_S", 1e-4)
    monkeypatch.setattr(InlineExecutor, "sharing", int(saved_by_turns))
    keeper, executor = Keeper(tmp_path / "saved", warn=pytest.fail), InlineExecutor()

    def save(session: Session) -> None:
        if session.coordinator.counters.simulations > 1_000 and not session.cancelled:
            keeper.begin(Opened(session.coordinator, session.elapsed_s))
            session.cancel()

    session = session_of(request, executor)
    session.run((save,))
    assert session.coordinator.counters.simulations < 4_000
    monkeypatch.setattr(InlineExecutor, "sharing", int(resumed_by_turns))
    opened = read_checkpoint(tmp_path / "saved").open()
    executor.open(opened.coordinator.search.context)
    assert len(opened.coordinator.search.strategy.jobs) == 8
    result = Session(opened.coordinator, executor).run()
    assert (result.digest, result.simulations) == (expected, 4_000)


def test_a_search_by_stretches_is_not_handed_over() -> None:
    """Short by what its game says, and so without threads at first; then it seems to last."""

    def never() -> Executor:
        raise AssertionError("started")

    moments = iter(range(10**6))
    executor = HandoverExecutor(never, 2, lambda line: None, clock=lambda: float(next(moments)))
    executor.left_s = lambda: 1e9
    request = SearchRequest("tictactoe", strategy="leaf", lanes=8, simulations=20_000, **ONE)
    session = session_of(request, executor)
    assert session.run().digest == one_by_one(request).digest
    assert session.coordinator.counters.simulations == 20_000
    assert executor.name == "inline"
    executor.close()


def test_a_budget_in_seconds_is_kept(executor: Executor) -> None:
    request = SearchRequest("thud", strategy="leaf", lanes=12, seconds=0.4, **ONE)
    session = session_of(request, executor)
    result = session.run()
    assert result.stopped_by == "seconds"
    assert result.simulations == session.search.strategy.tree.visits[0] > 1_000
    assert 0.4 <= result.elapsed_s < 0.8


def test_progress_is_told_and_a_search_is_stopped_promptly() -> None:
    with banyan.start(
        "thud", strategy="leaf", executor="threads", workers=2, lanes=8, simulations=10**8, **ONE
    ) as search:
        seen = [progress.simulations for progress, _ in zip(search, range(3), strict=False)]
        began = time.monotonic()
        search.stop()
        result = search.result()
    assert time.monotonic() - began < 1.0
    assert 0 < seen[0] < seen[-1] <= result.simulations
    assert result.stopped_by == "cancelled"
    assert (result.executor, result.workers) == ("threads", 2)


@pytest.mark.parametrize(
    ("game", "options"),
    [
        ("./walk.py", {}),
        ("tictactoe", {"strategy": "tree"}),
        ("gym:FrozenLake-v1", {"playout_policy": "learnt"}),
    ],
    ids=["plain Python", "tree", "learnt"],
)
def test_other_searches_go_on_as_before(
    game: str, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("walk.py").write_text(WALK)
    request = SearchRequest(game, simulations=300, lanes=2, **{"strategy": "leaf"} | options)
    coordinator = Coordinator(open_search(request), 1)
    coordinator.share_tree(2)
    assert not any(isinstance(job, StretchJob) for job in coordinator.start())


def test_short_searches_compile_nothing_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    request = SearchRequest("tictactoe", strategy="leaf", lanes=4, simulations=400, **ONE)
    strategy = open_search(request).strategy
    assert isinstance(strategy, LeafStrategy)
    assert not strategy.stretches_pay


def test_streams_are_those_of_jobs_one_by_one() -> None:
    stream = np.zeros(2, dtype=np.uint64)
    for number in (0, 1, 77, 2**40):
        callable_from_python(stream_of)(stream, np.uint64(begin_stream(9, 3)), number)
        assert stream.tolist() == new_stream(9, 3, number).tolist()


@pytest.mark.parametrize(("simulations", "lanes"), [(1_000, 7), (17, 16), (2_000_000_000, 64)])
def test_sizes_of_many_jobs_are_those_of_each(simulations: int, lanes: int) -> None:
    plan = open_search(SearchRequest("tictactoe", strategy="leaf", simulations=simulations, lanes=lanes)).plan
    for first in (0, 5, plan.jobs - 3):
        sizes = plan.sizes(first, 10).tolist()
        assert sizes == [size for index in range(first, first + 10) if (size := plan.size(index))]
