"""The cores of one machine under a virtual clock: workers that wait for something are many more than cores,
and those that wait no longer queue for a core, as does the coordinator. First come, first served."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(order=True)
class _Turn:
    """A worker wants a core."""

    at_s: float
    number: int
    worker: int = field(compare=False)


@dataclass
class _Work:
    what: Any
    given_s: float
    parts: deque[tuple[float, float]]
    """Seconds on a core, and then seconds without."""
    began_s: float | None = None


class SharedCores:
    """Each worker does what it was given in order; steps must be taken in the order of their times."""

    def __init__(self, cores: int) -> None:
        self._free_s = [0.0] * cores
        self._turns: list[_Turn] = []
        self._work: defaultdict[int, deque[_Work]] = defaultdict(deque)
        self._number = 0

    def use(self, at_s: float, cpu_s: float) -> float:
        """Somebody wants a core from ``at_s`` on, for so long; when it has had it."""
        ended_s = max(at_s, self._free_s[0]) + cpu_s
        heapq.heapreplace(self._free_s, ended_s)
        return ended_s

    def give(self, worker: int, at_s: float, parts: Sequence[tuple[float, float]], what: Any) -> None:
        """``what`` reaches a worker at that time: each part of it takes CPU time, and then only time."""
        work = self._work[worker]
        work.append(_Work(what, at_s, deque(parts)))
        if len(work) == 1:
            self._turn(worker, at_s)

    @property
    def next_s(self) -> float:
        """When the next worker wants a core; infinity if none does."""
        return self._turns[0].at_s if self._turns else float("inf")

    def step(self) -> tuple[Any, float, float] | None:
        """It gets one. If that was the last of something: what, when it began, and when it will end."""
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
        """Nobody has anything to do any more."""
        self._turns.clear()
        self._work.clear()

    def _turn(self, worker: int, at_s: float) -> None:
        self._number += 1
        heapq.heappush(self._turns, _Turn(at_s, self._number, worker))
