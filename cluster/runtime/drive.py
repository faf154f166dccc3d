"""The loop that connects state machines with an executor.

A machine hands out tasks and takes events; it does no waiting and knows no executor. `drive` runs one machine
to its end. A `Drive` runs several machines at once (a service does this).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from cluster.runtime.tasks import OPENED, Event, Executor, Task

TICK_S = 0.05
"""Longest wait of the loop in seconds, so that cancelling and progress are prompt."""


class Machine(Protocol):
    """A state machine: one search, or many independent units."""

    @property
    def contexts(self) -> Mapping[int, Any]:
        """The contexts of its tasks by key, without those that no further task needs."""

    @property
    def finished(self) -> bool: ...

    @property
    def patience_s(self) -> float:
        """Longest wait for events, in seconds."""

    def begin(self) -> Sequence[Task]:
        """Start the machine; returns the first tasks to run."""

    def again(self) -> Sequence[Task]:
        """All pending tasks, for an executor that has lost them without reporting it."""

    def take(self, event: Event) -> Sequence[Task]:
        """Take the outcome of a task; returns the tasks to run now. May raise."""

    def check(self) -> None:
        """End the machine if it was cancelled or its time is up."""


M = TypeVar("M", bound=Machine)


class Drive(Generic[M]):
    """Runs machines on one executor. Context keys are unique across machines."""

    def __init__(
        self,
        executor: Executor,
        look: Callable[[M], None],
        failed: Callable[[M, Exception], None] | None = None,
    ) -> None:
        """``look`` is called with each machine after each turn. ``failed`` is called with a machine and the
        exception that it, or ``look``, raised; None: turns raise the exception."""
        self.executor = executor
        self._look = look
        self._failed = failed
        self.machines: list[M] = []
        self._of_context: dict[int, M] = {}
        """The machine that owns each context, by context key."""

    @property
    def patience_s(self) -> float:
        """Longest duration of a turn without events, in seconds."""
        return min((machine.patience_s for machine in self.machines), default=0.0)

    def add(self, machine: M) -> None:
        """Start a machine. The key OPENED stands for the context that the executor was opened with."""
        self.machines.append(machine)
        self._of_context.update(dict.fromkeys(machine.contexts, machine))
        self._guarded(machine, partial(self._hand_over, machine, machine.begin))

    def remove(self, machine: M) -> None:
        """Stop running a machine; further events of its tasks are discarded."""
        self.machines.remove(machine)
        for key in [key for key, each in self._of_context.items() if each is machine]:
            self._forget(key)

    def move_to(self, executor: Executor) -> None:
        """Continue on another executor; all pending tasks are submitted to it."""
        self.executor = executor
        for machine in tuple(self.machines):
            self._guarded(machine, partial(self._hand_over, machine, machine.again))

    def turn(self) -> int:
        """Wait for events, pass each to its machine, and check all machines; returns the number of events.

        Raises what the executor raises.
        """
        events = self.executor.wait(self.patience_s)
        for event in events:
            machine = self._of_context.get(event.context)
            if machine is not None:
                self._guarded(machine, partial(self._take, machine, event))
        self.look()
        return len(events)

    def look(self) -> None:
        """Check all machines, and call ``look`` with each."""
        for machine in tuple(self.machines):
            self.look_at(machine)

    def look_at(self, machine: M) -> None:
        """Check one machine, and call ``look`` with it."""

        def look() -> None:
            machine.check()
            self._look(machine)

        self._guarded(machine, look)

    def _hand_over(self, machine: M, tasks: Callable[[], Sequence[Task]]) -> None:
        for key, context in machine.contexts.items():
            if key != OPENED:
                self.executor.add_context(key, context)
        self.executor.submit(tasks())

    def _take(self, machine: M, event: Event) -> None:
        if tasks := machine.take(event):
            self.executor.submit(tasks)
        if event.context not in machine.contexts:
            self._forget(event.context)

    def _forget(self, key: int) -> None:
        del self._of_context[key]
        if key != OPENED:
            self.executor.forget_context(key)

    def _guarded(self, machine: M, action: Callable[[], None]) -> None:
        """Call ``action`` for a machine that has not failed; an exception goes to ``failed``."""
        if machine not in self.machines:
            return
        try:
            action()
        except Exception as error:
            if self._failed is None:
                raise
            self._failed(machine, error)


def drive(machine: M, executor: Executor, observers: Iterable[Callable[[M], None]] = ()) -> None:
    """Run one machine to its end; raises what it raises. Observers are called after each turn.

    The executor stays open; its tasks are dropped.
    """
    observers = tuple(observers)

    def look(machine: M) -> None:
        for observer in observers:
            observer(machine)

    loop = Drive(executor, look)
    try:
        loop.add(machine)
        while not machine.finished:
            loop.turn()
    finally:
        executor.drop()
