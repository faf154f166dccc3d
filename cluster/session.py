"""One search from its first job to its result: coordinator and executor brought together by a clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from cluster.coordinator import Coordinator
from cluster.executor import Event, Executor, JobDone, JobLost
from search.job import Job
from search.opening import Search
from search.result import SearchResult

GRACE_S = 0.1
"""Past a budget in seconds: how long a search waits for its very first result."""
TICK_S = 0.05
"""How long the loop sleeps at most, so that cancelling and progress are prompt."""


class Observer(Protocol):
    """Is told how a search goes; called from the loop, so it must be quick."""

    def __call__(self, session: Session) -> None: ...


@dataclass
class Session:
    """A running search as observers see it. `run` is the loop for one; who has several takes their steps."""

    coordinator: Coordinator
    executor: Executor
    clock: Callable[[], float] = time.monotonic
    elapsed_before_s: float = 0.0
    """What the search had taken when it was interrupted: it goes on from there."""
    simulations_before: int = 0
    """Likewise, once it runs: the simulations that it had."""
    started_s: float = 0.0
    """As if it had run without a break."""
    finished_s: float | None = None
    cancelled: bool = False
    failed: bool = False
    """Whether it raised."""

    @property
    def search(self) -> Search:
        return self.coordinator.search

    @property
    def elapsed_s(self) -> float:
        return (self.clock() if self.finished_s is None else self.finished_s) - self.started_s

    @property
    def outcome(self) -> str | None:
        """How the search ended: what stopped it, or ``failed``; None until then."""
        if self.failed:
            return "failed"
        return None if self.finished_s is None else self.coordinator.stopped_by

    def cancel(self) -> None:
        """End the search as soon as the loop looks up; safe in a signal handler."""
        self.cancelled = True

    def run(self, observers: tuple[Observer, ...] = ()) -> SearchResult:
        """Run to the end; raises SearchFailed. The executor is left open for the next search."""
        executor = self.executor
        try:
            executor.submit(self.begin())
            while not self.coordinator.finished:
                for event in executor.wait(self.patience_s):
                    executor.submit(self.take(event))
                self.check_stops()
                for observer in observers:
                    observer(self)
        except BaseException:
            self.failed = True
            raise
        finally:
            executor.drop()
        result = self.end()
        for observer in observers:
            observer(self)
        return result

    def begin(self) -> list[Job]:
        """Start the clock; the jobs that are to be run first."""
        self.started_s = self.clock() - self.elapsed_before_s
        self.simulations_before = self.coordinator.counters.simulations
        return self.coordinator.start(self.elapsed_s)

    def again(self) -> list[Job]:
        """All jobs that are out, for an executor that lost them without saying so."""
        return self.coordinator.start(self.elapsed_s)

    def take(self, event: Event) -> list[Job]:
        """What has become of a job: the jobs that are to be run now. Raises SearchFailed."""
        if isinstance(event, JobDone):
            return self.coordinator.job_done(event.result, self.elapsed_s)
        if isinstance(event, JobLost):
            return self.coordinator.job_lost(event.index, event.reason)
        self.coordinator.job_failed(event.index, event.error)
        return []

    def end(self) -> SearchResult:
        """Stop the clock; the result. Only when the coordinator has finished."""
        self.finished_s = self.clock()
        return self.coordinator.result(self.elapsed_s, self.executor.name)

    @property
    def patience_s(self) -> float:
        """How long to wait for events at most."""
        seconds = self.search.request.seconds
        if seconds is None:
            return TICK_S
        return max(0.001, min(TICK_S, seconds - self.elapsed_s))

    def check_stops(self) -> None:
        """End the search if it was cancelled, or its time is up; note how many workers there are."""
        # Machines may join; those that leave are expected back.
        self.coordinator.workers = max(self.coordinator.workers, self.executor.num_workers)
        if self.cancelled:
            self.coordinator.stop("cancelled")
        seconds = self.search.request.seconds
        if seconds is None or self.elapsed_s < seconds:
            return
        if self.search.strategy.absorbed or self.elapsed_s >= seconds + GRACE_S:
            self.coordinator.stop("seconds")
