"""The inline executor: tasks run in this process, one after the other unless they await something."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

from cluster.runtime.queue import LaneAffinity, TaskQueue
from cluster.runtime.tasks import OPENED, Event, JobDone, JobFailed, Task, TaskWorker, counted_of
from cluster.runtime.worker_state import WorkerState, WorkerStatus
from cluster.workers.contexts import ContextWorkers
from search.worker import Worker


class InlineExecutor:
    """One worker slot, in the caller's thread."""

    name = "inline"
    num_workers = threads_here = 1

    def __init__(
        self, make_worker: Callable[[], TaskWorker] = Worker, queue: TaskQueue | None = None
    ) -> None:
        self._workers = ContextWorkers(make_worker)
        self._counted_s = 0.0
        """Until when the time with tasks in flight has been counted."""
        self._contexts: set[int] = set()
        machine = socket.gethostname()
        self._status = WorkerStatus(0, WorkerState.IDLE, machine=machine, pid=os.getpid())
        self._queue = TaskQueue(LaneAffinity([0])) if queue is None else queue

    @property
    def workers(self) -> list[WorkerStatus]:
        return [self._status]

    def use(self, workers: int) -> None:
        """Changes nothing: there is one worker."""

    def open(self, context: Any) -> None:
        self.drop()
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
        """Runs the next task, however long it takes. Of tasks that await something, begins as many as may
        run at once, and waits up to ``timeout_s`` seconds for one to end."""
        workers = self._workers
        while len(workers.begun) < workers.at_once:
            tasks = self._queue.take([0], num_slots=1, most=1, work=0)
            if not tasks:
                break
            self._counted_s = self._counted_s if workers.begun else time.perf_counter()
            event = run_task(workers, self._status, tasks[0])
            if event is not None:
                return [event, *self._ended(0.0)]
        return self._ended(timeout_s)

    def drop(self) -> None:
        self._queue.clear()
        self._workers.begun.cancel()
        if self._status.state is WorkerState.BUSY:
            self._status.become(WorkerState.IDLE)

    def close(self) -> None:
        self.drop()
        self._status.become(WorkerState.ENDED)

    def _ended(self, timeout_s: float) -> list[Event]:
        """The events of begun tasks that have ended; waits for the first."""
        status, events = self._status, self._workers.ended(timeout_s)
        if events:
            now_s = time.perf_counter()
            status.worked(now_s - self._counted_s, *counted_of(events))
            self._counted_s = now_s
            status.become(WorkerState.BUSY if self._workers.begun else WorkerState.IDLE)
        return [*events]


def run_task(workers: ContextWorkers, status: WorkerStatus, task: Task) -> JobDone | JobFailed | None:
    """Run a task in this thread and return its event, or begin it: then None. ``status`` is modified in
    place."""
    status.context = task.context
    status.become(WorkerState.BUSY)
    started = time.perf_counter()
    event = workers.run(task.context, task.index, task.job)
    if event is not None:
        status.worked(time.perf_counter() - started, *counted_of([event]))
        status.become(WorkerState.BUSY if workers.begun else WorkerState.IDLE)
    return event
