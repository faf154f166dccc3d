"""The threads executor: jobs run side by side in one process, and the answer is that of one thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import banyan
import pytest

from cluster.observe.view import STARVED
from cluster.runtime.session import Session, session_on
from cluster.runtime.tasks import JobDone, Task
from cluster.workers.choose import make_executor
from cluster.workers.handover import THREADS_PAY_S
from cluster.workers.threads import ThreadsExecutor
from games.errors import InvalidInput
from search.prepare import open_search
from search.request import SearchRequest
from search.worker import Worker
from tests.cluster.problems import WALK
from tests.cluster.searches import alone, compiled_only, search_on
from tests.search.test_evaluator import HASHED
from tests.waiting import PATIENCE_S

GAMES = ("tictactoe", "battleship", "2048", "chinese_checkers:turns=40")


@contextmanager
def threads(number: int, make_worker: Callable[[], Any] = Worker) -> Iterator[ThreadsExecutor]:
    before = set(threading.enumerate())
    executor = ThreadsExecutor(number, make_worker)
    try:
        yield executor
    finally:
        executor.close()
        left = set(threading.enumerate()) - before
        # That one says what was compiled, for a second longer.
        assert all(thread.name == "banyan compiling" for thread in left)


@compiled_only
@pytest.mark.parametrize("strategy", ["root", "tree", "leaf"])
def test_any_number_of_threads_gives_the_answer_of_one(strategy: str) -> None:
    with threads(3) as executor:
        for game in GAMES:
            request = SearchRequest(game, strategy=strategy, lanes=5, simulations=3_000, seed=2)
            expected = alone(request).digest
            for number in (3, 1, 2):
                executor.use(number)
                result, _ = search_on(executor, request)
                assert result.digest == expected, game
                executor.use(3)


@compiled_only
@pytest.mark.parametrize("strategy", ["root", "tree"])
def test_threads_that_share_a_core_count_their_part_of_it(strategy: str) -> None:
    cores = os.sched_getaffinity(0)
    with threads(4) as executor:
        try:
            # The caller takes part too.
            for thread in (0, *executor.thread_ids):
                os.sched_setaffinity(thread, {min(cores)})
            search_on(executor, SearchRequest("gomoku", strategy=strategy, lanes=4, seconds=1))
        finally:
            os.sched_setaffinity(0, cores)
        busy_s = sum(worker.busy_s for worker in executor.workers)
        assert 0 < sum(worker.cpu_s for worker in executor.workers) < STARVED * busy_s


CONTEXT = open_search(SearchRequest("tictactoe", simulations=1)).context


class Meeting:
    """A worker whose jobs end only together: none ends unless two run at once."""

    barrier = threading.Barrier(2)

    def prepare(self, context: Any) -> None:
        pass

    def run(self, context: Any, job: Any) -> Any:
        if job == "fails":
            raise ValueError("the job says so")
        self.barrier.wait(PATIENCE_S)
        return job


def tasks(*jobs: str) -> list[Task]:
    return [Task(index, job, work=1) for index, job in enumerate(jobs)]


def events(executor: ThreadsExecutor, number: int) -> list[Any]:
    found: list[Any] = []
    while len(found) < number:
        found += executor.wait(PATIENCE_S)
    return found


@compiled_only
def test_tasks_run_side_by_side() -> None:
    with threads(2, Meeting) as executor:
        executor.open(CONTEXT)
        executor.submit(tasks("a", "b", "c", "d"))
        done = events(executor, 4)
        assert sorted(each.result for each in done) == ["a", "b", "c", "d"]
        assert [status.jobs_done for status in executor.workers] == [2, 2]


@compiled_only
def test_a_task_that_raises_is_an_event_and_its_thread_goes_on() -> None:
    with threads(2, Meeting) as executor:
        executor.open(CONTEXT)
        executor.submit(tasks("fails", "fails", "fails", "a", "b"))
        found = events(executor, 5)
        failures = [each for each in found if not isinstance(each, JobDone)]
        assert [each.error for each in failures] == ["ValueError: the job says so"] * 3


@compiled_only
def test_what_is_dropped_gives_no_events() -> None:
    with threads(2, Meeting) as executor:
        executor.open(CONTEXT)
        executor.submit(tasks("a", "b", "c", "d"))
        executor.drop()
        assert executor.wait(0.0) == []
        executor.submit(tasks("e", "f"))
        assert sorted(each.result for each in events(executor, 2)) == ["e", "f"]


@compiled_only
def test_a_round_of_all_threads_is_looked_at_and_ends_when_that_is_asked() -> None:
    looks: list[float] = []

    def look(session: Session) -> None:
        looks.append(session.elapsed_s)
        if session.elapsed_s > 0.3:
            session.cancel()

    with threads(2) as executor:
        # Half a minute of two cores, of which no one portion takes long.
        request = SearchRequest("gomoku:size=9", lanes=64, rounds=1, simulations=40_000_000)
        cut = session_on(executor, open_search(request), 2).run((look,))
        assert (cut.stopped_by, cut.simulations) == ("cancelled", 0)
        assert len(looks) > 2
        assert cut.elapsed_s < 20.0
        small = SearchRequest("gomoku:size=9", lanes=4, simulations=20_000)
        assert session_on(executor, open_search(small), 2).run().digest == alone(small).digest


@compiled_only
def test_a_search_that_lasts_runs_in_threads_unless_they_do_not_help(tmp_path: Path) -> None:
    file = tmp_path / "walk.py"
    file.write_text(WALK)
    long = {"seconds": 2 * THREADS_PAY_S, "workers": 2}
    assert banyan.search("tictactoe", **long).executor == "threads"
    assert banyan.search("tictactoe", seconds=long["seconds"], workers=1).executor == "inline"
    assert banyan.search("tictactoe", lanes=1, **long).executor == "inline"
    assert banyan.search("tictactoe", simulations=1_000, workers=2).executor == "inline"
    assert banyan.search(str(file), **long).executor == "inline"
    short = banyan.search("tictactoe", simulations=1_000, workers=2, executor="threads")
    assert (short.executor, short.workers) == ("threads", 2)
    with pytest.raises(InvalidInput, match=r"executor.*threads.*the rules of walk are not compiled"):
        banyan.search(str(file), executor="threads", **long)


@compiled_only
def test_an_evaluator_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match=r"executor.*the evaluator is plain Python"):
        banyan.search("tictactoe", evaluator=HASHED, strategy="leaf", simulations=100, executor="threads")


def test_what_threads_cannot_have_is_refused() -> None:
    for field, wrong in (
        ("address", {"address": "auto"}),
        ("executor", {"make_worker": Meeting}),
        ("executor", {"standing": True}),
    ):
        with pytest.raises(InvalidInput) as refused:
            make_executor("threads", 2, **wrong)  # type: ignore[arg-type]
        assert refused.value.field == field


@compiled_only
def test_a_search_that_fails_in_a_thread_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Worker, context: Any, job: Any) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr(Worker, "run", fail)
    with threads(2) as executor, pytest.raises(MemoryError, match="no room"):
        search_on(executor, SearchRequest("tictactoe", simulations=1_000))
