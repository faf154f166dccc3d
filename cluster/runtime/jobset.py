"""Many independent units of work, in any order: games of matches, episodes, moves, units of experiments.

All commands that measure run on this scaffold. A command writes three things: a subclass of `UnitWorker`,
which runs one unit in any process; a subclass of `Units`, which says which units
are missing and takes their results; and a function that says in words what is done. Then
`cluster.launch.Launch.run_units` starts an executor, shows the progress, and runs a `Jobset` of the units to
its end. Results are kept in a folder by `cluster.system.kept_folder.Kept`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cluster.runtime.drive import TICK_S
from cluster.runtime.tasks import Event, JobDone, JobLost, Task, TaskWorker
from cluster.system.interruption import until_signal
from cluster.system.status_line import StatusLine
from cluster.system.terminal import duration
from games.user_games import Files, files_read, know_files
from search.coordinator import Ledger, LostTooOften

if TYPE_CHECKING:
    from rich.console import Console

LINE_S = 2.0
"""Shortest interval, in seconds, between two lines of progress where there is no terminal."""


class UnitFailed(RuntimeError):
    """The work cannot go on: a unit raised an exception, or was lost too often."""


@dataclass(frozen=True)
class Unit:
    """The job of a unit."""

    index: int
    """Unique in its context."""
    what: Any = None
    """What the worker needs to know besides the context and the index."""


@dataclass(frozen=True)
class UnitDone:
    """The result of a unit."""

    index: int
    found: Any
    duration_s: float
    simulations: int = 0
    """How many it made, where units are searches."""


class UnitWorker:
    """Runs units one after the other in its process. A subclass defines `load` and `find`."""

    def __init__(self) -> None:
        self._context: Any = None

    def load(self, context: Any) -> None:
        """Load what the units of a context need; called when the context differs from the one before."""

    def find(self, context: Any, unit: Unit) -> Any:
        """The result of a unit, which depends only on context and unit."""
        raise NotImplementedError

    def prepare(self, context: Any) -> None:
        """Load what the units of this context need. Raises Abandoned at a signal that cancels the work."""
        until_signal(self._prepare, context)

    def run(self, context: Any, unit: Unit) -> UnitDone:
        """Run a unit. Raises Abandoned at a signal that cancels the work, if it runs in this process."""
        return until_signal(self._run, context, unit)

    def _prepare(self, context: Any) -> None:
        if context != self._context:
            self.load(context)
            self._context = context

    def _run(self, context: Any, unit: Unit) -> UnitDone:
        started = time.perf_counter()
        self._prepare(context)
        return UnitDone(unit.index, self.find(context, unit), time.perf_counter() - started)


class Units:
    """The work of a jobset: says which units are missing, and decides when it is complete."""

    contexts: Mapping[int, Any]
    """All contexts that units may belong to, by key."""
    stopped_by: str | None = None
    """Why the work ended before its units did, such as ``cancelled``."""
    retried = 0
    """Number of units run again because their worker was lost."""

    @property
    def finished(self) -> bool:
        return self.stopped_by is not None

    @property
    def done(self) -> int:
        """Number of finished parts, such as units or moves: a line is printed only when it has changed."""
        raise NotImplementedError

    def missing(self) -> Sequence[Task]:
        """The units that remain to be run, in their preferred order."""
        raise NotImplementedError

    def take(self, context: int, result: Any) -> None:
        """Take the result of a unit; called once for each."""
        raise NotImplementedError

    def note_retry(self, context: int) -> None:
        """Note that a unit of the context was lost with its worker and is run again."""
        self.retried += 1

    def fail(self, context: int, index: int, error: str, cause: Exception | None) -> None:
        """Note that a unit raised, or its result could not be sent. Raises to end the whole jobset.

        ``cause`` is the exception itself, if the unit ran in this process.
        """
        raise UnitFailed(error) from cause

    def give_up(self, context: int, index: int, reason: str) -> None:
        """Note that a unit was lost too often. Raises to end the whole jobset."""
        raise UnitFailed(f"unit {index} was {reason}")

    def stop(self, reason: str) -> None:
        """End with the units that are done; no effect after the end."""
        if not self.finished:
            self.stopped_by = reason


U = TypeVar("U", bound=Units)


class Jobset(Generic[U]):
    """A machine (see `cluster.runtime.drive`) that runs units. `cancel` is safe in a signal handler."""

    patience_s = TICK_S

    def __init__(self, units: U, clock: Callable[[], float] = time.monotonic) -> None:
        self.units = units
        self.cancelled = False
        self._clock = clock
        self._started_s = clock()
        self._ledger: Ledger[Task] = Ledger()
        for task in () if units.finished else units.missing():
            self._ledger.hand_out((task.context, task.index), task)
        self._left = Counter(task.context for task in self._ledger.items)
        """Number of pending units by context."""
        self.contexts = {key: context for key, context in units.contexts.items() if self._left[key]}
        """The contexts of pending units, by key."""

    @property
    def finished(self) -> bool:
        return self.units.finished

    @property
    def elapsed_s(self) -> float:
        """Seconds since `begin`."""
        return self._clock() - self._started_s

    def cancel(self) -> None:
        """Request the end, with the units done so far; the loop notices it soon."""
        self.cancelled = True

    @property
    def cancel_noted(self) -> bool:
        """Whether the jobset is over; see `cluster.system.interruption.Cancellable`."""
        return self.finished

    def begin(self) -> list[Task]:
        """Start the clock; returns all missing units."""
        self._started_s = self._clock()
        return self.again()

    def again(self) -> list[Task]:
        """All pending units."""
        return self._ledger.items

    def take(self, event: Event) -> list[Task]:
        """Take the outcome of a unit; returns the unit if it must run again. Raises what `Units` raises."""
        context = event.context
        if isinstance(event, JobDone):
            # A unit that finishes after the end of the jobset still counts.
            if self._settle(context, event.result.index):
                self.units.take(context, event.result)
            return []
        if self.cancelled or self.finished:
            # After cancelling, inline workers give up their units, which end with an error: no failure.
            return []
        if isinstance(event, JobLost):
            return self._lost(context, event.index, event.reason)
        if self._settle(context, event.index):
            self.units.fail(context, event.index, event.error, event.cause)
        return []

    def check(self) -> None:
        """End the jobset if it was cancelled."""
        if self.cancelled:
            self.units.stop("cancelled")

    def _lost(self, context: int, index: int, reason: str) -> list[Task]:
        try:
            task = self._ledger.lost((context, index), reason)
        except LostTooOften as error:
            self._settle(context, index)
            self.units.give_up(context, index, str(error))
            return []
        if task is None:
            return []
        self.units.note_retry(context)
        return [task]

    def _settle(self, context: int, index: int) -> bool:
        if not self._ledger.settle((context, index)):
            return False
        self._left[context] -= 1
        if not self._left[context]:
            del self.contexts[context]
        return True


class UnitsProgress(StatusLine):
    """An observer of a jobset that shows its progress on standard error, inside its context manager."""

    def __init__(self, console: Console, in_short: Callable[[Any], list[str]], *, enabled: bool) -> None:
        """``in_short`` returns phrases that say what is done, for the `Units` of the jobset."""
        super().__init__(console, "starting ...", LINE_S, enabled=enabled)
        self._in_short = in_short

    def __call__(self, jobset: Jobset[Any]) -> None:
        """Show the progress if it is time to."""
        if not jobset.finished:
            self.show(jobset.units.done, lambda: jobset.elapsed_s, lambda now: self._text(jobset.units, now))

    def _text(self, units: Units, elapsed_s: float) -> str:
        again = [f"{units.retried} run again"] if units.retried else []
        return ", ".join([*self._in_short(units), *again, duration(elapsed_s)])


def worker_of_units(executor: str, make_worker: Callable[[], TaskWorker]) -> Callable[[], TaskWorker]:
    """What an executor of this name calls to create a worker.

    A worker in another process gets the users' files that this process has read.
    """
    return make_worker if executor == "inline" else partial(_with_files, files_read(), make_worker)


def _with_files(files: Files, make_worker: Callable[[], TaskWorker]) -> TaskWorker:
    """Create a worker in a process that was sent the users' files, because its machine may not have them."""
    know_files(files)
    return make_worker()
