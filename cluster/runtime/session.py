"""One search from its first job to its result: a coordinator with a clock, as a machine of `drive`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from cluster.runtime.drive import TICK_S, drive
from cluster.runtime.tasks import OPENED, Common, Event, Executor, JobDone, JobFailed, JobLost, Task
from search.coordinator import Coordinator, SearchFailed
from search.job import Job
from search.prepare import Search
from search.result import SearchResult
from search.worker import Worker


def task_of(job: Job, context: int = OPENED, work: int | None = None) -> Task:
    """The task that runs a job. ``work`` None: the job's number of simulations."""
    common = job.common
    return Task(
        job.index,
        job,
        job.simulations if work is None else work,
        context,
        job.lane,
        job.pieces,
        None if common is None else Common(common.key, common.statistics, common.statistics.nbytes),
        job.divided,
    )


class Observer(Protocol):
    """Called with the session after each turn of the loop and at the end; must be quick."""

    def __call__(self, session: Session) -> None: ...


@dataclass(eq=False)
class Session:
    """A running search: coordinator, executor and clock; observers read it."""

    coordinator: Coordinator
    executor: Executor
    clock: Callable[[], float] = time.monotonic
    elapsed_before_s: float = 0.0
    """Elapsed seconds of a resumed search before it was interrupted; 0 for a new one."""
    simulations_before: int = 0
    """Simulations of a resumed search before this run; set by `begin`."""
    started_s: float = 0.0
    """Start time by ``clock``, shifted back by ``elapsed_before_s``."""
    finished_s: float | None = None
    cancelled: bool = False
    failed: bool = False
    """Whether the search ended with an exception."""
    context: int = OPENED
    """The key of the context of its jobs."""
    _restarts: int = 0
    """`_restarted` at the beginning of this run."""
    work_unit_s: float | None = None
    """Unit of `Task.work`, in seconds of a worker; None: work is a number of simulations."""

    @property
    def search(self) -> Search:
        return self.coordinator.search

    @property
    def contexts(self) -> Mapping[int, Any]:
        return {self.context: self.search.context}

    @property
    def finished(self) -> bool:
        return self.coordinator.finished

    @property
    def elapsed_s(self) -> float:
        return (self.clock() if self.finished_s is None else self.finished_s) - self.started_s

    @property
    def outcome(self) -> str | None:
        """What stopped the search, or ``failed``; None while it runs."""
        if self.failed:
            return "failed"
        return None if self.finished_s is None else self.coordinator.stopped_by

    def cancel(self) -> None:
        """Request the end of the search at the next turn of the loop; safe in a signal handler."""
        self.cancelled = True

    @property
    def cancel_noted(self) -> bool:
        """Whether the search has ended; see `cluster.system.interruption.Cancellable`."""
        return self.failed or self.coordinator.finished

    def run(self, observers: tuple[Observer, ...] = ()) -> SearchResult:
        """Run the search to its end; raises SearchFailed, or the exception of a job that failed in this
        process.

        The executor stays open for the next search.
        """
        try:
            drive(self, self.executor, observers)
        except SearchFailed as failed:
            self.failed = True
            raise (failed.__cause__ or failed) from None
        except BaseException:
            self.failed = True
            raise
        result = self.end()
        for observer in observers:
            observer(self)
        return result

    def begin(self) -> list[Task]:
        """Start the clock; returns the first tasks to run."""
        self.coordinator.stopwatch = self.clock
        self.coordinator.work_in_place(self.executor.threads_here, partial(Worker().run, self.search.context))
        self.started_s = self.clock() - self.elapsed_before_s
        self.simulations_before = self.coordinator.counters.simulations
        self._restarts = self._restarted
        return self.again()

    def again(self) -> list[Task]:
        """All pending tasks, for an executor that has lost them without reporting it."""
        return self._tasks(self.coordinator.start(self.elapsed_s))

    def take(self, event: Event) -> list[Task]:
        """Take the outcome of a job; returns the tasks to run now. Raises SearchFailed."""
        jobs: list[Job] = []
        match event:
            case JobDone():
                jobs = self.coordinator.job_done(event.result, self.elapsed_s, event.held_s)
            case JobLost():
                jobs = self.coordinator.job_lost(event.index, event.reason)
            case JobFailed():
                try:
                    self.coordinator.job_failed(event.index, event.error)
                except SearchFailed as failed:
                    raise failed from event.cause
        return self._tasks(jobs)

    def _tasks(self, jobs: list[Job]) -> list[Task]:
        return [task_of(job, self.context, self._work(job)) for job in jobs]

    def _work(self, job: Job) -> int:
        if self.work_unit_s is None:
            return job.simulations
        return max(1, round(job.simulations / self.coordinator.rate / self.work_unit_s))

    def end(self) -> SearchResult:
        """Stop the clock; returns the result. Only when the coordinator has finished."""
        self.finished_s = self.clock()
        self.coordinator.executor = self.executor.name
        self.coordinator.workers_lost = max(0, self._restarted - self._restarts)
        return self.coordinator.result(self.elapsed_s)

    @property
    def _restarted(self) -> int:
        """Number of workers that were lost with their processes since the executor started."""
        return sum(worker.restarts for worker in self.executor.workers)

    @property
    def patience_s(self) -> float:
        """Longest wait for events, in seconds."""
        seconds = self.search.request.seconds
        if seconds is None:
            return TICK_S
        return max(0.001, min(TICK_S, seconds - self.elapsed_s))

    def check(self) -> None:
        """End the search if it was cancelled or its time is up; update the number of workers."""
        # The number only grows: machines that leave are expected back.
        self.coordinator.workers = max(self.coordinator.workers, self.executor.num_workers)
        if self.cancelled:
            self.coordinator.stop("cancelled")
        self.coordinator.check(self.elapsed_s)

    @property
    def left_s(self) -> float:
        """Estimated remaining seconds at the speed so far; infinity without a budget."""
        request, coordinator, left = self.search.request, self.coordinator, math.inf
        if request.seconds is not None:
            left = max(0.0, request.seconds - self.elapsed_s)
        if request.simulations is not None:
            done = coordinator.counters.simulations - self.simulations_before
            took_s = self.elapsed_s - self.elapsed_before_s
            rate = done / took_s if done and took_s > 0 else coordinator.rate
            left = min(left, (request.simulations - coordinator.counters.simulations) / rate)
        return left


def session_on(
    executor: Executor, search: Search, workers: int = 1, clock: Callable[[], float] = time.monotonic
) -> Session:
    """The session of a search on the first ``workers`` workers of an executor, which is opened for it."""
    executor.use(workers)
    executor.open(search.context)
    return Session(Coordinator(search, workers), executor, clock)
