"""The executor that needs nothing: jobs run one after the other in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from cluster.executor import Event, JobDone, Task, TaskWorker, WorkerStatus
from cluster.job_queue import JobQueue, Queue
from search.worker import Worker


class InlineExecutor:
    """One worker, in the caller's thread."""

    name = "inline"

    def __init__(self, make_worker: Callable[[], TaskWorker] = Worker, queue: Queue | None = None) -> None:
        self._worker = make_worker()
        self._status = WorkerStatus(slot=0, alive=True, state="idle")
        # One that is empty is false.
        self._queue: Queue = JobQueue() if queue is None else queue
        self._context: Any = None

    @property
    def num_workers(self) -> int:
        return 1

    @property
    def workers(self) -> list[WorkerStatus]:
        return [self._status]

    def use(self, workers: int) -> None:
        """There is but one worker."""

    def open(self, context: Any) -> None:
        self._context = context
        self._worker.prepare(context)

    def submit(self, jobs: Iterable[Task]) -> None:
        self._queue.add(jobs)

    def wait(self, timeout_s: float) -> list[Event]:
        """Runs the next job, however long it takes; an exception of the job is the caller's."""
        jobs = [] if self._context is None else self._queue.take(slot=0, num_slots=1, share=1, simulations=0)
        if not jobs:
            return []
        self._status.state = "busy"
        started = time.perf_counter()
        result = self._worker.run(self._context, jobs[0])
        self._status.busy_s += time.perf_counter() - started
        self._status.jobs_done += 1
        self._status.simulations += result.simulations
        self._status.state = "idle"
        return [JobDone(result)]

    def drop(self) -> None:
        self._queue.clear()

    def close(self) -> None:
        self._queue.clear()
        self._status.alive = False
