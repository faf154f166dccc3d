"""What the executor over Ray knows of its workers: plain values, without Ray."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cluster.executor import Task, WorkerStatus


@dataclass
class Bundle:
    """Jobs that travel in one call."""

    jobs: list[Task]
    deadline_s: float | None = None
    """Set when the bundle comes to the head of its worker's queue."""


@dataclass
class Process:
    """One actor: a worker process in a slot."""

    actor: Any
    starting: Any
    """The ObjectRef of its first call, until that has returned; then None."""
    ready_by_s: float
    """When it counts as hung if that call has not returned."""
    pid: int = 0
    node_id: str = ""
    bundles: dict[Any, Bundle] = field(default_factory=dict)
    """By ObjectRef, in the order in which they were sent."""


@dataclass
class Slot:
    status: WorkerStatus
    process: Process | None = None
    failures: int = 0
    """Processes lost in a row without a finished job."""
    rate: float = 0.0
    """Simulations a second, for the size of bundles."""
