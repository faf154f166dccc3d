"""Tasks, their events, and the interfaces of workers and executors.

A task is a job with everything that executors and queues need to know about it. They never look at the job
itself, so every executor can run any kind of job: of searches, matches and experiments. The result of a job
depends only on the job and its context: a lost job is run again with an equal result.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import games
import search
from cluster.runtime.worker_state import WorkerStatus
from games.user_games import broken_by

DEFAULT_JOB_TIMEOUT_S = 30.0
"""Seconds after which the worker of a job counts as hung: two hundred times a job's usual duration."""
OPENED = -1
"""The key of the context that an executor is opened with. Other contexts have keys from 0."""


@cache
def code_of_searches() -> str:
    """The fingerprint: 16 hex digits of a hash over the source files of `games` and `search`."""
    sha = hashlib.sha256()
    for package in (games, search):
        folder = Path(package.__path__[0])
        for file in sorted(folder.rglob("*.py")):
            sha.update(f"{file.relative_to(folder).as_posix()}\n".encode() + file.read_bytes())
    return sha.hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class Common:
    """A part that several jobs have in common. It is sent to each worker process once."""

    key: Hashable
    """Identifies the part among the common parts of its context."""
    value: Any
    """The object itself, as the job holds it."""
    nbytes: int = 0
    """Approximate size in bytes."""


@dataclass(frozen=True, eq=False)
class Task:
    """A job, and what executors and queues need to know about it."""

    index: int
    """Number of the task, unique in its context."""
    job: Any
    """The argument of `TaskWorker.run`; executors and queues do not look at it."""
    work: int = 1
    """Amount of work, in a unit that all tasks of an executor share; 0 if unknown: such tasks are never
    bundled."""
    context: int = OPENED
    """The key of the job's context."""
    lane: int | None = None
    """Number of the sequence of jobs that the job belongs to; None without lanes."""
    pieces: tuple[int, ...] = ()
    """Simulations of each piece of the lane up to this job. A worker that keeps the lane's state runs only
    the last piece, any other worker all of them. Empty if lanes have no state."""
    common: Common | None = None
    """The part that all tasks of a round have in common; None without rounds."""
    divided: bool = False
    """Whether the job has a part for each thread of the process that runs it. Its ``parts()`` are functions
    for threads side by side, which return how many jobs they ran; its ``outcome()`` is what they did. A
    worker with one thread runs the whole."""

    @property
    def key(self) -> tuple[int, int]:
        """Identifies the task among those of all contexts."""
        return (self.context, self.index)

    @property
    def common_key(self) -> Hashable:
        """Identifies the common part among those of all contexts; None without one."""
        return None if self.common is None else (self.context, self.common.key)

    @property
    def lane_key(self) -> Hashable:
        """Identifies the lane among those of all contexts; a task without a lane counts as its own lane."""
        return (self.context, self.lane) if self.lane is not None else (self.context, None, self.index)


class Outcome(Protocol):
    """What a job returns."""

    @property
    def index(self) -> int: ...

    @property
    def duration_s(self) -> float: ...


class TaskWorker(Protocol):
    """Runs jobs of one kind, in one process."""

    def prepare(self, context: Any) -> None:
        """Load what jobs of this context need."""

    def run(self, context: Any, job: Any) -> Any:
        """Run one job and return its outcome; the context need not be prepared."""


@runtime_checkable
class AwaitingWorker(TaskWorker, Protocol):
    """A worker whose jobs may await something outside of their process, several at a time."""

    def at_once(self, context: Any) -> int:
        """How many jobs of a context should be begun before the first has ended; 1: `run` them instead."""

    def begin(self, context: Any, job: Any) -> Future[Any]:
        """Begin a job; the future, which can be cancelled, gets what `run` returns or raises."""


@runtime_checkable
class JoiningWorker(TaskWorker, Protocol):
    """A worker that can run several jobs as one."""

    def together(self, context: Any, jobs: Sequence[Any], threads: int, sent: bool) -> Any | None:
        """One `divided` job in place of ``jobs``, which have consecutive indices: it has a part for each of
        ``threads`` threads, and one outcome. None if the jobs must run one by one. ``sent``: whether the
        outcome leaves this process, and is kept while other jobs run."""


@dataclass(frozen=True)
class JobDone:
    """A job has returned."""

    result: Any
    """An Outcome; in a search, a JobResult, which may be that of several jobs."""
    context: int = OPENED
    held_s: float = 0.0
    """Seconds from the end of the job to the end of its call, in which further jobs may run."""


@dataclass(frozen=True)
class JobLost:
    """The worker died or missed the job's deadline; the job itself need not be the cause."""

    index: int
    reason: str
    context: int = OPENED


@dataclass(frozen=True)
class JobFailed:
    """The job raised an exception."""

    index: int
    error: str
    """Type and message of the exception; of one in a user's file, the line too."""
    context: int = OPENED
    cause: Exception | None = None
    """The exception, if the job ran in this process."""

    @classmethod
    def by(cls, error: Exception, index: int, context: int) -> JobFailed:
        """The event of a job that raised this exception in this process."""
        return cls(index, str(broken_by(error) or f"{type(error).__name__}: {error}"), context, error)


Event = JobDone | JobLost | JobFailed


def keys_of(event: Event) -> list[tuple[int, int]]:
    """The keys of the event's tasks: see `Task.key`."""
    if not isinstance(event, JobDone):
        return [(event.context, event.index)]
    return [(event.context, event.result.index + k) for k in range(jobs_of(event.result))]


def jobs_of(result: Any) -> int:
    """The number of jobs that a result stands for."""
    return getattr(result, "jobs", 1)


def counted_of(events: Iterable[Event]) -> tuple[float, int, int]:
    """(CPU time of jobs that have returned, in seconds, infinite if a result does not say it; number of these
    jobs; simulations of their results)."""
    results = [event.result for event in events if isinstance(event, JobDone)]
    cpu_s = sum(getattr(result, "cpu_s", math.inf) for result in results)
    return cpu_s, sum(map(jobs_of, results)), sum(getattr(result, "simulations", 0) for result in results)


class Executor(Protocol):
    """Runs tasks, in any order and in any process."""

    @property
    def name(self) -> str:
        """Where jobs run: ``inline``, ``threads``, ``ray`` or ``simulated``."""

    @property
    def num_workers(self) -> int: ...

    @property
    def threads_here(self) -> int:
        """Number of threads that can share memory with their caller; 0 if tasks run in other processes."""

    @property
    def workers(self) -> list[WorkerStatus]: ...

    def use(self, workers: int) -> None:
        """Use only this many of the workers, from the next `open` on."""

    def open(self, context: Any) -> None:
        """Forget all contexts and wait until workers can take tasks.

        Workers are prepared for this context, whose key is OPENED; None: for none.
        """

    def add_context(self, key: int, context: Any) -> None:
        """Add a context, whose tasks can be submitted from then on. Its first task prepares a worker.

        Raises RuntimeError in an executor that runs one search at a time, as does `forget_context`.
        """
        raise RuntimeError(f"{self.name}: one search at a time")

    def forget_context(self, key: int) -> None:
        """Remove a context; workers drop what they keep for it."""
        raise RuntimeError(f"{self.name}: one search at a time")

    def submit(self, tasks: Iterable[Task]) -> None:
        """Queue these tasks."""

    def wait(self, timeout_s: float) -> list[Event]:
        """Return new events; blocks until there is one, for at most ``timeout_s`` seconds."""

    def drop(self) -> None:
        """Forget all tasks. Results that still arrive are discarded."""

    def close(self) -> None:
        """End all workers."""
