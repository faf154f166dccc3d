"""Strategy leaf in one process: threads take turns in one tree, with the answer of jobs sent one by one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import banyan
import numpy as np
import pytest

from cluster.checkpoint.checkpoint import Keeper, Opened, read_checkpoint
from cluster.runtime.session import Session
from cluster.runtime.tasks import Executor
from cluster.workers.handover import HandoverExecutor
from cluster.workers.inline import InlineExecutor
from cluster.workers.threads import ThreadsExecutor
from games.compile.specialise import callable_from_python
from games.rng import begin_stream, new_stream
from search.coordinator import Coordinator
from search.kernel.turns import stream_of
from search.prepare import open_search
from search.request import SearchRequest
from search.result import SearchResult
from search.run_inline import run
from search.strategies import LeafStrategy, leaf
from tests.cluster.problems import WALK
from tests.cluster.searches import compiled_only, nothing_in_flight, session_on
from tests.waiting import PATIENCE_S

pytestmark = compiled_only

ONE = {"batch": 1, "playouts_per_leaf": 1}
THREE = {"batch": 3, "playouts_per_leaf": 2}
LOST = {"in_flight": "virtual-loss"} | ONE
CASES: dict[str, dict[str, Any]] = {
    "one leaf a job": {"game": "connect_four", "simulations": 4_000, "lanes": 16, **ONE},
    "several leaves": {"game": "tictactoe", "simulations": 3_001, "lanes": 7, **THREE},
    "lanes by the budget": {"game": "tictactoe", "simulations": 9, "lanes": 16, **ONE},
    "proven": {"game": "grundy:pile=12", "simulations": 90_000, "lanes": 8, "solver": True, **ONE},
    "full": {"game": "gomoku", "simulations": 30_000, "lanes": 8, "memory_mb": 1, **ONE},
    "hidden": {"game": "battleship:size=6,fleet=3-2", "simulations": 1_000, "lanes": 5, **ONE},
    "virtual loss": {"game": "tictactoe", "simulations": 2_000, "lanes": 9, **LOST},
    "one player": {"game": "jobshop", "simulations": 2_000, "lanes": 16, **ONE},
    "chance": {"game": "2048", "simulations": 500, "lanes": 6, **ONE},
    "three players": {"game": "chinese_checkers:turns=30", "simulations": 1_000, "lanes": 6, **ONE},
}


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns are taken in short searches too."""
    monkeypatch.setattr(leaf, "PAYS_JOBS", 0)
    monkeypatch.setattr(leaf, "PAYS_JOB_S", 1e9)


@pytest.fixture(params=[1, 6], ids="{} threads".format)
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    with closing(ThreadsExecutor(request.param)) as executor:
        yield executor


def one_by_one(request: SearchRequest) -> SearchResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InlineExecutor, "threads_here", 0)
        return session_on(InlineExecutor(), request).run()


def told(result: SearchResult) -> tuple[Any, ...]:
    """What must not depend on the way in which jobs run."""
    numbers = (result.simulations, result.playouts, result.tree_nodes, result.stopped_by)
    return result.digest, str(result.best_line), str(result.values), numbers


@pytest.mark.parametrize("case", CASES)
def test_turns_give_the_answer_of_jobs_one_by_one(case: str, executor: Executor) -> None:
    request = SearchRequest(strategy="leaf", seed=3, **CASES[case])
    session = session_on(executor, request)
    result = session.run()
    assert getattr(session.search.strategy, "_shared") is not None  # noqa: B009
    expected = one_by_one(request)
    # Jobs in flight are dropped at an early end; how many of them had been played depends on threads.
    early = result.stopped_by != "simulations"
    assert told(result)[:3] == told(expected)[:3]
    assert early or told(result)[3] == told(expected)[3]
    counters = session.coordinator.counters
    assert counters.simulations == result.simulations == session.search.strategy.tree.visits[0]
    assert counters.jobs_done == session.search.strategy.absorbed
    assert run(request).digest == expected.digest


