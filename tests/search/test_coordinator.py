"""The coordinator as a state machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from search.coordinator import (
    DURATION_BUCKETS_S,
    MAX_ATTEMPTS,
    Coordinator,
    Durations,
    RoundCosts,
    SearchFailed,
)
from search.job import GrowJob, Job, JobResult, LaneJob
from search.prepare import open_search
from search.request import SearchRequest
from search.strategies.tree import resized
from search.tree.arena import ROOT
from search.worker import Worker

REQUEST = SearchRequest("tictactoe", strategy="tree", lanes=3, rounds=4, simulations=120, seed=1)


def coordinator_of(request: SearchRequest, workers: int = 2) -> Coordinator:
    return Coordinator(open_search(request), workers)


def begun() -> tuple[Coordinator, list[Job]]:
    """A search, and its first jobs."""
    coordinator = coordinator_of(REQUEST)
    return coordinator, coordinator.start()


def run(coordinator: Coordinator, job: Job) -> JobResult:
    return Worker().run(coordinator.search.context, job)


def finish(coordinator: Coordinator, jobs: list[Job]) -> None:
    while jobs:
        jobs += coordinator.job_done(run(coordinator, jobs.pop(0)))


def test_a_result_that_comes_early_waits() -> None:
    coordinator, jobs = begun()
    # One for each lane.
    assert [(job.index, job.simulations) for job in jobs] == [(0, 10), (1, 10), (2, 10)]
    assert coordinator.jobs_in_flight == 3
    assert not coordinator.finished
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


def test_late_results_are_dropped_and_counted() -> None:
    coordinator, jobs = begun()
    early, done = run(coordinator, jobs[2]), run(coordinator, jobs[0])
    # Of a job whose result waits, of one that was given up and has run again, of none, and after the end.
    coordinator.job_done(early)
    assert coordinator.job_done(replace(early, simulations=999)) == []
    (again,) = coordinator.job_lost(0, "deadline")
    coordinator.job_done(done)
    assert coordinator.job_done(run(coordinator, again)) == []
    assert coordinator.job_done(replace(done, index=999)) == []
    assert (coordinator.counters.late_results, coordinator.counters.simulations) == (3, 10)
    finish(coordinator, jobs[1:2])
    assert (coordinator.job_done(done), coordinator.counters.late_results) == ([], 4)
    assert (coordinator.counters.jobs_done, coordinator.counters.simulations) == (12, 120)


def test_a_lost_job_is_handed_out_again_as_it_is() -> None:
    coordinator, jobs = begun()
    assert coordinator.job_lost(1, "worker died") == [jobs[1]]
    assert coordinator.counters.jobs_retried == 1
    assert coordinator.jobs_in_flight == 3
    finish(coordinator, jobs)
    assert coordinator.result(1.0, "test").jobs_retried == 1
    untroubled = coordinator_of(REQUEST)
    finish(untroubled, untroubled.start())
    assert untroubled.result(1.0, "test").digest == coordinator.result(1.0, "test").digest


def test_a_loss_that_matters_no_more_is_ignored() -> None:
    coordinator, jobs = begun()
    coordinator.job_done(run(coordinator, jobs[2]))
    assert coordinator.job_lost(2, "worker died") == []
    assert coordinator.job_lost(77, "worker died") == []
    coordinator.stop("cancelled")
    assert coordinator.job_lost(0, "worker died") == []
    coordinator.job_failed(0, "too late")
    assert coordinator.counters.jobs_retried == 0


def test_a_job_that_is_lost_too_often_fails_the_search() -> None:
    coordinator, _ = begun()
    for _ in range(MAX_ATTEMPTS - 1):
        assert len(coordinator.job_lost(0, "worker died")) == 1
        coordinator.job_lost(1, "worker died")
    with pytest.raises(SearchFailed, match=r"job 0 was lost 5 times.*out of memory"):
        coordinator.job_lost(0, "out of memory")
    assert coordinator.counters.jobs_retried == 2 * (MAX_ATTEMPTS - 1)


def test_a_job_that_failed_fails_the_search() -> None:
    coordinator, _ = begun()
    coordinator.job_failed(77, "nobody asked")
    with pytest.raises(SearchFailed, match="job 2 failed: ZeroDivisionError"):
        coordinator.job_failed(2, "ZeroDivisionError")


def test_stop_keeps_what_was_absorbed() -> None:
    coordinator, jobs = begun()
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
    coordinator, _ = begun()
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
    if isinstance(small, LaneJob):
        portions = resized(small.portions, 500) if small.portions is not None else None
        small = replace(small, simulations=500, portions=portions)
    coordinator.job_done(run(coordinator, small))
    coordinator.stop("cancelled")
    result = coordinator.result(1.0, "test")
    assert result.simulations == 500
    assert result.answer.best_move is not None
    assert sum(child.visits for child in result.answer.children) == 500


def test_a_search_whose_first_job_is_quick_ends_in_time() -> None:
    """In an empty tree a simulation costs a fifth of what it costs later."""
    request = SearchRequest("tictactoe", strategy="tree", lanes=1, rounds=10, seconds=0.1, seed=1)
    coordinator = Coordinator(open_search(request), 1, rate_assumed=0.01)
    now_s, per_s, (job,) = 0.0, coordinator.rate, coordinator.start()
    while True:
        took_s = job.simulations / per_s / (5.0 if now_s == 0.0 else 1.0)
        now_s += took_s
        following = coordinator.job_done(replace(run(coordinator, job), duration_s=took_s), now_s)
        coordinator.check(now_s)
        if coordinator.finished:
            break
        (job,) = following
    assert coordinator.stopped_by == "seconds"
    assert 0.1 <= now_s < 0.11


def test_durations_are_counted_by_bucket() -> None:
    durations = Durations()
    for seconds in (0.0, 0.0001, 0.00011, 0.15, 99.0):
        durations.observe(seconds)
    expected = [0] * (len(DURATION_BUCKETS_S) + 1)
    expected[0], expected[1], expected[DURATION_BUCKETS_S.index(0.2)], expected[-1] = 2, 1, 1, 1
    assert durations.counts == expected
    assert durations.sum_s == pytest.approx(99.15021)


def test_rounds_cost_what_passes_between_them() -> None:
    """By a clock that ticks at each look, jobs of known length, and results that come late."""
    ticks = iter(range(1000))
    coordinator = Coordinator(open_search(REQUEST), 2)
    coordinator.stopwatch = lambda: float(next(ticks))
    jobs, now_s = coordinator.start(), 100.0
    while jobs:
        # Those of a round run side by side, begin 7 s after the one before is over, and take 10, 11 and 12 s.
        done = [
            replace(run(coordinator, job), duration_s=10.0 + k, cpu_s=5.0 + k) for k, job in enumerate(jobs)
        ]
        following: list[Job] = []
        for k, each in enumerate(done):
            following += coordinator.job_done(each, now_s + 10.0 + k)
        # The turn after the last result takes ten looks.
        now_s += 12.0 + 10.0 + 7.0
        jobs = following
    costs = coordinator.counters.round_costs
    assert (costs.rounds, costs.jobs_s, costs.longest_s) == (4, 4 * 18.0, 4 * 7.0)
    # A look before and one after each step.
    assert (costs.merge_s, costs.snapshot_s, costs.plan_s) == (12.0, 4.0, 12.0)
    assert costs.send_s == pytest.approx(3 * 7.0)
    share = 72.0 / 3 / (28.0 + costs.serial_s)
    assert costs.efficiency(3, 3, by_rounds=True) == pytest.approx(share)
    # Two cores have two waves of three jobs; of twelve cores nine have no lane.
    assert costs.efficiency(2, 3, by_rounds=True) == pytest.approx(72.0 / 2 / (28.0 + 24.0 + costs.serial_s))
    assert costs.efficiency(12, 3, by_rounds=True) == pytest.approx(share / 4)
    assert costs.efficiency(3, 3, by_rounds=False) == pytest.approx(min(1.0, 72.0 / 3 / costs.serial_s))
    assert RoundCosts().efficiency(3, 3, by_rounds=True) is None
