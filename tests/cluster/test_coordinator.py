"""The coordinator as a state machine, and a session with a clock that the test turns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from cluster.coordinator import DURATION_BUCKETS_S, MAX_ATTEMPTS, Coordinator, Durations, SearchFailed
from cluster.executor import Event, JobDone, JobFailed, JobLost, WorkerStatus
from cluster.session import GRACE_S, TICK_S, Session
from search.job import Context, GrowJob, Job, JobResult, LeafJob, RoundJob
from search.opening import open_search
from search.request import MAX_SIMULATIONS, SearchRequest
from search.statistics import lone_root
from search.tree import ROOT
from search.worker import Worker

REQUEST = SearchRequest("tictactoe", strategy="tree", lanes=3, rounds=4, simulations=120, seed=1)


def coordinator_of(request: SearchRequest, workers: int = 2) -> Coordinator:
    return Coordinator(open_search(request), workers, stopwatch=lambda: 0.0)


def run(coordinator: Coordinator, job: Job) -> JobResult:
    return Worker().run(coordinator.search.context, job)


def finish(coordinator: Coordinator, jobs: list[Job]) -> None:
    while jobs:
        jobs += coordinator.job_done(run(coordinator, jobs.pop(0)))


def described(job: Job) -> object:
    """All that a job's result depends on."""
    if isinstance(job, GrowJob):
        return job.index, job.lane, job.sizes
    if isinstance(job, RoundJob):
        columns = [column.tolist() for column in job.snapshot.statistics]
        return job.index, job.lane, job.round, job.simulations, columns
    assert isinstance(job, LeafJob)
    return job.index, job.moves.tolist(), job.depths.tolist(), job.visits.tolist()


def test_the_first_jobs_are_one_for_each_lane() -> None:
    coordinator = coordinator_of(REQUEST)
    jobs = coordinator.start()
    assert [job.index for job in jobs] == [0, 1, 2]
    assert [job.simulations for job in jobs] == [10, 10, 10]
    assert coordinator.jobs_in_flight == 3
    assert not coordinator.finished


def test_a_result_that_comes_early_waits() -> None:
    coordinator = coordinator_of(REQUEST)
    jobs = coordinator.start()
    for job in reversed(jobs[1:]):
        assert coordinator.job_done(run(coordinator, job)) == []
    assert coordinator.counters.simulations == coordinator.search.strategy.absorbed == 0
    assert coordinator.search.strategy.tree.visits[ROOT] == 0
    assert coordinator.jobs_in_flight == 1
    following = coordinator.job_done(run(coordinator, jobs[0]))
    assert coordinator.counters.simulations == coordinator.search.strategy.tree.visits[ROOT] == 30
    assert [job.index for job in following] == [3, 4, 5]


def test_the_search_ends_with_its_last_job() -> None:
    coordinator = coordinator_of(REQUEST)
    finish(coordinator, coordinator.start())
    assert coordinator.stopped_by == "simulations"
    assert coordinator.counters.jobs_done == 12
    assert coordinator.counters.simulations == 120
    assert coordinator.jobs_in_flight == 0
    result = coordinator.result(2.0, "test")
    assert (result.jobs, result.simulations, result.elapsed_s, result.executor) == (12, 120, 2.0, "test")
    assert result.workers == 2


def test_a_late_result_is_dropped_and_counted() -> None:
    coordinator = coordinator_of(REQUEST)
    jobs = coordinator.start()
    done = run(coordinator, jobs[0])
    coordinator.job_done(done)
    assert coordinator.job_done(done) == []
    assert coordinator.counters.late_results == 1
    assert coordinator.counters.jobs_done == 1
    assert coordinator.counters.simulations == 10
    assert coordinator.job_done(replace(done, index=999)) == []
    assert coordinator.counters.late_results == 2
    finish(coordinator, jobs[1:])
    assert coordinator.counters.simulations == 120
    assert coordinator.job_done(done) == []
    assert coordinator.counters.late_results == 3


def test_a_late_result_of_a_job_whose_result_still_waits_is_dropped() -> None:
    coordinator = coordinator_of(REQUEST)
    jobs = coordinator.start()
    early = run(coordinator, jobs[2])
    coordinator.job_done(early)
    coordinator.job_done(replace(early, simulations=999))
    assert coordinator.counters.late_results == 1
    finish(coordinator, jobs[:2])
    assert coordinator.counters.simulations == 120


