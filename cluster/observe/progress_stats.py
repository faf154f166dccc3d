"""Statistics of a running search for its display: recent rates and the current answer."""

from __future__ import annotations

from collections import deque

from cluster.runtime.session import Session
from search.result import Answer, answer

ANSWER_S = 0.25
"""Shortest interval, in seconds, at which the current answer is computed from the tree."""
RATE_S = 2.0
"""The interval of rates, in seconds."""


class ProgressStats:
    """Recent rates and the current answer of a session."""

    def __init__(self) -> None:
        self.answer = Answer(None, 0.0, (), ())
        self.rate = 0.0
        self.busy: list[float] = []
        """For each worker slot, the recent share of time spent in jobs."""
        self.joined = 0
        """Number of workers that have joined since the search began, including replacements."""
        self.left = 0
        """Number of workers that have left since the search began."""
        self._counted: tuple[int, int] | None = None
        """Processes that had joined and left at the last sample."""
        self._samples: deque[tuple[float, int, list[float]]] = deque()
        self._answered_s = -ANSWER_S

    def update(self, session: Session) -> None:
        """Take a sample of the session. An observer calls this before it draws."""
        now = session.elapsed_s
        workers = session.executor.workers
        self._count(sum(worker.joined for worker in workers), sum(worker.left for worker in workers))
        busy = [worker.busy_s for worker in workers]
        if not self._samples:
            self._samples.append((session.elapsed_before_s, session.simulations_before, [0.0] * len(busy)))
        simulations = session.coordinator.counters.simulations
        self._samples.append((now, simulations, busy))
        while len(self._samples) > 2 and self._samples[1][0] <= now - RATE_S:
            self._samples.popleft()
        since_s, before, busy_before = self._samples[0]
        # Add workers that have joined since the sample.
        busy_before = busy_before + [0.0] * (len(busy) - len(busy_before))
        window_s = max(now - since_s, 1e-9)
        self.rate = (simulations - before) / window_s
        self.busy = [
            min(1.0, max(0.0, (total - earlier) / window_s))
            for total, earlier in zip(busy, busy_before, strict=False)
        ]
        if now - self._answered_s >= ANSWER_S:
            self._answered_s = now
            self.answer = answer(session.search)

    def _count(self, joined: int, left: int) -> None:
        joined_before, left_before = self._counted or (joined, left)
        # The totals of a new executor begin at 0.
        self.joined += max(0, joined - joined_before)
        self.left += max(0, left - left_before)
        self._counted = joined, left


def comings_and_goings(figures: ProgressStats) -> str:
    """Text about workers that have joined or left, such as ``2 joined, 1 left``."""
    return f"{figures.joined} joined, {figures.left} left"
