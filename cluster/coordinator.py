"""The coordinator: a state machine that owns one search.

Events go in as method calls (a job is done, lost, or failed; time is up), instructions
come out as jobs to run. No Ray, no thread and no clock in here: elapsed time is an
argument, so that the same code runs under a test, under a real cluster, and under a
virtual clock. The whole state can be taken as arrays, and given back to another coordinator.

What is kept in step, and how:
- Jobs are numbered in the order in which the strategy makes them. Results are absorbed in
  that order; one that comes early waits in `_early`.
- A result counts while its job is pending and never again: a late one is dropped.
- A lost job is handed out again as it is. It is a pure function, so its result is the one
  that was lost.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from search.job import Job, JobResult
from search.kept import Arrays, prefixed, require, take, within, without_prefix
from search.opening import Search
from search.packed_results import pack_results, unpack_results
from search.plan import job_seconds, timed_job_seconds
from search.result import SearchResult, result
from search.tree import FULL, ROOT, UNPROVEN, tree_bytes

MAX_ATTEMPTS = 5
"""A job that was lost this often takes down whatever runs it; the search gives up."""
DURATION_BUCKETS_S = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 3.0, 10.0)


class SearchFailed(RuntimeError):
    """The search cannot go on: a job failed for a reason of its own, or was lost too often."""


@dataclass
class Durations:
    """Durations counted by bucket, as a histogram wants them."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(DURATION_BUCKETS_S) + 1))
    sum_s: float = 0.0

    def observe(self, seconds: float) -> None:
        self.counts[bisect_left(DURATION_BUCKETS_S, seconds)] += 1
        self.sum_s += seconds


@dataclass
class Counters:
    """What the coordinator counts, for progress and metrics. Nothing here changes the search."""

    simulations: int = 0
    playouts: int = 0
    jobs_done: int = 0
    jobs_retried: int = 0
    late_results: int = 0
    tree_full: bool = False
    lane_tree_bytes: int = 0
    """Bytes of the largest tree that a job has reported."""
    resumed: int = 0
    """How often the search went on from a checkpoint."""
    job_durations: Durations = field(default_factory=Durations)
    merge_durations: Durations = field(default_factory=Durations)


_KEPT = (
    *("simulations", "playouts", "jobs_done", "jobs_retried", "late_results"),
    *("tree_full", "lane_tree_bytes", "resumed"),
)
"""The counters that a search takes along when it goes on elsewhere; durations are those of one process."""


@dataclass
class _Pending:
    job: Job
    attempts: int = 1