def test_a_lost_job_is_handed_out_again_as_it_is() -> None:
    coordinator = coordinator_of(REQUEST)
    jobs = coordinator.start()
    assert coordinator.job_lost(1, "worker died") == [jobs[1]]
    assert coordinator.counters.jobs_retried == 1
    assert coordinator.jobs_in_flight == 3
    finish(coordinator, jobs)
    assert coordinator.result(1.0, "test").jobs_retried == 1
    untroubled = coordinator_of(REQUEST)
    finish(untroubled, untroubled.start())
    assert untroubled.result(1.0, "test").digest == coordinator.result(1.0, "test").digest


def test_the_result_of_a_job_that_was_given_up_counts_once() -> None:
    coordinator = coordinator_of(REQUEST)
    jobs = coordinator.start()
    done = run(coordinator, jobs[0])
    (again,) = coordinator.job_lost(0, "deadline")
    coordinator.job_done(done)
    coordinator.job_done(run(coordinator, again))
    assert coordinator.counters.simulations == 10
    assert coordinator.counters.late_results == 1


def test_a_loss_that_matters_no_more_is_ignored() -> None:
    coordinator = coordinator_of(REQUEST)
    jobs = coordinator.start()
    coordinator.job_done(run(coordinator, jobs[2]))
    assert coordinator.job_lost(2, "worker died") == []
    assert coordinator.job_lost(77, "worker died") == []
    coordinator.stop("cancelled")
    assert coordinator.job_lost(0, "worker died") == []
    coordinator.job_failed(0, "too late")
    assert coordinator.counters.jobs_retried == 0


def test_a_job_that_is_lost_too_often_fails_the_search() -> None:
    coordinator = coordinator_of(REQUEST)
    coordinator.start()
    for _ in range(MAX_ATTEMPTS - 1):
        assert len(coordinator.job_lost(0, "worker died")) == 1
        coordinator.job_lost(1, "worker died")
    with pytest.raises(SearchFailed, match=r"job 0 was lost 5 times.*out of memory"):
        coordinator.job_lost(0, "out of memory")
    assert coordinator.counters.jobs_retried == 2 * (MAX_ATTEMPTS - 1)


def test_a_job_that_failed_fails_the_search() -> None:
    coordinator = coordinator_of(REQUEST)
    coordinator.start()
    coordinator.job_failed(77, "nobody asked")
    with pytest.raises(SearchFailed, match="job 2 failed: ZeroDivisionError"):
        coordinator.job_failed(2, "ZeroDivisionError")


def test_stop_keeps_what_was_absorbed() -> None:
    coordinator = coordinator_of(REQUEST)
    jobs = coordinator.start()
    results = [run(coordinator, job) for job in jobs]
    coordinator.job_done(results[0])
    coordinator.job_done(results[2])
    coordinator.stop("cancelled")
    coordinator.stop("seconds")
    assert coordinator.stopped_by == "cancelled"
    assert coordinator.job_done(results[1]) == []
    assert coordinator.counters.late_results == 1
    result = coordinator.result(1.0, "test")
    assert (result.simulations, result.jobs, result.stopped_by) == (10, 1, "cancelled")
    assert result.answer.best_move is not None
    assert sum(child.visits for child in result.answer.children) == 10


def test_a_search_that_was_stopped_at_once_has_no_answer() -> None:
    coordinator = coordinator_of(REQUEST)
    coordinator.start()
    coordinator.stop("cancelled")
    result = coordinator.result(0.0, "test")
    assert result.answer.best_move is None
    assert (result.simulations, result.to_json()["simulations_per_s"]) == (0, None)


@pytest.mark.parametrize("strategy", ["root", "tree"])
def test_a_search_that_was_stopped_early_has_an_answer(strategy: str) -> None:
    """Even if its budget would have allowed for much more."""
    request = SearchRequest("tictactoe", strategy=strategy, lanes=3, seconds=1000.0, seed=1)
    coordinator = coordinator_of(request)
    jobs = coordinator.start()
    small = replace(jobs[0], sizes=(500,)) if isinstance(jobs[0], GrowJob) else jobs[0]
    if isinstance(small, RoundJob):
        small = replace(small, simulations=500)
    coordinator.job_done(run(coordinator, small))
    coordinator.stop("cancelled")
    result = coordinator.result(1.0, "test")
    assert result.simulations == 500
    assert result.answer.best_move is not None
    assert sum(child.visits for child in result.answer.children) == 500


