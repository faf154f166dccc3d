"""An unfinished search in this server, with its progress and its run in the pool; and events for followers.

Events are numbered. They are published from any thread and read in an event loop. The last ones are stored;
one may be final.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

from cluster.observe.progress import Sample, Sampler
from cluster.runtime.session import Session
from cluster.service.answer_models import CurvePoint
from cluster.service.pool import Run
from cluster.service.records import REOPENED, RUNNING, Record
from search.result import SearchResult

KEPT = 64
"""Number of stored events, for followers that reconnect. Older ones are superseded by later progress."""
EVENTS_A_BOOT = 10**9
"""Difference of event ids between two starts of the server, so that ids always increase."""

STATE, PROGRESS, FINAL = "state", "progress", "final"


@dataclass(frozen=True)
class FeedEvent:
    id: int
    name: str
    data: dict[str, Any]

    @cached_property
    def text(self) -> str:
        """The data as JSON, made once for all followers."""
        return json.dumps(self.data, separators=(",", ":"))


@dataclass(eq=False)
class Follower:
    """A reader of events, which is woken when there are new ones."""

    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    more: asyncio.Event = field(default_factory=asyncio.Event)


class Feed:
    """The events of one search since this server loaded it, or of the cluster."""

    def __init__(self, boot: int, last: int = 0) -> None:
        """``boot``: number of the server's start. ``last``: id of the last event of earlier starts."""
        self._lock = threading.Lock()
        self._next = max(boot * EVENTS_A_BOOT, last) + 1
        self._events: deque[FeedEvent] = deque(maxlen=KEPT)
        self._followers: set[Follower] = set()
        self.closed = False
        """Whether this server will publish no more events."""

    @property
    def followed(self) -> bool:
        return bool(self._followers)

    @property
    def last(self) -> int:
        """The id of the last event."""
        return self._next - 1

    def next_id(self) -> int:
        """Reserve the id of an event that must be stored before it is published."""
        with self._lock:
            self._next += 1
            return self._next - 1

    def skip(self) -> None:
        """Take the id of an event that nobody waits for, so that followers see the gap, and drop the stored
        events."""
        with self._lock:
            self._next += 1
            self._events.clear()

    def publish(self, name: str, data: dict[str, Any], event_id: int | None = None) -> None:
        """Publish an event to all followers. Events after a final one are discarded."""
        number = self.next_id() if event_id is None else event_id
        with self._lock:
            if self.closed:
                return
            self._events.append(FeedEvent(number, name, data))
            self.closed = name == FINAL
            self._wake()

    def close(self) -> None:
        """End the streams of all followers, which continue with the next server."""
        with self._lock:
            self.closed = True
            self._wake()

    def after(self, last: int) -> tuple[list[FeedEvent], bool]:
        """(stored events with ids above ``last``, whether no more events will follow)."""
        with self._lock:
            return [event for event in self._events if event.id > last], self.closed

    async def follow(self, seen: int) -> AsyncGenerator[FeedEvent]:
        """Events with ids above ``seen``, until there will be no more. ``seen`` 0: of the stored events only
        the last of each kind, which supersedes the others."""
        follower = Follower()
        with self._lock:
            self._followers.add(follower)
        try:
            while True:
                follower.more.clear()
                found, closed = self.after(seen)
                last = {event.name: event.id for event in found}
                numbers = [each.id for each in found if seen or each.id == last[each.name]]
                del found
                for number in numbers:
                    # Looked up again, so that those who read slowly keep no old events.
                    for event in self.after(max(seen, number - 1))[0][:1]:
                        seen = event.id
                        yield event
                if closed:
                    return
                await follower.more.wait()
        finally:
            with self._lock:
                self._followers.discard(follower)

    def _wake(self) -> None:
        for follower in self._followers:
            # The followers of a closed loop no longer read.
            if not follower.loop.is_closed():
                follower.loop.call_soon_threadsafe(follower.more.set)


def final_data(
    search_id: str, state: str, result: dict[str, Any] | None, error: dict[str, Any] | None
) -> dict[str, Any]:
    """The data of a final event."""
    return {"partial": False, "id": search_id, "state": state, "result": result, "error": error}


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

    def search_kept(self, live: Live) -> None:
        """A checkpoint of the search was written."""

    def search_ended(self, live: Live, result: SearchResult | None, error: str | None) -> None: ...

    def search_put_off(self, live: Live, session: Session) -> None:
        """The search is stored and runs no more: it waits again, or the server stops."""


class Live:
    """The watcher of one search."""

    def __init__(self, record: Record, feed: Feed, owner: Owner) -> None:
        self.record = replace(record, **REOPENED)
        """The record in the store, with the state that was published last: replaced as a whole, and read
        without a lock."""
        self.id = record.id
        self.body = record.request
        self.feed = feed
        self.cancelled = record.to_cancel
        """Whether it should end as soon as possible."""
        self.place = -record.priority, record.number
        """Sort key of a waiting search: the priority, negated, then the order of arrival."""
        self.idle_since_s = 0.0
        """If the search lost its place to another because no client answered: when a client last did, by the
        clock of `ExternalRun`; 0 otherwise."""
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

    @property
    def order(self) -> tuple[bool, tuple[int, int]]:
        """The sort key by which searches begin; those that lost their place for lack of answers come last."""
        return self.idle_since_s > 0.0, self.place

    def turn(self, state: str, now_s: float | None = None) -> None:
        """Set and publish the state. ``now_s``: time of a start, in seconds since 1970; the first stays."""
        self.record = replace(self.record, state=state, started_s=self.record.started_s or now_s)
        self.feed.publish(STATE, {"partial": True, "id": self.id, "state": state})

    def begun(self, session: Session) -> None:
        self._kept = 0
        self._owner.search_begun(self, session)

    def looked(self, session: Session) -> None:
        now_s = time.monotonic()
        # The state RUNNING is published after it was stored, and before any progress.
        if now_s < self._due_s or self.record.state != RUNNING:
            return
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
        if result is not None:
            self._add_point(self._sampler.sample(session), last=True)
        self._owner.search_ended(self, result, error)

    def put_off(self, session: Session) -> None:
        self._owner.search_put_off(self, session)

    def _add_point(self, sample: Sample, *, last: bool = False) -> None:
        """Add a point to the curve, unless it is too close to the one before; the ``last`` one always."""
        curve, elapsed_s, now = self.curve, sample.figures.elapsed_s, sample.answer
        spacing_s = (curve[-1][0] - curve[0][0]) / (len(curve) - 1) if len(curve) > 1 else 0.0
        if not last and curve and elapsed_s < curve[-1][0] + SPACING * spacing_s:
            return
        value = None if now.best_move is None else round(now.value, 4)
        point = round(elapsed_s, 3), value, sample.figures.simulations_per_s
        self.curve = [*(curve if len(curve) < POINTS else curve[::2]), point]

    def _progress(self, sample: Sample) -> dict[str, Any]:
        figures = replace(sample.figures, workers=sample.figures.workers[:WORKERS_TOLD])
        return {"partial": True, "id": self.id, **sample.answer.to_json(), **asdict(figures)}
