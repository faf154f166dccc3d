"""The inline executor: tasks run one after the other in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from cluster.runtime.context_workers import ContextWorkers
from cluster.runtime.queue import Queue, TaskQueue
from cluster.runtime.tasks import OPENED, Event, JobDone, JobFailed, Task, TaskWorker
from cluster.runtime.worker_state import WorkerState, WorkerStatus
from search.worker import Worker


class InlineExecutor:
    """One worker slot, in the caller's thread."""

    name = "inline"

    def __init__(self, make_worker: Callable[[], TaskWorker] = Worker, queue: Queue | None = None) -> None:
        self._workers = ContextWorkers(make_worker)
        self._contexts: set[int] = set()
        self._status = WorkerStatus(slot=0, state=WorkerState.IDLE)
        # No `or` here: an empty queue is false.
        self._queue: Queue = TaskQueue() if queue is None else queue

    @property
    def num_workers(self) -> int:
        return 1

    @property
    def workers(self) -> list[WorkerStatus]:
        return [self._status]

    def use(self, workers: int) -> None:
        """Changes nothing: there is one worker."""

    def open(self, context: Any) -> None:
        self._contexts = {OPENED}
        self._workers.open(context)

    def add_context(self, key: int, context: Any) -> None:
        self._contexts.add(key)
        self._workers.add(key, context)

    def forget_context(self, key: int) -> None:
        self._contexts.discard(key)
        self._workers.keep_only(self._contexts)

    def submit(self, tasks: Iterable[Task]) -> None:
        self._queue.add(tasks)

    def wait(self, timeout_s: float) -> list[Event]:
        """Runs the next task, however long it takes."""
        tasks = self._queue.take(slot=0, num_slots=1, share=1, work=0)
        return [self._run(task) for task in tasks]

    def drop(self) -> None:
        self._queue.clear()

    def close(self) -> None:
        self._queue.clear()
        self._status.become(WorkerState.ENDED)

    def _run(self, task: Task) -> Event:
        status = self._status
        status.become(WorkerState.BUSY)
        started = time.perf_counter()
        event: Event
        try:
            event = JobDone(self._workers.run(task.context, task.job), task.context)
            status.jobs_done += 1
        except Exception as error:
            event = JobFailed(task.index, f"{type(error).__name__}: {error}", task.context, error)
        status.busy_s += time.perf_counter() - started
        status.become(WorkerState.IDLE)
        return event
