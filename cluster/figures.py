"""What progress shows of a search: rates over the last seconds, and the answer as it stands."""

from __future__ import annotations

from collections import deque

from cluster.session import Session
from search.result import Answer, answer

ANSWER_S = 0.25
"""How often the tree is asked for its answer at most."""
RATE_S = 2.0
"""Rates are taken over so long."""


class Figures:
    """What a view shows, taken from a session: rates over the last seconds, and the answer as it stands."""

    def __init__(self) -> None:
        self.answer = Answer(None, 0.0, (), ())
        self.rate = 0.0
        self.busy: list[float] = []
        """For each worker slot, the share of the last seconds that it spent in jobs."""
        self.joined = 0
        """Workers that have come since the search began, those that replace others included, and..."""
        self.left = 0
        """...those that have gone."""
        self._alive: list[bool] | None = None
        self._samples: deque[tuple[float, int, list[float]]] = deque()
        self._answered_s = -ANSWER_S

    def update(self, session: Session) -> None:
        """Take a sample. An observer calls this when it is about to draw."""
        now = session.elapsed_s
        self._count_workers([worker.alive for worker in session.executor.workers])
        busy = [worker.busy_s for worker in session.executor.workers]
        if not self._samples:
            self._samples.append((session.elapsed_before_s, session.simulations_before, [0.0] * len(busy)))
        simulations = session.coordinator.counters.simulations
        self._samples.append((now, simulations, busy))
        while len(self._samples) > 2 and self._samples[1][0] <= now - RATE_S:
            self._samples.popleft()
        since_s, before, busy_before = self._samples[0]
        # Workers that have joined since.
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

    def _count_workers(self, alive: list[bool]) -> None:
        if self._alive is not None:
            before = self._alive + [False] * (len(alive) - len(self._alive))
            self.joined += sum(is_now and not was for was, is_now in zip(before, alive, strict=True))
            self.left += sum(was and not is_now for was, is_now in zip(before, alive, strict=True))
        self._alive = alive


def comings_and_goings(figures: Figures) -> str:
    """Of workers, in words."""
    return f"{figures.joined} joined, {figures.left} left"
