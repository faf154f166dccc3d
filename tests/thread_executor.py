"""An executor with several workers in one process: threads, for kernels leave Python's lock alone."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable
from typing import Any

from cluster.runtime.tasks import Event, JobDone, JobFailed, Task
from cluster.runtime.worker_state import WorkerStatus
from search.worker import Worker


class Fake:
    """The base of executors for tests: what most of them do not need."""

    name = "fake"
    num_workers = 1
    threads_here = 0

    @property
    def workers(self) -> list[WorkerStatus]:
        return []

    def use(self, workers: int) -> None: ...

    def open(self, context: Any) -> None: ...

    def drop(self) -> None: ...

    def close(self) -> None: ...


class ThreadExecutor(Fake):
    """Jobs go to whichever thread is free, so that results come in any order."""

    name = "threads"

    def __init__(self, workers: int) -> None:
        self._jobs: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.num_workers = workers
        self._context: Any = None

    def open(self, context: Any) -> None:
        self._context = context
        Worker().prepare(context)
        for _ in range(self.num_workers):
            threading.Thread(target=self._work, daemon=True).start()

    def submit(self, jobs: Iterable[Task]) -> None:
        for job in jobs:
            self._jobs.put(job)

    def wait(self, timeout_s: float) -> list[Event]:
        try:
            return [self._events.get(timeout=timeout_s)]
        except queue.Empty:
            return []

    def _work(self) -> None:
        worker = Worker()
        while True:
            task = self._jobs.get()
            try:
                self._events.put(JobDone(worker.run(self._context, task.job)))
            except Exception as error:
                self._events.put(JobFailed(task.index, repr(error)))
