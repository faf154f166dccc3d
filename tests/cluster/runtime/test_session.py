"""A session with a clock that the test turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from cluster.runtime.drive import TICK_S
from cluster.runtime.session import Session
from cluster.runtime.tasks import Event, JobDone, JobFailed, JobLost, Task
from search.coordinator import GRACE_S, Coordinator, SearchFailed
from search.job import Job, JobResult
from search.prepare import open_search
from search.request import NARROW_SIMULATIONS, SearchRequest
from search.tree.arena import ROOT
from search.tree.merge import lone_root
from tests.fake_executor import Fake
from tests.waiting import Clock


def coordinator_of(request: SearchRequest) -> Coordinator:
    return Coordinator(open_search(request), 2)


class ScriptedExecutor(Fake):
    """Each job takes ``job_s`` on one of two workers; what comes of it is ``outcome``'s to say.

    A look takes at least 0.1 ms.
    """

    name = "scripted"
    num_workers = 2

    def __init__(
        self,
        clock: Clock,
        job_s: float = 0.02,
        outcome: Callable[[Job], Event] | None = None,
    ) -> None:
        self._clock = clock
        self._job_s = job_s
        self._outcome = outcome or (lambda job: JobDone(nothing_but_visits(job)))
        self._running: list[tuple[float, Job]] = []
        self._free_s = [clock.now_s] * self.num_workers
        self.patience: list[float] = []
        self.submitted = 0
        self.drops = 0

    def submit(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            self.submitted += 1
            slot = self._free_s.index(min(self._free_s))
            self._free_s[slot] = max(self._free_s[slot], self._clock.now_s) + self._job_s
            self._running.append((self._free_s[slot], task.job))

    def wait(self, timeout_s: float) -> list[Event]:
        self.patience.append(timeout_s)
        until_s = self._clock.now_s + max(timeout_s, 1e-4)
        due = [done_s for done_s, _ in self._running if done_s <= until_s]
        self._clock.now_s = max(self._clock.now_s, min(due)) if due else until_s
        finished = [job for done_s, job in self._running if done_s <= self._clock.now_s]
        self._running = [(done_s, job) for done_s, job in self._running if done_s > self._clock.now_s]
        return [self._outcome(job) for job in finished]

    def drop(self) -> None:
        self.drops += 1
        self._running.clear()


def nothing_but_visits(job: Job, simulations_per_s: float = 1e5) -> JobResult:
    """A result that costs nothing to make: the root was visited, and no more is known."""
    added = lone_root()
    added.visits[0] = job.simulations
    size = job.simulations
    return JobResult(job.index, size, added, None, size, 1, 24, False, size / simulations_per_s)


def test_a_search_with_time_left_ends_before_its_counts_run_over() -> None:
    """Visits have 32 bits: 3 cores fill them in a few minutes of tic-tac-toe."""
    coordinator = coordinator_of(replace(TIMED, seconds=900.0, lanes=4))
    jobs = coordinator.start()
    while jobs and coordinator.counters.simulations <= NARROW_SIMULATIONS:
        jobs += coordinator.job_done(nothing_but_visits(jobs.pop(0), 1e9))
    assert coordinator.counters.simulations <= NARROW_SIMULATIONS
    assert coordinator.search.strategy.tree.visits[ROOT] == coordinator.counters.simulations


def session_of(
    request: SearchRequest, job_s: float = 0.02, outcome: Callable[[Job], Event] | None = None
) -> tuple[Session, ScriptedExecutor]:
    clock = Clock(1000.0)
    executor = ScriptedExecutor(clock, job_s, outcome)
    return Session(coordinator_of(request), executor, clock), executor


TIMED = SearchRequest("tictactoe", strategy="root", lanes=4, seconds=1.0, seed=1)


@pytest.mark.parametrize("seconds", [0.001, 0.05, 0.3, 1.0, 60.0])
def test_a_budget_in_seconds_is_kept(seconds: float) -> None:
    session, executor = session_of(replace(TIMED, seconds=seconds), job_s=min(0.02, seconds / 3))
    result = session.run()
    assert result.stopped_by == "seconds"
    assert result.elapsed_s == pytest.approx(seconds, abs=2e-3)
    assert result.simulations > 0
    assert all(0.0 <= patience <= TICK_S for patience in executor.patience)
    assert executor.drops == 1


def test_jobs_get_shorter_towards_the_end_of_the_time() -> None:
    sizes: list[int] = []

    def outcome(job: Job) -> Event:
        sizes.append(job.simulations)
        return JobDone(nothing_but_visits(job))

    session_of(TIMED, outcome=outcome)[0].run()
    assert sizes[-1] < max(sizes) / 2
    assert min(sizes) >= 1


def test_the_first_result_may_come_a_little_after_the_time() -> None:
    session, _ = session_of(replace(TIMED, seconds=0.1), job_s=0.1 + GRACE_S / 2)
    result = session.run()
    assert result.stopped_by == "seconds"
    assert result.jobs >= 1
    assert result.elapsed_s < 0.1 + GRACE_S


def test_nothing_is_waited_for_much_longer_than_the_time() -> None:
    session, executor = session_of(replace(TIMED, seconds=0.1), job_s=1000.0)

    result = session.run()
    assert result.stopped_by == "seconds"
    assert result.simulations == 0
    assert 0.1 <= result.elapsed_s <= 0.1 + GRACE_S + TICK_S
    assert executor.drops == 1


def test_cancelling_ends_the_search_at_once() -> None:
    session, executor = session_of(replace(TIMED, seconds=None, simulations=10**9))
    seen = 0

    def cancel_at_third(session: Session) -> None:
        nonlocal seen
        seen += 1
        if seen == 3:
            session.cancel()

    result = session.run((cancel_at_third,))
    assert result.stopped_by == session.outcome == "cancelled"
    assert 0 < result.simulations < 10**9
    assert len(executor.patience) == 4
    assert executor.drops == 1


def test_observers_see_each_step_and_the_end() -> None:
    session, executor = session_of(TIMED)
    outcomes: list[str | None] = []
    elapsed: list[float] = []

    def first(session: Session) -> None:
        outcomes.append(session.outcome)

    def second(session: Session) -> None:
        elapsed.append(session.elapsed_s)

    assert session.outcome is None
    result = session.run((first, second))
    assert outcomes == [None] * len(executor.patience) + ["seconds"]
    assert elapsed == sorted(elapsed)
    assert elapsed[-1] == result.elapsed_s == session.elapsed_s
    assert isinstance(session.clock, Clock)
    session.clock.now_s += 50
    assert session.elapsed_s == result.elapsed_s


@pytest.mark.parametrize("event", [JobFailed(0, "ZeroDivisionError"), JobLost(0, "worker died")])
def test_jobs_are_dropped_when_the_search_fails(event: Event) -> None:
    session, executor = session_of(TIMED, outcome=lambda job: event)
    with pytest.raises(SearchFailed, match=r"ZeroDivisionError|worker died"):
        session.run()
    assert session.failed
    assert session.outcome == "failed"
    assert executor.drops == 1


def test_jobs_are_dropped_when_an_observer_raises() -> None:
    session, executor = session_of(TIMED)

    def interrupted(session: Session) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session.run((interrupted,))
    assert session.outcome == "failed"
    assert executor.drops == 1
