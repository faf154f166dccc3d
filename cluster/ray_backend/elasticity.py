"""Elasticity: workers follow the machines of a cluster, and machines are requested while lanes wait.

Decisions only, without Ray: counting CPUs and requesting them are functions passed in.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from cluster.ray_backend.slots import Slots
from cluster.runtime.workers import Workers

LOOK_S = 0.25
"""Interval in seconds of counting CPUs, which is a call of 1 to 2 ms to the cluster's head."""
GIVE_BACK_S = 120.0
"""Seconds after which surplus workers end: starting a worker takes seconds, bringing a machine minutes."""


class Elasticity:
    """Adapts the slots of an executor to the CPUs of the cluster."""

    def __init__(
        self,
        workers: Workers,
        slots: Slots,
        look: Callable[[], int],
        ask: Callable[[int], None],
        give_back_s: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``look`` counts the CPUs of the cluster. ``ask`` requests a number of workers from its autoscaler;
        0 withdraws the request; without an autoscaler it has no effect. Workers that were not needed for
        ``give_back_s`` seconds end, so that the autoscaler can remove their machines."""
        self._workers = workers
        self._slots = slots
        self._look = look
        self._ask = ask
        self._give_back_s = give_back_s
        self._clock = clock
        self._due_s = 0.0
        self._asked = 0
        self._needed_at_s = -math.inf
        """The last time when all workers were needed."""
        self._needed_since = 0
        """The largest number of workers needed since then."""

    def follow(self, lanes: Callable[[], int]) -> None:
        """Adapt to the cluster, every LOOK_S seconds. ``lanes`` counts the workers that could be busy."""
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
        """End workers, and reduce the request, down to ``wanted``."""
        self._slots.give_back(wanted)
        if self._asked > wanted:
            self._asked = wanted if wanted > self._workers.least else 0
            self._ask(self._asked)

    def withdraw(self) -> None:
        """Withdraw the request; the autoscaler removes machines that stay idle."""
        if self._asked:
            self._asked = 0
            self._ask(0)
