"""The events of one search, for those who follow it: numbered, the last ones kept, and one that is final.

Events are published from any thread and read in an event loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Any

KEPT = 64
"""Events that a follower who was away can have again. What is lost is partial: the next says more."""
EVENTS_A_BOOT = 10**9
"""Ids of events after a restart are higher than all before it."""

STATE, PROGRESS, FINAL = "state", "progress", "final"


@dataclass(frozen=True)
class FeedEvent:
    id: int
    name: str
    data: dict[str, Any]


@dataclass(eq=False)
class Follower:
    """One reader; woken when there is more."""

    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    more: asyncio.Event = field(default_factory=asyncio.Event)


class Feed:
    """The events of one search since this server opened it."""

    def __init__(self, boot: int, last: int = 0) -> None:
        """``last`` is the id of the last event before."""
        self._lock = threading.Lock()
        self._next = max(boot * EVENTS_A_BOOT, last) + 1
        self._events: deque[FeedEvent] = deque(maxlen=KEPT)
        self._followers: set[Follower] = set()
        self.closed = False
        """Whether there will be no more events, from this server."""

    @property
    def followed(self) -> bool:
        return bool(self._followers)

    def next_id(self) -> int:
        """An id for an event that is to be kept before it is told."""
        with self._lock:
            self._next += 1
            return self._next - 1

    def publish(self, name: str, data: dict[str, Any], event_id: int | None = None) -> None:
        """Tell all followers. A final event is the last: whatever comes after it is dropped."""
        number = self.next_id() if event_id is None else event_id
        with self._lock:
            if self.closed:
                return
            self._events.append(FeedEvent(number, name, data))
            self.closed = name == FINAL
            self._wake()

    def close(self) -> None:
        """Send followers away; a server that starts again goes on."""
        with self._lock:
            self.closed = True
            self._wake()

    def after(self, last: int) -> tuple[list[FeedEvent], bool]:
        """The events with higher ids that are kept, and whether there will be no more."""
        with self._lock:
            return [event for event in self._events if event.id > last], self.closed

    def follow(self) -> Follower:
        """A new follower, of the running event loop."""
        follower = Follower()
        with self._lock:
            self._followers.add(follower)
        return follower

    def leave(self, follower: Follower) -> None:
        """It follows no more."""
        with self._lock:
            self._followers.discard(follower)

    def _wake(self) -> None:
        for follower in self._followers:
            # A loop that is closed has no followers that read.
            if not follower.loop.is_closed():
                follower.loop.call_soon_threadsafe(follower.more.set)


def final_data(
    search_id: str, state: str, result: dict[str, Any] | None, error: dict[str, Any] | None
) -> dict[str, Any]:
    """The data of a final event."""
    return {"partial": False, "id": search_id, "state": state, "result": result, "error": error}
