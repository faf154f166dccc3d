"""The workers of one process: one for each context of its tasks."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import Future
from typing import Any, cast

from cluster.runtime.tasks import OPENED, AwaitingWorker, LaneWorker, TaskWorker


class ContextWorkers:
    """Contexts by key, and their workers; a worker is created with the first task of its context."""

    def __init__(self, make_worker: Callable[[], TaskWorker]) -> None:
        """Creates the first worker at once; raises what ``make_worker`` raises."""
        self._make_worker = make_worker
        self._first = make_worker()
        self._contexts: dict[int, Any] = {}
        self._workers: dict[int, TaskWorker] = {}
        self.at_once = 1
        """How many jobs of the context OPENED should be begun before the first has ended; those of other
        contexts run one at a time."""

    def open(self, context: Any) -> None:
        """Forget all contexts and prepare a worker for this one, with key OPENED; None prepares nothing."""
        self._contexts.clear()
        self._workers.clear()
        self.at_once = 1
        if context is not None:
            self._contexts[OPENED] = context
            worker = self._worker(OPENED)
            if isinstance(worker, AwaitingWorker):
                self.at_once = worker.at_once(context)

    def add(self, key: int, context: Any) -> None:
        """Add a context, whose tasks can be run from then on."""
        self._contexts[key] = context

    def keep_only(self, keys: Collection[int]) -> None:
        """Forget all other contexts and their workers."""
        for key in [each for each in self._contexts if each not in keys]:
            del self._contexts[key]
            self._workers.pop(key, None)

    def run(self, key: int, job: Any) -> Any:
        """Run a job in the context with this key; returns its outcome."""
        return self._worker(key).run(self._contexts[key], job)

    def begin(self, key: int, job: Any) -> Future[Any] | None:
        """Begin a job in the context with this key; None if such jobs `run` one at a time."""
        if key != OPENED or self.at_once == 1:
            return None
        return cast("AwaitingWorker", self._worker(key)).begin(self._contexts[key], job)

    def hand_over(self, key: int, lane: int) -> Any:
        """Remove and return the state of a lane; None if this process does not have it."""
        worker = self._workers.get(key)
        return None if worker is None else cast("LaneWorker", worker).hand_over(self._contexts[key], lane)

    def take_over(self, key: int, lane: int, state: Any) -> None:
        """Store the state of a lane that was removed from another process."""
        cast("LaneWorker", self._worker(key)).take_over(self._contexts[key], lane, state)

    def _worker(self, key: int) -> TaskWorker:
        worker = self._workers.get(key)
        if worker is None:
            worker = self._first if key == OPENED else self._make_worker()
            worker.prepare(self._contexts[key])
            self._workers[key] = worker
        return worker
