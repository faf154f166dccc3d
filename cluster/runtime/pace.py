"""Paced start of workers, where more of them are wanted than there are cores.

A worker process needs two seconds of CPU time to start. As many as there are cores start at first. The number
doubles each time that all are ready, if the remaining search is long enough to repay it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

WORTH = 2.0
"""Workers are started if the remaining search time is at least this multiple of their start time."""
WORKER_S = 2.0
"""Expected CPU seconds to start a worker, until one has been measured."""


class Pace:
    """Limits the number of worker processes over time."""

    def __init__(
        self, cores: int, left_s: Callable[[], float], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``left_s`` estimates the remaining seconds of the search at its present speed."""
        self.limit = cores
        """The largest number of processes allowed now."""
        self._left_s = left_s
        self._clock = clock
        self._began_s = clock()
        self._takes_s = WORKER_S

    def look(self, ready: int, wanted: int) -> bool:
        """Double the limit if all allowed processes are ready and it pays; returns whether it was raised."""
        if ready < self.limit or self.limit >= wanted:
            return False
        now = self._clock()
        if self._began_s:
            self._takes_s, self._began_s = now - self._began_s, 0.0
        # Starting twice as many processes takes twice as long.
        if self._left_s() < 2 * WORTH * self._takes_s:
            return False
        self.limit *= 2
        self._began_s = now
        return True
