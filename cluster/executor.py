"""What the session asks of whatever runs jobs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from search.job import Context, Job, JobResult

DEFAULT_JOB_TIMEOUT_S = 30.0
"""How long a job may take before its worker counts as hung: two hundred times what it should."""


@dataclass(frozen=True)
class JobDone:
    result: JobResult


@dataclass(frozen=True)
class JobLost:
    """The worker died, or let the job's deadline pass. The job itself is not to blame, as far as is known."""

    index: int
    reason: str


@dataclass(frozen=True)
class JobFailed:
    """The job raised an exception."""

    index: int
    error: str


Event = JobDone | JobLost | JobFailed


@dataclass
class WorkerStatus:
    """One worker slot as progress and metrics show it. A slot outlives the processes that fill it."""

    slot: int
    alive: bool = False
    state: str = "starting"
    """starting, idle, busy, or late (its deadline has passed)."""
    jobs_done: int = 0
    simulations: int = 0
    busy_s: float = 0.0
    """Time spent in jobs."""
    restarts: int = 0


class Executor(Protocol):
    """Runs jobs, in any order, wherever it likes."""

    name: str

    @property
    def num_workers(self) -> int: ...

    @property
    def workers(self) -> list[WorkerStatus]: ...

    def use(self, workers: int) -> None:
        """Give jobs to so many of the workers only, from the next search on."""

    def open(self, context: Context) -> None:
        """Get ready for the jobs of one search; returns when all workers can take some."""

    def submit(self, jobs: Iterable[Job]) -> None:
        """Run these jobs when there is room."""

    def wait(self, timeout_s: float) -> list[Event]:
        """What has happened since; blocks until something has, or for ``timeout_s``."""

    def drop(self) -> None:
        """Forget all jobs: what still comes of them is nobody's."""

    def close(self) -> None:
        """End all workers."""
