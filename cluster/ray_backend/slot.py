"""A worker slot, the process in it, and the bundles of jobs that the process has."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from cluster.runtime.tasks import Task
from cluster.runtime.worker_state import WorkerState, WorkerStatus


@dataclass
class Bundle:
    """The jobs of one call."""

    jobs: list[Task]
    deadline_s: float | None = None
    """Time limit by the monotonic clock; set when the bundle becomes the first in its worker's queue."""


@dataclass(eq=False)
class Process:
    """One actor: a worker process in a slot."""

    actor: Any
    preparing: Any
    """The future of its latest `prepare` call."""
    ready_by_s: float
    """When the process counts as hung if `preparing` has not returned."""
    pid: int = 0
    node_id: str = ""
    contexts: set[int] = field(default_factory=set)
    """Keys of the contexts that were sent to the process."""
    shared_key: Hashable = None
    """Key of the shared part that was sent to the process last."""
    bundles: dict[Any, Bundle] = field(default_factory=dict)
    """Pending bundles by the future of their call, in the order in which they were sent."""

    @property
    def jobs(self) -> list[Task]:
        """All pending jobs of the process."""
        return [job for bundle in self.bundles.values() for job in bundle.jobs]


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

    def rest(self) -> None:
        """Note that a busy worker may have no jobs left."""
        if self.status.state is WorkerState.BUSY and self.process is not None and not self.process.bundles:
            self.status.become(WorkerState.IDLE)
