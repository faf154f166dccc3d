"""Numbered events for followers, of a search or of the cluster. The last ones are stored; one may be final.

Events are published from any thread and read in an event loop.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

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
        """Events with ids above ``seen`` until there will be no more; for 0 only the last one of each kind of
        those that are stored: earlier ones are superseded."""
        follower = Follower()
        with self._lock:
            self._followers.add(follower)
        try:
            while True:
                follower.more.clear()
                found, closed = self.after(seen)
                last = {event.name: event.id for event in found}
                for event in found if seen else [each for each in found if each.id == last[each.name]]:
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
