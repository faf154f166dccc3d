"""The threads executor: tasks run in threads of this process, side by side while kernels are compiled code.

It starts at once, and nothing is copied between processes. Compiled kernels run without Python's global lock.
Rules or evaluators in plain Python hold it, and share their objects between threads; they are refused.
"""

from __future__ import annotations

import math
import os
import queue
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from cluster.runtime.drive import TICK_S
from cluster.runtime.queue import LaneAffinity, TaskQueue
from cluster.runtime.session import task_of
from cluster.runtime.tasks import OPENED, Event, Executor, JobDone, JobFailed, JobLost, Task, TaskWorker
from cluster.runtime.worker_state import WorkerState, WorkerStatus
from cluster.workers.contexts import ContextWorkers
from cluster.workers.inline import run_task
from games.errors import InvalidInput, foreign
from search.worker import Worker, why_one_at_a_time


class ThreadsExecutor(Executor):
    """A worker slot for each thread. Its methods are called in one thread, that of the search."""

    name = "threads"

    def __init__(
        self,
        threads: int,
        make_worker: Callable[[], TaskWorker] = Worker,
        first: ContextWorkers | None = None,
    ) -> None:
        """``first``: the workers of the first thread, if they are there already."""
        self._workers = [first or ContextWorkers(make_worker)]
        self._workers += [ContextWorkers(make_worker) for _ in range(1, threads)]
        machine = socket.gethostname()
        self._statuses = [
            WorkerStatus(slot, WorkerState.IDLE, machine=machine, pid=os.getpid()) for slot in range(threads)
        ]
        self._used = threads
        self._affinity = LaneAffinity(range(threads))
        self._queue = TaskQueue(self._affinity)
        self._divided: deque[Task] = deque()
        """Tasks that use all threads; the first has begun if ``_together``."""
        self._together = False
        self._parts: dict[int, Callable[[], int]] = {}
        """What each thread has to do for such a task, by slot, until it begins."""
        self._began_s, self._pace_s = 0.0, math.inf
        """When such a task began, and the seconds that the last one took for each of its simulations."""
        self._failed: Exception | None = None
        """What a part has raised."""
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._changed = threading.Condition()
        """Guards the queue of tasks, parts, the number of running ones, and ``_closed``."""
        self._running = 0
        self._closed = False
        self._threads = [
            threading.Thread(target=self._serve, args=(slot,), name=f"banyan worker {slot}", daemon=True)
            for slot in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def num_workers(self) -> int:
        return self._used

    @property
    def threads_here(self) -> int:
        return self._used

    @property
    def workers(self) -> list[WorkerStatus]:
        return self._statuses[: self._used]

    @property
    def thread_ids(self) -> list[int]:
        """The threads' ids in the operating system."""
        return [thread.native_id for thread in self._threads if thread.native_id is not None]

    def use(self, workers: int) -> None:
        self.drop()
        self._used = min(workers, len(self._threads))
        self._affinity.clear()
        self._affinity.settle(range(self._used), range(self._used))

    def open(self, context: Any) -> None:
        """Raises InvalidInput (executor) where jobs cannot run side by side in a process."""
        if (why := why_one_at_a_time(context)) is not None:
            raise InvalidInput("executor", self.name, f"inline or ray: {why}")
        self.drop()
        self._affinity.clear()
        # The first one compiles the kernels or loads them; the others prepare in their threads.
        self._workers[0].open(context)
        for workers in self._workers[1:]:
            workers.open(None)
            workers.add(OPENED, context)

    def submit(self, tasks: Iterable[Task]) -> None:
        by_key = {task.key: task for task in tasks}
        jobs = [(*key, task.job) for key, task in by_key.items()]
        joined = self._workers[0].joined(jobs, self._used, sent=False)
        singles = [by_key[key, indices[0]] for key, indices, _ in joined]
        found = zip(singles, joined, strict=True)
        self._begin([task if task.job is job else task_of(job, key) for task, (key, _, job) in found])

    def _begin(self, tasks: list[Task]) -> None:
        self._divided.extend(task for task in tasks if task.divided)
        with self._changed:
            self._queue.add(task for task in tasks if not task.divided)
            self._changed.notify_all()

    def wait(self, timeout_s: float) -> list[Event]:
        if self._divided:
            return self._run_together(self._divided[0], timeout_s)
        try:
            events = [self._events.get(timeout=timeout_s)]
        except queue.Empty:
            return []
        while not self._events.empty():
            events.append(self._events.get())
        return events

    def outcomes(self, tasks: list[Task]) -> Iterable[JobDone | JobFailed]:
        """Run tasks that `ContextWorkers.joined` has made, and yield their events as they come."""
        self._begin(tasks)
        left = len(tasks)
        while left:
            for event in self.wait(TICK_S):
                assert not isinstance(event, JobLost)
                left -= 1
                yield event

    def of_lane(self, lane: int) -> ContextWorkers:
        """The workers of the thread that keeps the state of a lane."""
        return self._workers[self._affinity.of(lane) or 0]

    def drop(self) -> None:
        """Forget all tasks; waits for the end of those that run."""
        with self._changed:
            self._queue.clear()
            self._parts.clear()
            if self._together:
                self._divided[0].job.stop()
            self._changed.wait_for(lambda: not self._running)
        self._divided.clear()
        self._together = False
        while not self._events.empty():
            self._events.get()

    def close(self) -> None:
        self.drop()
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        for status in self._statuses:
            status.become(WorkerState.ENDED)

    def _serve(self, slot: int) -> None:
        """Run tasks, and parts of tasks, until the executor is closed."""
        while True:
            tasks: list[Task] = []
            with self._changed:
                while not self._closed and (part := self._parts.pop(slot, None)) is None:
                    if tasks := self._take(slot):
                        break
                    self._changed.wait()
                if self._closed:
                    return
                self._running += 1
            self._run(slot, part, tasks)

    def _run(self, slot: int, part: Callable[[], int] | None, tasks: Sequence[Task]) -> None:
        """Run a part, or the first task, as the thread with that number."""
        try:
            if part is not None:
                self._run_part(slot, part)
            elif event := run_task(self._workers[slot], self._statuses[slot], tasks[0]):
                self._events.put(event)
        finally:
            with self._changed:
                self._running -= 1
                if not self._running:
                    self._changed.notify_all()

    def _run_together(self, task: Task, timeout_s: float) -> list[Event]:
        """Run a task in all threads; returns its event when all have done their part, or none before that.

        The caller does the first thread's part of a task that is over soon: it has a core, while threads that
        are woken together may be given the same one, for longer than such a task takes.
        """
        first = None
        patience_s = None if task.job.changes_tree else timeout_s
        with self._changed:
            if not self._together:
                self._began_s = time.perf_counter()
                self._parts = dict(enumerate(task.job.parts()))
                self._together, self._failed = True, None
                soon = patience_s is None or task.job.simulations * self._pace_s < TICK_S
                if soon and not (self._running or len(self._queue)):
                    first = self._parts.pop(0)
                    self._running += 1
                self._changed.notify_all()
        if first is not None:
            self._run(0, first, ())
        with self._changed:
            if not self._changed.wait_for(lambda: not self._parts and not self._running, patience_s):
                return []
        self._divided.popleft()
        self._together = False
        self._pace_s = (time.perf_counter() - self._began_s) / max(1, task.job.simulations)
        if self._failed is not None:
            return [JobFailed.by(self._failed, task.index, task.context)]
        return [JobDone(task.job.outcome(), task.context)]

    def _run_part(self, slot: int, part: Callable[[], int]) -> None:
        status = self._statuses[slot]
        status.become(WorkerState.BUSY)
        started, cpu_s = time.perf_counter(), time.thread_time()
        jobs = 0
        try:
            jobs = foreign(part)
        except Exception as error:
            self._failed = error
        took_s = time.perf_counter() - started
        # Threads that change the tree wait for each other, which is no want of cores.
        waits = self._divided[0].job.changes_tree
        status.worked(took_s, took_s if waits else time.thread_time() - cpu_s, jobs, 0)
        status.become(WorkerState.IDLE)

    def _take(self, slot: int) -> list[Task]:
        """The next task of a thread, or none."""
        if slot >= self._used:
            return []
        return self._queue.take([slot], num_slots=self._used, most=1, work=0)
