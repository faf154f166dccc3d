"""A worker slot, the process in it, and the bundles of jobs that the process has."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from cluster.runtime.tasks import Task
from cluster.runtime.worker_state import WorkerState, WorkerStatus


@dataclass
class Bundle:
    """The jobs of one call."""

    jobs: list[Task]
    sent_s: float = field(default_factory=time.monotonic)
    deadline_s: float | None = None
    """Time limit by `Process.clock`; set when the bundle becomes the first in its worker's queue."""


@dataclass(eq=False)
class Process:
    """One actor: a worker process in a slot."""

    actor: Any
    preparing: Any
    """The future of its latest `prepare` call."""
    ready_by_s: float
    """When the process counts as hung if `preparing` has not returned, by `clock`."""
    waited_s: Callable[[Process], float] = lambda process: 0.0
    """Returns the seconds in which a process was ready to run and had no core."""
    extensions: int = 0
    """How often ``ready_by_s`` was put off, because the machine is crowded."""
    pid: int = 0
    node_id: str = ""
    contexts: set[int] = field(default_factory=set)
    """Keys of the contexts that were sent to the process."""
    shared_key: Hashable = None
    """Key of the shared part that was sent to the process last."""
    bundles: dict[Any, Bundle] = field(default_factory=dict)
    """Pending bundles by the future of their call, in the order in which they were sent."""
    at_once: int = 1
    """How many jobs are begun before the first has ended. If several, one bundle is in flight."""
    begun: dict[tuple[int, int], Task] = field(default_factory=dict)
    """By `Task.key`: jobs whose call has returned, but which await something and have not ended."""
    ended_s: float = 0.0
    """If jobs are ``begun``: when the last one ended, or else the first was begun, by `clock`."""

    @property
    def clock(self) -> float:
        """The time without the seconds in which the process waited for a core: on a busy machine a worker,
        which gives way to other programs, is slow, and does not hang."""
        return time.monotonic() - self.waited_s(self)

    @property
    def head(self) -> Bundle | None:
        """The pending bundle that was sent first: what the process works on."""
        return next(iter(self.bundles.values()), None)

    @property
    def jobs(self) -> list[Task]:
        """All pending jobs of the process."""
        return [*self.begun.values(), *(job for bundle in self.bundles.values() for job in bundle.jobs)]

    @property
    def idle(self) -> bool:
        """Whether it has no jobs, and no call."""
        return not self.bundles and not self.begun

    def forget(self) -> None:
        """Forget all jobs and calls."""
        self.bundles.clear()
        self.begun.clear()

    def take(self, bundle: Bundle, ended: Iterable[tuple[int, int]]) -> list[Task]:
        """Note that the call of a bundle has returned with the jobs of these keys; returns the jobs.

        Those that did not come are begun.
        """
        now_s = self.clock
        if not self.begun:
            self.ended_s = now_s
        self.begun.update({task.key: task for task in bundle.jobs})
        found = [self.begun.pop(key) for key in ended]
        if found:
            self.ended_s = now_s
        return found


@dataclass
class Slot:
    status: WorkerStatus
    process: Process | None = None
    failures: int = 0
    """Consecutive failures without a finished job."""
    rate: float = 0.0
    """Work per second, for the size of bundles."""

    def empty(self, state: WorkerState, reason: str) -> None:
        """Take away the process, which has ended or is left alone."""
        self.process = None
        self.status.become(state, reason)

    def work(self) -> None:
        """Note what a busy worker works on."""
        head = None if self.process is None else self.process.head
        if head is not None and head.jobs:
            self.status.context = head.jobs[0].context
        self.status.become(WorkerState.BUSY)

    def rest(self) -> None:
        """Note that a busy worker may have no jobs left, or goes on with others."""
        if self.status.state is WorkerState.BUSY and self.process is not None:
            if self.process.idle:
                self.status.become(WorkerState.IDLE)
            else:
                self.work()