@pytest.mark.slow
def test_memory_ends_a_search_at_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a stretch ends after the selection that used up the memory."""
    request = SearchRequest("gomoku", strategy="leaf", lanes=8, memory_mb=1, stop_when_full=True, **ONE)
    expected = one_by_one(request)
    assert expected.stopped_by == "memory"
    for threads, stretch_s in ((1, 0.0), (2, 1e-4), (6, 0.05)):
        monkeypatch.setattr(leaf, "STRETCH_S", stretch_s)
        with closing(ThreadsExecutor(threads)) as executor:
            assert told(session_on(executor, request).run())[:3] == told(expected)[:3]
    monkeypatch.setattr(leaf, "STRETCH_S", 0.0)
    assert run(request).digest == expected.digest


RAISES = """
import numpy as np
from games import njit
from games.connect_four import RULES, ConnectFour, rules

_play, _play_out = rules.play, rules.playout


@njit
def play(state, move):
    _play(state, move)
    if WHERE == 0 and state[0] % 1000 == 7:
        raise ValueError("broken rule")


@njit
def playout(state, moves, stream):
    if WHERE == 1 and stream[0] % np.uint64(500) == 0:
        raise ValueError("broken rule")
    return _play_out(state, moves, stream)


class Raising(ConnectFour):
    name = "raising"

    def __init__(self, rows=6, columns=7):
        super().__init__(rows, columns)
        self.rules = RULES._replace(play=play, playout=playout)
"""


@pytest.mark.slow
@pytest.mark.parametrize("where", ["while a thread selects", "while it plays"])
def test_rules_that_raise_end_the_search(
    where: str, executor: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    number = ["while a thread selects", "while it plays"].index(where)
    Path("raising.py").write_text(f"WHERE = {number}\n{RAISES}")
    request = SearchRequest("./raising.py", strategy="leaf", lanes=8, simulations=50_000, **ONE)
    session = session_on(executor, request)
    with pytest.raises(Exception, match="broken rule"):
        session.run()
    # What was counted is what is in the tree, so that a checkpoint of it can be read.
    assert session.coordinator.counters.simulations == session.search.strategy.tree.visits[0]
    restored = Coordinator(open_search(request), 1)
    restored.restore(session.coordinator.state())


@pytest.mark.slow
@pytest.mark.parametrize(("lanes", "seconds", "least"), [(4_000, 0.05, 1), (12, 0.4, 100)])
def test_a_budget_in_seconds_is_kept(executor: Executor, lanes: int, seconds: float, least: int) -> None:
    """All that was played counts, also with more lanes than can be played in time."""
    request = SearchRequest("thud", strategy="leaf", lanes=lanes, seconds=seconds, **ONE)
    for search in (lambda: session_on(executor, request).run(), lambda: run(request)):
        results = [search()]
        # Beside other programs threads may wait for their turn.
        while results[-1].elapsed_s >= seconds + 0.4 and len(results) < 5:
            results.append(search())
        for result in results:
            assert result.stopped_by == "seconds"
            assert result.simulations == result.playouts > 0
            assert result.move is not None
        assert seconds <= results[-1].elapsed_s < seconds + 0.4
        assert results[-1].simulations >= least


@pytest.mark.slow
def test_scores_of_many_players_do_not_depend_on_stretches(
    executor: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tenths have no exact sums: their order decides the last digits."""
    text = Path("tests/search/random_problem.py").read_text()
    (tmp_path / "tenths.py").write_text(text.replace("UNIT = 256", "UNIT = 10"))
    request = SearchRequest(
        f"{tmp_path}/tenths.py:players=3,plies=14", strategy="leaf", lanes=7, simulations=3_000, **ONE
    )
    expected = one_by_one(request)
    monkeypatch.setattr(leaf, "STRETCH_S", 1e-4)
    assert session_on(executor, request).run().values == expected.values


