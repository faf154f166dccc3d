"""The state of a worker: which states there are, which may follow which, and a log of the changes.

A worker is known by the number of its slot. The slot outlives its processes: the place of one that is lost is
taken by another.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

KEPT = 1000
"""Number of changes that a log keeps; the oldest are dropped."""


class WorkerState(StrEnum):
    """What a worker does, in the words that views and the API of the service show."""

    WAITING = "waiting"
    """It has no process, and waits for a machine with room for one."""
    STARTING = "starting"
    """Its process was started and has not been ready yet."""
    PREPARING = "preparing"
    """Its process has been ready before and gets ready for another search."""
    IDLE = "idle"
    BUSY = "busy"
    LOST = "lost"
    """Its process died or hangs; what comes next is decided at once."""
    GIVEN_BACK = "given back"
    """Its process was ended because it had nothing to do."""
    GIVEN_UP = "given up"
    """Its processes died too often. New machines, and new searches, give it another chance."""
    ENDED = "ended"
    """Its process was ended with the executor."""

    @property
    def ready(self) -> bool:
        """Whether it can take jobs."""
        return self in (WorkerState.IDLE, WorkerState.BUSY)

    @property
    def alive(self) -> bool:
        """Whether its process has been ready and is still there."""
        return self.ready or self is WorkerState.PREPARING


_S = WorkerState
ALLOWED = {
    _S.WAITING: {_S.STARTING, _S.GIVEN_UP},
    _S.STARTING: {_S.IDLE, _S.WAITING, _S.LOST, _S.ENDED},
    _S.PREPARING: {_S.IDLE, _S.GIVEN_BACK, _S.LOST, _S.ENDED},
    _S.IDLE: {_S.BUSY, _S.PREPARING, _S.GIVEN_BACK, _S.LOST, _S.ENDED},
    _S.BUSY: {_S.IDLE, _S.PREPARING, _S.LOST, _S.ENDED},
    _S.LOST: {_S.STARTING, _S.WAITING, _S.GIVEN_UP},
    _S.GIVEN_BACK: {_S.STARTING, _S.WAITING},
    _S.GIVEN_UP: {_S.STARTING, _S.WAITING},
    _S.ENDED: set[WorkerState](),
}
"""The states that may follow each state."""


@dataclass(frozen=True)
class Change:
    """One change of the state of a worker."""

    time_s: float
    worker: int
    before: WorkerState
    after: WorkerState
    reason: str
    machine: str = ""
    """The machine of its process, as in `WorkerStatus`."""
    number: int = 0
    """Its number among all changes of its log, from 1."""

    def __str__(self) -> str:
        because = f" ({self.reason})" if self.reason else ""
        return f"{self.time_s:.1f} s: worker {self.worker}: {self.before} -> {self.after}{because}"


class WorkerLog:
    """The latest changes of the workers of an executor. Those between idle and busy are left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.changes: deque[Change] = deque(maxlen=KEPT)
        self.total = 0
        """Number of changes so far, including those dropped."""
        self._clock = clock

    def add(
        self, worker: int, before: WorkerState, after: WorkerState, reason: str, machine: str = ""
    ) -> None:
        """Add a change that happens now."""
        self.total += 1
        self.changes.append(Change(self._clock(), worker, before, after, reason, machine, self.total))

    def last_loss(self) -> str:
        """The reason of the latest loss of a process; empty if none was lost."""
        losses = (each.reason for each in reversed(self.changes) if each.after is WorkerState.LOST)
        return next(losses, "")


@dataclass
class WorkerStatus:
    """The state and the totals of a worker, for progress and metrics."""

    slot: int
    state: WorkerState = WorkerState.WAITING
    """To be changed by `become` only."""
    log: WorkerLog = field(default_factory=WorkerLog, repr=False)
    machine: str = ""
    """The machine of its process, or of the last one, as a name for people; empty before the first."""
    pid: int = 0
    """The id of that process on its machine; 0 before the first."""
    context: int | None = None
    """The key of the context of the job that it runs, or ran last."""
    jobs_done: int = 0
    simulations: int = 0
    """Simulations of the results of its jobs."""
    busy_s: float = 0.0
    """Seconds spent in jobs that have ended."""
    cpu_s: float = 0.0
    """Seconds of these in which it had a core. Jobs that wait for something else, such as an evaluator, count
    as if they had one all the time."""
    begun_s: float = 0.0
    """When it began what it does now, by ``time.monotonic``; only while it is busy."""
    out_bytes: int = 0
    """Bytes of jobs, and of what they need, sent to its processes; the first worker of a process counts those
    of all. Always 0 for threads, which share memory with the coordinator."""
    in_bytes: int = 0
    """Bytes of results that they returned, counted likewise."""
    restarts: int = 0
    """Number of processes lost."""
    left: int = 0
    """Number of processes that were alive and are not any more."""

    @property
    def alive(self) -> bool:
        return self.state.alive

    @property
    def joined(self) -> int:
        """Number of processes that have been alive."""
        return self.left + self.alive

    def spent_s(self, now_s: float) -> float:
        """Seconds spent in jobs until now, by ``time.monotonic``, including the one that it runs."""
        return self.busy_s + (max(0.0, now_s - self.begun_s) if self.state is WorkerState.BUSY else 0.0)

    def worked(self, seconds: float, cpu_s: float, jobs: int, simulations: int) -> None:
        """Count jobs that have ended after ``seconds``, of which ``cpu_s`` with a core; what the worker does
        next begins now."""
        self.begun_s = time.monotonic()
        self.busy_s += seconds
        self.cpu_s += min(seconds, cpu_s)
        self.jobs_done += jobs
        self.simulations += simulations

    def become(self, state: WorkerState, reason: str = "") -> None:
        """Change the state, count it, and log it with its reason; nothing if it is in that state already."""
        before = self.state
        if state is before:
            return
        assert state in ALLOWED[before], f"worker {self.slot} cannot be {state} after {before}"
        if state is WorkerState.BUSY:
            self.begun_s = time.monotonic()
        self.state = state
        self.restarts += state is WorkerState.LOST
        self.left += before.alive and not state.alive
        if not (before.ready and state.ready):
            self.log.add(self.slot, before, state, reason, self.machine)
