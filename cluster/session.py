"""One search from its first job to its result: coordinator and executor brought together by a clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from cluster.coordinator import Coordinator
from cluster.executor import Executor, JobDone, JobLost
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
    """A running search as observers see it."""

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
    """Whether `run` raised."""

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
        coordinator, executor = self.coordinator, self.executor
        self.started_s = self.clock() - self.elapsed_before_s
        self.simulations_before = coordinator.counters.simulations
        try:
            executor.submit(coordinator.start(self.elapsed_s))
            while not coordinator.finished:
                for event in executor.wait(self._patience()):
                    if isinstance(event, JobDone):
                        executor.submit(coordinator.job_done(event.result, self.elapsed_s))
                    elif isinstance(event, JobLost):
                        executor.submit(coordinator.job_lost(event.index, event.reason))
                    else:
                        coordinator.job_failed(event.index, event.error)
                # Machines may join; those that leave are expected back.
                coordinator.workers = max(coordinator.workers, executor.num_workers)
                self._check_stops()
                for observer in observers:
                    observer(self)
        except BaseException:
            self.failed = True
            raise
        finally:
            executor.drop()
        self.finished_s = self.clock()
        result = coordinator.result(self.elapsed_s, executor.name)
        for observer in observers:
            observer(self)
        return result

    def _patience(self) -> float:
        seconds = self.search.request.seconds
        if seconds is None:
            return TICK_S
        return max(0.001, min(TICK_S, seconds - self.elapsed_s))

    def _check_stops(self) -> None:
        if self.cancelled:
            self.coordinator.stop("cancelled")
        seconds = self.search.request.seconds
        if seconds is None or self.elapsed_s < seconds:
            return
        if self.search.strategy.absorbed or self.elapsed_s >= seconds + GRACE_S:
            self.coordinator.stop("seconds")