class Coordinator:
    """Owns one search: which jobs are out, which results wait, what is merged."""

    def __init__(
        self, search: Search, workers: int, stopwatch: Callable[[], float] = time.perf_counter
    ) -> None:
        self.search = search
        self.counters = Counters()
        self.stopped_by: str | None = None
        self.workers = max(1, workers)
        """How many there are; only for sizes under a budget in seconds, and to be told."""
        self._stopwatch = stopwatch
        self._pending: dict[int, _Pending] = {}
        self._early: dict[int, JobResult] = {}
        self._rate = search.game.nominal_simulations_per_s / 2
        """Simulations a second of one worker; only for sizes under a budget in seconds."""

    @property
    def finished(self) -> bool:
        return self.stopped_by is not None

    @property
    def jobs_in_flight(self) -> int:
        return len(self._pending)

    @property
    def duplicate_share(self) -> float | None:
        """The share of new nodes that more than one lane made, where it is known."""
        strategy = self.search.strategy
        return strategy.duplicates / strategy.created if strategy.created else None

    @property
    def rate(self) -> float:
        """Simulations a second of one worker, by the game's nominal cost and the jobs so far."""
        return self._rate

    @property
    def tree_nodes(self) -> int:
        return self.search.strategy.tree_nodes()

    @property
    def tree_bytes(self) -> int:
        return tree_bytes(self.search.strategy.tree)

    def start(self, elapsed_s: float = 0.0) -> list[Job]:
        """The jobs that are to be run first: in a search that goes on, those that were out, and then more.

        Also when whatever ran them has lost them all."""
        jobs = [] if self.finished else [pending.job for pending in self._pending.values()]
        return jobs + self._issue(elapsed_s)

    def job_done(self, done: JobResult, elapsed_s: float = 0.0) -> list[Job]:
        """A result has come: the jobs that are to be run now. It is absorbed when all before it have been."""
        pending = self._pending.pop(done.index, None)
        if pending is None or self.finished:
            self.counters.late_results += 1
            return []
        self.counters.job_durations.observe(done.duration_s)
        if done.simulations and done.duration_s > 0:
            self._rate += 0.2 * (done.simulations / done.duration_s - self._rate)
        self._early[done.index] = done
        jobs: list[Job] = []
        strategy = self.search.strategy
        while not self.finished and strategy.absorbed in self._early:
            self._absorb(strategy.jobs[strategy.absorbed], self._early.pop(strategy.absorbed))
            # After each result and not after all that have come: what a job is made from must
            # not depend on how many results came together.
            jobs += self._issue(elapsed_s)
        return jobs

    def job_lost(self, index: int, reason: str) -> list[Job]:
        """A job's worker died or let its deadline pass: the job is handed out again (if it still matters)."""
        pending = self._pending.get(index)
        if pending is None or self.finished:
            return []
        if pending.attempts == MAX_ATTEMPTS:
            raise SearchFailed(f"job {index} was lost {MAX_ATTEMPTS} times; the last time: {reason}")
        pending.attempts += 1
        self.counters.jobs_retried += 1
        return [pending.job]

    def job_failed(self, index: int, error: str) -> None:
        """A job raised: it would do so again, so the search ends."""
        if index in self._pending and not self.finished:
            raise SearchFailed(f"job {index} failed: {error}")

    def stop(self, reason: str) -> None:
        """End the search with what has been absorbed; a search that is over stays as it is."""
        if not self.finished:
            self.stopped_by = reason

    def result(self, elapsed_s: float, executor: str) -> SearchResult:
        """The final result; only when finished."""
        assert self.stopped_by is not None
        return result(
            self.search,
            workers=self.workers,
            executor=executor,
            simulations=self.counters.simulations,
            playouts=self.counters.playouts,
            tree_full=self.counters.tree_full,
            jobs_retried=self.counters.jobs_retried,
            resumed=self.counters.resumed,
            elapsed_s=elapsed_s,
            stopped_by=self.stopped_by,
        )

    def state(self) -> Arrays:
        """All that the search goes on from, but for what stopped it: see `restore`."""
        strategy = self.search.strategy
        counters = [int(getattr(self.counters, name)) for name in _KEPT]
        early = pack_results(list(self._early.values()), strategy.lone_root)
        return strategy.state() | prefixed("early.", early) | {"counters": np.array(counters, dtype=np.int64)}

    def restore(self, arrays: Arrays, stopped_by: str | None = None) -> None:
        """Go on from a state of the same search; only before `start`.

        Raises Unsound if it cannot be one, and then the coordinator is not to be used.
        """
        strategy, plan = self.search.strategy, self.search.plan
        strategy.restore(arrays)
        if plan is not None:
            sizes = all(plan.size(index) == job.simulations for index, job in strategy.jobs.items())
            require(strategy.issued <= plan.jobs and sizes, "jobs are not those of the request")
        most_rows = max(1, self.search.context.tree_slots)
        early = without_prefix("early.", arrays)
        evaluated = self.search.context.features.priors
        self._early = unpack_results(early, strategy.jobs, most_rows, strategy.lone_root, evaluated)
        self._pending = {
            index: _Pending(job) for index, job in strategy.jobs.items() if index not in self._early
        }
        counts = take(arrays, "counters", np.int64, len(_KEPT))
        within(counts, 0, 2**62, "counters")
        for name, count in zip(_KEPT, counts.tolist(), strict=True):
            setattr(self.counters, name, bool(count) if name == "tree_full" else count)
        require(
            self.counters.simulations == strategy.tree.visits[ROOT], "simulations are not as many as visits"
        )
        self.stopped_by = stopped_by
        require(self.finished or strategy.absorbed not in self._early, "a result whose turn it is waits")
        self.counters.resumed += not self.finished

    def _issue(self, elapsed_s: float) -> list[Job]:
        """Make all jobs that can be made."""
        jobs: list[Job] = []
        strategy = self.search.strategy
        while not self.finished and strategy.ready:
            size = self._next_size(elapsed_s)
            if size == 0:
                break
            job = strategy.next_job(size)
            self._pending[job.index] = _Pending(job)
            jobs.append(job)
        return jobs

    def _next_size(self, elapsed_s: float) -> int:
        plan = self.search.plan
        if plan is not None:
            index = self.search.strategy.issued
            return plan.size(index) if index < plan.jobs else 0
        room = (
            self.search.request.most_simulations - self.counters.simulations - self.search.strategy.unobserved
        )
        request, lanes = self.search.request, self.search.strategy.lanes
        if request.seconds is None:
            job_s = job_seconds(lanes)
        else:
            # Two are on their way to each worker, and none is to outlive the budget.
            job_s = timed_job_seconds(request, lanes, self.workers, (request.seconds - elapsed_s) / 4)
        return min(room, self.search.strategy.most, max(1, round(self._rate * job_s)))

    def _absorb(self, job: Job, done: JobResult) -> None:
        started = self._stopwatch()
        strategy = self.search.strategy
        strategy.absorb(job, done)
        counters = self.counters
        counters.merge_durations.observe(self._stopwatch() - started)
        counters.jobs_done += 1
        counters.simulations += done.simulations
        counters.playouts += done.playouts
        counters.lane_tree_bytes = max(counters.lane_tree_bytes, done.tree_bytes)
        counters.tree_full |= done.tree_full or bool(strategy.tree.counts[FULL])
        plan = self.search.plan
        if strategy.proven != UNPROVEN:
            self.stop("proven")
        elif counters.simulations == self.search.request.most_simulations or (
            plan and strategy.absorbed == plan.jobs
        ):
            self.stop("simulations")
        elif counters.tree_full and self.search.request.stop_when_full:
            self.stop("memory")
