"""What sessions ask of whatever runs jobs: those of a search, or the games of a match.

An executor looks at no more of a job than is written here. Whatever it runs must be a pure
function of its context and itself: a lost job is run again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

DEFAULT_JOB_TIMEOUT_S = 30.0
"""How long a job may take before its worker counts as hung: two hundred times what it should."""


class Task(Protocol):
    """A job."""

    @property
    def index(self) -> int: ...

    @property
    def simulations(self) -> int:
        """How much work it is, in any unit that all jobs of one context share."""


class Outcome(Protocol):
    """What came of a job."""

    @property
    def index(self) -> int: ...

    @property
    def simulations(self) -> int: ...

    @property
    def duration_s(self) -> float: ...


class TaskWorker(Protocol):
    """Runs jobs of one kind, in one process."""

    def prepare(self, context: Any) -> None:
        """Load what the jobs of this context need."""

    def run(self, context: Any, job: Any) -> Any:
        """The outcome of one job; may take a context that was never prepared."""


@dataclass(frozen=True)
class JobDone:
    result: Any
    """An Outcome: for a search a JobResult."""


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
    """starting, idle, busy, waiting (for a machine), given back (nothing to do), or given up."""
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

    def open(self, context: Any) -> None:
        """Get ready for jobs that have this in common; returns when all workers can take some."""

    def submit(self, jobs: Iterable[Task]) -> None:
        """Run these jobs when there is room."""

    def wait(self, timeout_s: float) -> list[Event]:
        """What has happened since; blocks until something has, or for ``timeout_s``."""

    def drop(self) -> None:
        """Forget all jobs: what still comes of them is nobody's."""

    def close(self) -> None:
        """End all workers."""