KINDS: list[dict[str, Any]] = [
    {"strategy": "root", "lanes": 3},
    {"strategy": "tree", "lanes": 4, "rounds": 5},
    {"strategy": "tree", "lanes": 4, "rounds": 5, "staleness": 2},
    {"strategy": "leaf", "lanes": 4, "batch": 3, "playouts_per_leaf": 2},
    {"strategy": "leaf", "lanes": 4, "batch": 3, "playouts_per_leaf": 2, "in_flight": "virtual-loss"},
]


def all_jobs(request: SearchRequest, together: int) -> list[object]:
    """The jobs of a search whose results come in lots, each lot back to front."""
    coordinator = coordinator_of(request)
    waiting = coordinator.start()
    made = [described(job) for job in waiting]
    while waiting:
        lot = [run(coordinator, job) for job in waiting[:together]]
        del waiting[:together]
        for done in reversed(lot):
            jobs = coordinator.job_done(done)
            made += [described(job) for job in jobs]
            waiting += jobs
    assert coordinator.stopped_by == "simulations"
    return made


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("together", [2, 3, 100])
def test_jobs_do_not_depend_on_how_many_results_come_together(kind: dict[str, Any], together: int) -> None:
    request = SearchRequest("gomoku:size=5", simulations=240, seed=1, **kind)
    assert all_jobs(request, together) == all_jobs(request, 1)


def test_durations_are_counted_by_bucket() -> None:
    durations = Durations()
    for seconds in (0.0, 0.0001, 0.00011, 0.15, 99.0):
        durations.observe(seconds)
    expected = [0] * (len(DURATION_BUCKETS_S) + 1)
    expected[0], expected[1], expected[DURATION_BUCKETS_S.index(0.2)], expected[-1] = 2, 1, 1, 1
    assert durations.counts == expected
    assert durations.sum_s == pytest.approx(99.15021)


class Clock:
    """Time that passes only when the test says so."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class ScriptedExecutor:
    """Each job takes ``job_s`` on one of two workers; what comes of it is ``outcome``'s to say.

    A look takes at least 0.1 ms.
    """

    name = "scripted"
    num_workers = 2
    workers: list[WorkerStatus] = []  # noqa: RUF012

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

    def use(self, workers: int) -> None: ...

    def open(self, context: Context) -> None: ...

    def close(self) -> None: ...

    def submit(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            self.submitted += 1
            slot = self._free_s.index(min(self._free_s))
            self._free_s[slot] = max(self._free_s[slot], self._clock.now_s) + self._job_s
            self._running.append((self._free_s[slot], job))

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
    """Visits are int32: 3 cores fill them in a few minutes of tic-tac-toe."""
    coordinator = coordinator_of(replace(TIMED, seconds=1000.0))
    jobs = coordinator.start()
    while jobs and coordinator.counters.simulations <= MAX_SIMULATIONS:
        jobs += coordinator.job_done(nothing_but_visits(jobs.pop(0), 1e9))
    assert coordinator.counters.simulations <= MAX_SIMULATIONS
    assert coordinator.search.strategy.tree.visits[ROOT] == coordinator.counters.simulations


def session_of(
    request: SearchRequest, job_s: float = 0.02, outcome: Callable[[Job], Event] | None = None
) -> tuple[Session, ScriptedExecutor]:
    clock = Clock()
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


def test_a_lost_job_is_submitted_again() -> None:
    lost: set[int] = set()

    def lose_each_once(job: Job) -> Event:
        if job.index not in lost:
            lost.add(job.index)
            return JobLost(job.index, "worker died")
        return JobDone(nothing_but_visits(job))

    request = SearchRequest("tictactoe", strategy="root", lanes=7, simulations=7001, seed=1)
    session, executor = session_of(request, outcome=lose_each_once)
    result = session.run()
    assert result.stopped_by == "simulations"
    assert result.simulations == 7001
    assert result.jobs_retried == result.jobs == 7
    assert executor.submitted == 14


def test_patience_is_a_tick_without_a_budget_in_seconds() -> None:
    request = SearchRequest("tictactoe", strategy="root", lanes=2, simulations=100, seed=1)
    session, executor = session_of(request, job_s=1.0)
    result = session.run()
    assert set(executor.patience) == {TICK_S}
    assert result.elapsed_s == pytest.approx(1.0)
    assert math.isclose(result.to_json()["simulations_per_s"], 100.0)
