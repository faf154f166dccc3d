"""A run of experiments: the missing units of all needs, for a `Jobset`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cluster.lab.sources.need import Need, UnitDone
from cluster.lab.sources.store import Kept, Store
from cluster.runtime.jobset import Units
from cluster.runtime.tasks import Task


class Run(Units):
    """The units of all needs; units that are already stored are not run again.

    The context key of a need is its index. A unit that fails makes only its own need fail.
    """

    def __init__(self, needs: Sequence[Need], kept: Mapping[int, Kept], store: Store) -> None:
        """``kept``: stored units by index of need."""
        self.contexts = dict(enumerate(needs))
        self.kept = dict(kept)
        self.failures: dict[int, str] = {}
        """Reasons of failed needs, by index."""
        self.spent_s = 0.0
        """CPU seconds of the units of this run that are done."""
        self._store = store
        self._numbers = [self.kept[place].missing(need) for place, need in self.contexts.items()]
        self._left = [len(numbers) for numbers in self._numbers]

    @property
    def units(self) -> int:
        """Number of units of this run."""
        return sum(map(len, self._numbers))

    @property
    def done(self) -> int:
        """Number of finished units of this run."""
        return self.units - sum(self._left)

    @property
    def finished(self) -> bool:
        return super().finished or not any(self._left)

    def left(self, need: int) -> int:
        """Number of unfinished units of a need; 0 after it has failed."""
        return 0 if need in self.failures else self._left[need]

    def missing(self) -> list[Task]:
        """Tasks of missing units, in the order of needs. Units are never bundled: their durations differ."""
        return [
            Task(number, number, work=0, context=need)
            for need, numbers in enumerate(self._numbers)
            for number in numbers
        ]

    def take(self, context: int, result: UnitDone) -> None:
        """Take the result of a unit; it is stored unless it is an error."""
        self._left[context] -= 1
        if result.error:
            self.failures.setdefault(context, result.error)
            return
        kept = self.kept[context]
        if result.record is not None:
            kept.records[result.index] = result.record
        else:
            kept.found[result.index] = result.found or {}
        kept.cpu_s += result.cpu_s
        self.spent_s += result.cpu_s
        self._store.add(self.contexts[context], result)

    def fail(self, context: int, index: int, error: str, cause: Exception | None = None) -> None:
        """Note that a unit could not be run, or its result could not be sent: its need has failed."""
        self._left[context] -= 1
        self.failures.setdefault(context, error)

    def give_up(self, context: int, index: int, reason: str) -> None:
        """Note that a unit was lost too often: its need has failed."""
        self.fail(context, index, reason)
