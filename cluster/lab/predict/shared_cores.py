"""The cores of one machine on a virtual clock, shared by the coordinator and many more workers that wait.

Workers that no longer wait queue for a core, like the coordinator: first come, first served.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(order=True)
class _Turn:
    """The request of a worker for a core."""

    at_s: float
    number: int
    worker: int = field(compare=False)


@dataclass
class _Work:
    what: Any
    given_s: float
    parts: deque[tuple[float, float]]
    """Parts of the work: seconds on a core, followed by seconds without one."""
    began_s: float | None = None


class SharedCores:
    """Schedules work on cores; workers do their work in order. Steps must be taken in the order of time."""

    def __init__(self, cores: int) -> None:
        self._free_s = [0.0] * cores
        self._turns: list[_Turn] = []
        self._work: defaultdict[int, deque[_Work]] = defaultdict(deque)
        self._number = 0

    def use(self, at_s: float, cpu_s: float) -> float:
        """Use a core for ``cpu_s`` seconds, from ``at_s`` on or later; returns the time of the end."""
        ended_s = max(at_s, self._free_s[0]) + cpu_s
        heapq.heapreplace(self._free_s, ended_s)
        return ended_s

    def give(self, worker: int, at_s: float, parts: Sequence[tuple[float, float]], what: Any) -> None:
        """Give work to a worker at a time. Each part is a pair: CPU seconds, then seconds without a core."""
        work = self._work[worker]
        work.append(_Work(what, at_s, deque(parts)))
        if len(work) == 1:
            self._turn(worker, at_s)

    @property
    def next_s(self) -> float:
        """The time of the next request for a core; infinity if there is none."""
        return self._turns[0].at_s if self._turns else float("inf")

    def step(self) -> tuple[Any, float, float] | None:
        """Serve the next request; if it completes some work, returns that work, its start and its end."""
        turn = heapq.heappop(self._turns)
        waiting = self._work[turn.worker]
        work = waiting[0]
        if work.began_s is None:
            work.began_s = turn.at_s
        cpu_s, wait_s = work.parts.popleft()
        ended_s = self.use(turn.at_s, cpu_s) + wait_s
        if work.parts:
            self._turn(turn.worker, ended_s)
            return None
        waiting.popleft()
        if waiting:
            self._turn(turn.worker, max(ended_s, waiting[0].given_s))
        return work.what, work.began_s, ended_s

    def clear(self) -> None:
        """Discard all work."""
        self._turns.clear()
        self._work.clear()

    def _turn(self, worker: int, at_s: float) -> None:
        self._number += 1
        heapq.heappush(self._turns, _Turn(at_s, self._number, worker))
