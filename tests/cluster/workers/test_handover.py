"""A search begins in its own process, and workers take over if they pay; its answer does not change by it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from cluster.runtime.session import Session
from cluster.runtime.tasks import Event, Executor, Task
from cluster.runtime.worker_state import WorkerStatus
from cluster.workers.handover import LOOK_S, PAYS_S, HandoverExecutor
from cluster.workers.inline import InlineExecutor
from search.coordinator import Coordinator
from search.prepare import open_search
from search.request import SearchRequest
from tests.cluster.problems import WALK
from tests.cluster.searches import compiled_only, session_on
from tests.cluster.strangers import Stranger
from tests.fake_executor import Fake
from tests.waiting import Clock

STRATEGIES = ("root", "tree", "leaf")


class Elsewhere(Fake):
    """Stands for workers: an executor that runs the jobs it is given, and notes which."""

    name = "elsewhere"

    def __init__(self, ready: threading.Event, workers: int = 3) -> None:
        self._inline = InlineExecutor()
        self._ready = ready
        self.num_workers = workers
        self.submitted: list[int] = []
        self.closed = False

    @property
    def workers(self) -> list[WorkerStatus]:
        return self._inline.workers

    def use(self, workers: int) -> None:
        raise AssertionError(workers)

    def open(self, context: Any) -> None:
        self._ready.wait()
        self._inline.open(context)

    def submit(self, jobs: Iterable[Task]) -> None:
        jobs = list(jobs)
        self.submitted += [job.index for job in jobs]
        self._inline.submit(jobs)

    def wait(self, timeout_s: float) -> list[Event]:
        return self._inline.wait(timeout_s)

    def drop(self) -> None:
        self._inline.drop()

    def close(self) -> None:
        self.closed = True


def request_for(strategy: str) -> SearchRequest:
    # Shorter jobs of leaf would share the tree in this process, and could not be handed over.
    batch = 64 if strategy == "leaf" else None
    return SearchRequest("tictactoe", strategy=strategy, lanes=4, simulations=20_000, batch=batch, seed=5)


def run(strategy: str, observer: Callable[[Session], None] | None, executor: Executor) -> Session:
    session = session_on(executor, request_for(strategy))
    if isinstance(executor, HandoverExecutor):
        executor.left_s = lambda: 2 * PAYS_S
    session.run(() if observer is None else (observer,))
    return session


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_workers_that_come_in_the_middle_run_the_jobs_that_are_left(strategy: str) -> None:
    ready, clock, told = threading.Event(), Clock(), list[str]()
    elsewhere = Elsewhere(ready)
    executor = HandoverExecutor(lambda _: elsewhere, 3, told.append, clock)

    def half_way(session: Session) -> None:
        # The clock says that the search lasts; the workers are up after three jobs.
        clock.now_s = 2 * LOOK_S
        if session.search.strategy.absorbed >= 3 and executor._coming is not None and not ready.is_set():
            assert executor.name == "inline"
            ready.set()
            executor._coming.join()

    session = run(strategy, half_way, executor)
    alone = run(strategy, None, InlineExecutor())
    assert session.coordinator.result(0.0, "").digest == alone.coordinator.result(0.0, "").digest
    assert executor.name == "elsewhere"
    assert session.coordinator.workers == 3
    # None was run twice: at the handover two results may have come that had not been looked at.
    assert len(elsewhere.submitted) == len(set(elsewhere.submitted))
    assert min(elsewhere.submitted) >= 3
    assert "starting 3 workers" in told[0]
    assert told[1] == "3 workers took over"
    executor.close()
    assert elsewhere.closed


@pytest.mark.parametrize(
    ("workers", "left", "said"), [(4, PAYS_S - 1, "and workers take 5 s"), (1, 1e9, "one worker is enough")]
)
def test_none_are_started_where_they_do_not_pay(workers: int, left: float, said: str) -> None:
    clock, told = Clock(), list[str]()

    def never(_: threading.Event) -> Executor:
        raise AssertionError("started")

    executor = HandoverExecutor(never, workers, told.append, clock)
    executor.open(open_search(request_for("tree")).context)
    executor.left_s = lambda: left
    assert executor.wait(0.0) == []
    assert told == []
    clock.now_s = 2 * LOOK_S
    for _ in range(3):
        executor.wait(0.0)
    assert len(told) == 1
    assert told[0].startswith("searching in this process: ")
    assert said in told[0]
    executor.close()


def test_where_none_can_be_started_the_search_goes_on() -> None:
    clock, told = Clock(), list[str]()

    def fail(_: threading.Event) -> Executor:
        raise ConnectionError("Ray could not be started: no room in /dev/shm")

    def later(session: Session) -> None:
        clock.now_s = 2 * LOOK_S
        if executor._coming is not None:
            executor._coming.join()

    executor = HandoverExecutor(fail, 2, told.append, clock)
    session = run("tree", later, executor)
    assert session.coordinator.stopped_by == "simulations"
    assert told[1].startswith("no workers could be started (Ray could not be started: no room in /dev/shm)")
    assert len(told) == 2


def test_workers_that_come_after_the_end_are_ended() -> None:
    ready, clock = threading.Event(), Clock()
    elsewhere = Elsewhere(ready)
    executor = HandoverExecutor(lambda _: elsewhere, 3, lambda line: None, clock)

    def later(session: Session) -> None:
        clock.now_s = 2 * LOOK_S

    run("tree", later, executor)
    coming = executor._coming
    assert coming is not None
    executor.close()
    ready.set()
    coming.join()
    assert elsewhere.closed


@pytest.mark.parametrize(("seconds", "after_s", "left"), [(None, 4.0, 16.0), (60.0, 50.0, 10.0)])
def test_what_is_left_is_estimated_from_what_was_done(
    seconds: float | None, after_s: float, left: float
) -> None:
    clock = Clock()
    budget = {"simulations": 1000} if seconds is None else {"seconds": seconds}
    search = open_search(SearchRequest("tictactoe", **budget))  # type: ignore[arg-type]
    session = Session(Coordinator(search, 1), InlineExecutor(), clock)
    session.begin()
    session.coordinator.counters.simulations = 200
    clock.now_s = after_s
    assert session.left_s == pytest.approx(left)


@pytest.mark.slow
@pytest.mark.timeout(400)
@compiled_only
def test_a_short_search_starts_no_ray_and_a_long_one_goes_on_with_workers(stranger: Stranger) -> None:
    walk = WALK.replace("self.steps == 6", "self.steps == 16").replace("2, 6, 1", "2, 16, 1")
    (stranger.folder / "walk.py").write_text(walk)
    waiting = walk.replace(
        "        self.steps += 1\n", "        time.sleep(0.001)\n        self.steps += 1\n"
    )
    (stranger.folder / "slow_walk.py").write_text(f"import time\n{waiting}")
    search = ("search", "./slow_walk.py", "--seed", "3", "--workers", "2")
    assert stranger.answer(*search, "--simulations", "100")["executor"] == "inline"
    # Rules in plain Python, with which the search lasts a quarter of a minute in one thread.
    budget = ("--seed", "3", "--simulations", "10000")
    status, out, err = stranger.banyan(*search, *budget, "--json")
    assert status == 0, err
    long = json.loads(out)
    assert (long["executor"], long["workers"]) == ("ray", 2), err
    assert "starting 2 workers; this process searches meanwhile" in err
    assert "2 workers took over" in err
    short = stranger.answer("search", "./walk.py", *budget, "--executor", "inline")
    assert short["digest"] == long["digest"]
