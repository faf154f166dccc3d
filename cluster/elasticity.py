"""Following the machines of a cluster: looked at now and then, and asked for when lanes wait.

Plain decisions, without Ray: how to look and how to ask is given.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from cluster.ray_slots import Slots
from cluster.workers import Workers

LOOK_S = 0.25
"""How often: a look is a call to the head of the cluster, a millisecond or two."""
GIVE_BACK_S = 120.0
"""How long workers may be more than are needed: to start one takes seconds, to bring a machine minutes."""


class Elasticity:
    """Keeps the slots of an executor in step with the CPUs that there are."""

    def __init__(
        self,
        workers: Workers,
        slots: Slots,
        look: Callable[[], int],
        ask: Callable[[int], None],
        give_back_s: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``look`` counts the CPUs of the cluster; ``ask`` has its autoscaler bring it to so many, or
        with 0 withdraws that. Where there is no autoscaler, asking does nothing. When fewer workers
        were needed for ``give_back_s``, the others end: a machine without any may be taken back."""
        self._workers = workers
        self._slots = slots
        self._look = look
        self._ask = ask
        self._give_back_s = give_back_s
        self._clock = clock
        self._due_s = 0.0
        self._asked = 0
        self._needed_at_s = -math.inf
        """When all that there are were needed last."""
        self._needed_since = 0
        """The most that were since then."""

    def follow(self, lanes: Callable[[], int]) -> None:
        """Look, if it is time to. ``lanes`` counts how many workers would have something to do."""
        now = self._clock()
        if now < self._due_s:
            return
        self._due_s = now + LOOK_S
        cpus = self._look()
        wanted = max(self._workers.least, self._workers.within(lanes()))
        self._slots.follow(cpus, wanted)
        if wanted >= max(len(self._slots.present), self._asked) or self._needed_at_s == -math.inf:
            self._needed_at_s, self._needed_since = now, 0
        else:
            self._needed_since = max(self._needed_since, wanted)
        if now > self._needed_at_s + self._give_back_s:
            self._give_back(self._needed_since)
            self._needed_at_s, self._needed_since = now, 0
        if wanted > max(cpus, self._asked):
            self._asked = wanted
            self._ask(wanted)

    def _give_back(self, wanted: int) -> None:
        """Ask for no more than so many, and end the workers beyond."""
        self._slots.give_back(wanted)
        if self._asked > wanted:
            self._asked = wanted if wanted > self._workers.least else 0
            self._ask(self._asked)

    def withdraw(self) -> None:
        """Ask for nothing any more; what was given goes back when it has been idle for long enough."""
        if self._asked:
            self._asked = 0
            self._ask(0)
