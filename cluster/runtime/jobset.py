"""Many independent units of work, in any order: games of matches, units of experiments."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from cluster.runtime.drive import TICK_S
from cluster.runtime.tasks import Event, JobDone, JobLost, Task
from search.ledger import Ledger, LostTooOften


class Units(Protocol):
    """The work of a jobset: says which units are missing, and decides when it is complete."""

    @property
    def contexts(self) -> Mapping[int, Any]:
        """All contexts that units may belong to, by key."""

    @property
    def finished(self) -> bool: ...

    def missing(self) -> Sequence[Task]:
        """The units that remain to be run, in their preferred order."""

    def take(self, context: int, result: Any) -> None:
        """Take the result of a unit; called once for each."""

    def note_retry(self, context: int) -> None:
        """Note that a unit of the context was lost with its worker and is run again."""

    def fail(self, context: int, index: int, error: str, cause: Exception | None) -> None:
        """Note that a unit raised, or its result could not be sent. Raises to end the whole jobset.

        ``cause`` is the exception itself, if the unit ran in this process.
        """

    def give_up(self, context: int, index: int, reason: str) -> None:
        """Note that a unit was lost too often. Raises to end the whole jobset."""

    def stop(self, reason: str) -> None:
        """End with the units that are done; no effect after the end."""


class Stoppable:
    """Units that can be stopped, and that count those which are run again."""

    stopped = False
    retried = 0
    """Number of units run again because their worker was lost."""

    def note_retry(self, context: int) -> None:
        """Note that a unit was lost with its worker and is run again."""
        self.retried += 1

    def stop(self, reason: str) -> None:
        """End with the units that are done."""
        self.stopped = True


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
        self._contexts = {key: context for key, context in units.contexts.items() if self._left[key]}

    @property
    def contexts(self) -> Mapping[int, Any]:
        return self._contexts

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
        """Whether it is over; see `cluster.system.interruption.Cancellable`."""
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
            del self._contexts[context]
        return True
