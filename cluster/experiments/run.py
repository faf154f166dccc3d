"""A run of experiments: which units are out, which are done, which tables are whole.

`Run` is a state machine, as a match is: what happens goes in as method calls, units to be run come out.
`drive` is the loop that brings it together with an executor and a folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from cluster.executor import Executor, JobDone, JobLost
from cluster.experiments.need import Need
from cluster.experiments.store import Kept, Store
from cluster.experiments.unit import Plan, Unit, UnitDone
from cluster.matches.game import Cancelled
from cluster.matches.session import TICK_S, Stop

MAX_ATTEMPTS = 5
"""A unit that was lost this often takes down whatever runs it; its need has failed."""


class Run:
    """All units of the needs of one run; those that are kept already are not run again."""

    def __init__(self, needs: Sequence[Need], kept: Mapping[int, Kept]) -> None:
        """``kept``: by the need's place in ``needs``."""
        self.plan = Plan(tuple(needs))
        self.kept = dict(kept)
        self.failures: dict[int, str] = {}
        """Needs that cannot be met, and why."""
        self.retried = 0
        self.units = [
            Unit(index, number, unit)
            for index, (number, unit) in enumerate(
                (number, unit)
                for number, need in enumerate(needs)
                for unit in self.kept[number].missing(need)
            )
        ]
        """What is to be run, in the order of needs."""
        self._attempts = {unit.index: 1 for unit in self.units}
        self._left = [0] * len(needs)
        for unit in self.units:
            self._left[unit.need] += 1

    @property
    def done(self) -> int:
        """Units that are done, in this run."""
        return len(self.units) - len(self._attempts)

    @property
    def finished(self) -> bool:
        return not self._attempts

    def left(self, need: int) -> int:
        """Units of a need that are still out; none, once it has failed."""
        return 0 if need in self.failures else self._left[need]

    def unit_done(self, done: UnitDone) -> bool:
        """A unit has come; whether its result is to be kept: not that of a copy, or of one that raised."""
        if self._attempts.pop(done.index, None) is None:
            return False
        self._left[done.need] -= 1
        if done.error:
            self.failures.setdefault(done.need, done.error)
            return False
        kept = self.kept[done.need]
        if done.record is not None:
            kept.records[done.number] = done.record
        else:
            kept.found[done.number] = done.found or {}
            kept.cpu_s += done.cpu_s
        return True

    def unit_lost(self, index: int, reason: str) -> list[Unit]:
        """Its worker died or let its deadline pass: it is handed out again, a few times."""
        if index not in self._attempts:
            return []
        unit = self.units[index]
        if self._attempts[index] == MAX_ATTEMPTS:
            self._attempts.pop(index)
            self._left[unit.need] -= 1
            self.failures.setdefault(unit.need, f"lost {MAX_ATTEMPTS} times; the last time: {reason}")
            return []
        self._attempts[index] += 1
        self.retried += 1
        return [unit]

    def unit_failed(self, index: int, error: str) -> None:
        """A unit could not even be run, or its result not be sent."""
        if self._attempts.pop(index, None) is not None:
            need = self.units[index].need
            self._left[need] -= 1
            self.failures.setdefault(need, error)


@dataclass(frozen=True)
class Moment:
    """A run as observers see it."""

    run: Run
    elapsed_s: float


class Observer(Protocol):
    """Is told how a run goes; called from the loop, so it must be quick."""

    def __call__(self, moment: Moment) -> None: ...


def drive(
    run: Run,
    store: Store,
    make_executor: Callable[[], Executor],
    stop: Stop,
    observers: tuple[Observer, ...] = (),
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[None]:
    """Run all units; comes back to the caller after whatever has happened. Ends when all is done, or
    on request.

    ``make_executor`` is called if there is anything to run; whoever makes it closes it.
    """
    if run.finished or stop.requested:
        return
    executor = make_executor()
    executor.open(run.plan)
    executor.submit(run.units)
    started_s = clock()
    try:
        while not run.finished and not stop.requested:
            _turn(run, store, executor)
            for observer in observers:
                observer(Moment(run, clock() - started_s))
            yield
    finally:
        executor.drop()


def _turn(run: Run, store: Store, executor: Executor) -> None:
    try:
        events = executor.wait(TICK_S)
    except Cancelled:
        return
    for event in events:
        if isinstance(event, JobDone):
            if run.unit_done(event.result):
                store.add(run.plan.needs[event.result.need], event.result)
        elif isinstance(event, JobLost):
            executor.submit(run.unit_lost(event.index, event.reason))
        else:
            run.unit_failed(event.index, event.error)