@pytest.mark.slow
def test_many_threads_and_short_stretches_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Far more threads than cores, and stretches of a few jobs: every thread waits in every place."""
    monkeypatch.setattr(leaf, "STRETCH_S", 1e-5)
    request = SearchRequest("tictactoe", strategy="leaf", lanes=12, simulations=5_000, **ONE)
    expected = one_by_one(request).digest
    with closing(ThreadsExecutor(12)) as executor:
        for _ in range(3):
            assert session_on(executor, request).run().digest == expected


@pytest.mark.slow
@pytest.mark.parametrize("resumed_by_turns", [True, False])
@pytest.mark.parametrize("saved_by_turns", [True, False])
def test_a_search_goes_on_after_a_checkpoint(
    saved_by_turns: bool, resumed_by_turns: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = "tests/search/random_problem.py:players=1,plies=14"
    request = SearchRequest(game, strategy="leaf", lanes=1_000, simulations=4_000, seed=5, **ONE)
    expected = one_by_one(request)
    monkeypatch.setattr(leaf, "STRETCH_S", 1e-4)
    monkeypatch.setattr(InlineExecutor, "threads_here", int(saved_by_turns))
    keeper, executor = Keeper(tmp_path / "saved", warn=pytest.fail), InlineExecutor()

    def save(session: Session) -> None:
        if session.coordinator.counters.simulations > 500 and not session.cancelled:
            keeper.begin(Opened(session.coordinator, session.elapsed_s))
            session.cancel()

    session = session_on(executor, request)
    session.run((save,))
    assert session.coordinator.counters.simulations < 4_000
    monkeypatch.setattr(InlineExecutor, "threads_here", int(resumed_by_turns))
    opened = read_checkpoint(tmp_path / "saved").open()
    executor.open(opened.coordinator.search.context)
    assert len(opened.coordinator.search.strategy.jobs) == 1_000
    result = Session(opened.coordinator, executor).run()
    assert told(result)[:2] == told(expected)[:2]
    assert (result.simulations, result.playouts) == (4_000, expected.playouts)


@pytest.mark.slow
def test_a_search_by_stretches_is_not_handed_over() -> None:
    """Short by what its game says, and so without threads at first; then it seems to last."""

    started = list[bool]()

    def never(_: threading.Event) -> Executor:
        started.append(True)
        raise ConnectionError

    moments = iter(range(10**6))
    executor = HandoverExecutor(never, 2, lambda line: None, clock=lambda: float(next(moments)))
    executor.left_s = lambda: 1e9
    request = SearchRequest("tictactoe", strategy="leaf", lanes=8, simulations=20_000, **ONE)
    session = session_on(executor, request)
    assert session.run().digest == one_by_one(request).digest
    assert session.coordinator.counters.simulations == 20_000
    assert executor.name == "inline"
    assert not started
    executor.close()


@pytest.mark.slow
def test_progress_is_told_and_a_search_is_stopped_promptly() -> None:
    with banyan.start(
        "thud", strategy="leaf", executor="threads", workers=2, lanes=8, simulations=10**8, **ONE
    ) as search:
        seen = [progress.simulations for progress, _ in zip(search, range(3), strict=False)]
        search.stop()
        # Hours before its budget.
        result = search.result(timeout=PATIENCE_S)
    assert 0 < seen[0] < seen[-1] <= result.simulations
    assert result.stopped_by == "cancelled"
    assert (result.executor, result.workers) == ("threads", 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "options"),
    [
        ("./walk.py", {}),
        ("gym:FrozenLake-v1", {"playout_policy": "learnt"}),
    ],
    ids=["plain Python", "learnt"],
)
def test_other_searches_go_on_as_before(
    game: str, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("walk.py").write_text(WALK)
    request = SearchRequest(game, simulations=300, lanes=2, **{"strategy": "leaf"} | options)
    coordinator = Coordinator(open_search(request), 1)
    coordinator.work_in_place(2, nothing_in_flight)
    assert not any(job.divided for job in coordinator.start())


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


@pytest.mark.parametrize(("simulations", "lanes"), [(1_000, 7), (17, 16), (10**12, 32)])
def test_sizes_of_many_jobs_are_those_of_each(simulations: int, lanes: int) -> None:
    request = SearchRequest("tictactoe", strategy="leaf", simulations=simulations, lanes=lanes, **ONE)
    plan = open_search(request).plan
    for first in {0, 5, min(2**63 // simulations, plan.jobs - 3), plan.jobs // 2, plan.jobs - 3}:
        sizes = plan.sizes(first, 10).tolist()
        assert sum(sizes) > 0
        assert sizes == [size for index in range(first, first + 10) if (size := plan.size(index))]
