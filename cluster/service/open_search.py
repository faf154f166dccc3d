"""An unfinished search in this server: its events, its progress, and its run in the pool."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import Any, Protocol

from cluster.observe.progress import Sample, Sampler
from cluster.runtime.session import Session
from cluster.service.answer_models import CurvePoint
from cluster.service.event_stream import PROGRESS, STATE, Feed
from cluster.service.pool import Run
from cluster.service.records import QUEUED, RUNNING, Record
from search.result import Answer, SearchResult

FOLLOWED_S, UNFOLLOWED_S = 0.25, 1.0
"""Seconds between partial results, with and without clients that follow the events."""
WORKERS_TOLD = 64
"""Maximum number of workers in an event; more do not fit on a page."""
POINTS = 240
"""Most points of a curve; when it has so many, every second one is taken away."""
SPACING = 0.75
"""A further point has at least this share of the mean distance of the others."""
SHARE = 0.03
"""Maximum share of the pool's time for making partial results."""


class Owner(Protocol):
    """Gets the news of a live search, in the pool's thread."""

    def search_begun(self, live: Live, session: Session) -> None:
        """The search has workers: it must be stored, and then turned to RUNNING."""

    def search_grown(self, live: Live, simulations: int, playouts: int) -> None: ...

    def search_kept(self, live: Live) -> None:
        """A checkpoint of the search was written."""

    def search_ended(self, live: Live, result: SearchResult | None, error: str | None) -> None: ...

    def search_put_off(self, live: Live, session: Session) -> None:
        """The search is stored and runs no more: it waits again, or the server stops."""


class Live:
    """The watcher of one search."""

    def __init__(self, record: Record, feed: Feed, owner: Owner) -> None:
        self.record = replace(
            record, state=QUEUED, result=None, error=None, final_event=None, finished_s=None, to_cancel=False
        )
        """The record of the search in the store: replaced as a whole, and read without a lock."""
        self.id = record.id
        self.number = record.number
        self.priority = record.priority
        self.body = record.request
        self.feed = feed
        self.state = QUEUED
        self.cancelled = record.to_cancel
        """Whether it should end as soon as possible."""
        self.idle_since_s = 0.0
        """When a client was last heard of, by the clock of `ExternalRun`, if the search has lost its place to
        another for that; 0 otherwise."""
        self.run: Run | None = None
        self.progress: dict[str, Any] | None = None
        """Replaced as a whole and never modified, because other threads read it."""
        self.curve: list[CurvePoint] = []
        """Elapsed seconds, value (None: no best move) and recent simulations/s. Replaced as a whole."""
        self._kept = 0
        """Number of checkpoints that this run had written when the curve was stored."""
        self._owner = owner
        self._sampler = Sampler()
        self._due_s = 0.0
        self._counted = (0, 0)

    @property
    def order(self) -> tuple[bool, int, int]:
        """The sort key by which searches begin: those whose clients have gone last."""
        return self.idle_since_s > 0.0, -self.priority, self.number

    def turn(self, state: str) -> None:
        """Set and publish the state."""
        self.state = state
        self.feed.publish(STATE, {"partial": True, "id": self.id, "state": state})

    def begun(self, session: Session) -> None:
        counters = session.coordinator.counters
        self._counted, self._kept = (counters.simulations, counters.playouts), 0
        self._owner.search_begun(self, session)

    def looked(self, session: Session) -> None:
        now_s = time.monotonic()
        # The state RUNNING is published after it was stored, and before any progress.
        if now_s < self._due_s or self.state != RUNNING:
            return
        self._count(session)
        sample = self._sampler.sample(session)
        self.progress = self._progress(sample)
        self._add_point(sample)
        if self.run is not None and self.run.keeper.written > self._kept:
            self._kept = self.run.keeper.written
            self._owner.search_kept(self)
        if self.feed.followed:
            self.feed.publish(PROGRESS, self.progress)
        cost_s = time.monotonic() - now_s
        self._due_s = now_s + max(FOLLOWED_S if self.feed.followed else UNFOLLOWED_S, cost_s / SHARE)

    def ended(self, session: Session, result: SearchResult | None, error: str | None) -> None:
        self._count(session)
        if result is not None:
            self._add_point(self._sampler.sample(session), result.answer)
        self._owner.search_ended(self, result, error)

    def put_off(self, session: Session) -> None:
        self._count(session)
        self._owner.search_put_off(self, session)

    def _count(self, session: Session) -> None:
        counters = session.coordinator.counters
        before, self._counted = self._counted, (counters.simulations, counters.playouts)
        self._owner.search_grown(self, self._counted[0] - before[0], self._counted[1] - before[1])

    def _add_point(self, sample: Sample, last: Answer | None = None) -> None:
        """Add a point to the curve, unless it is too close to the one before; the ``last`` one always."""
        curve, elapsed_s, now = self.curve, sample.figures.elapsed_s, last or sample.answer
        spacing_s = (curve[-1][0] - curve[0][0]) / (len(curve) - 1) if len(curve) > 1 else 0.0
        if last is None and curve and elapsed_s < curve[-1][0] + SPACING * spacing_s:
            return
        value = None if now.best_move is None else round(now.value, 4)
        point = round(elapsed_s, 3), value, sample.figures.simulations_per_s
        self.curve = [*(curve if len(curve) < POINTS else curve[::2]), point]

    def _progress(self, sample: Sample) -> dict[str, Any]:
        figures = replace(sample.figures, workers=sample.figures.workers[:WORKERS_TOLD])
        return {"partial": True, "id": self.id, **sample.answer.to_json(), **asdict(figures)}
