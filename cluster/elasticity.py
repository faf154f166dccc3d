"""Following the machines of a cluster: looked at now and then, and asked for when lanes wait.

Plain decisions, without Ray: how to look and how to ask is given.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from cluster.ray_slots import Slots
from cluster.workers import Workers

LOOK_S = 0.25
"""How often: a look is a call to the head of the cluster, a millisecond or two."""


class Elasticity:
    """Keeps the slots of an executor in step with the CPUs that there are."""

    def __init__(
        self,
        workers: Workers,
        slots: Slots,
        look: Callable[[], int],
        ask: Callable[[int], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``look`` counts the CPUs of the cluster; ``ask`` has its autoscaler bring it to so many, or
        with 0 withdraws that. Where there is no autoscaler, asking does nothing."""
        self._workers = workers
        self._slots = slots
        self._look = look
        self._ask = ask
        self._clock = clock
        self._due_s = 0.0
        self._asked = 0

    def follow(self, lanes: Callable[[], int]) -> None:
        """Look, if it is time to. ``lanes`` counts how many workers would have something to do."""
        now = self._clock()
        if now < self._due_s:
            return
        self._due_s = now + LOOK_S
        cpus = self._look()
        self._slots.follow(cpus)
        wanted = max(self._workers.least, self._workers.within(lanes()))
        if wanted > max(cpus, self._asked):
            self._asked = wanted
            self._ask(wanted)

    def withdraw(self) -> None:
        """Ask for nothing any more; what was given goes back when it has been idle for long enough."""
        if self._asked:
            self._asked = 0
            self._ask(0)
