"""Limits of a service: sizes and numbers of searches, requests and connections."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cluster.service.errors import Problem
from games.errors import InvalidInput
from search.request import MAX_SIMULATIONS, SearchRequest


@dataclass(frozen=True)
class Limits:
    """Upper bounds; `banyan serve` has options for the most important ones."""

    running: int = 4
    """Searches that run at a time. Each needs its memory on the server and on each worker."""
    waiting: int = 256
    """Searches in the queue."""
    simulations: int = MAX_SIMULATIONS
    seconds: float = 3600.0
    move_seconds: float = 10.0
    """CPU time of a player for one move; such moves are computed one after the other."""
    memory_mb: int = 1024
    """Memory of one search, on the server and on each worker."""
    lanes: int = 1024
    body_bytes: int = 256 * 1024
    kept: int = 10_000
    """Stored searches that are over; older ones are deleted."""
    streams: int = 1000
    """Open event streams; one address may have 3/4 of them."""
    connections: int = 2000
    """Requests that are answered at a time, and waiting connections; one address may have 3/4 of each."""

    def within(self, request: SearchRequest) -> SearchRequest:
        """Return the request if it is within the limits, otherwise raise InvalidInput."""
        for field, value, most in (
            ("simulations", request.simulations, self.simulations),
            ("seconds", request.seconds, self.seconds),
            ("memory_mb", request.memory_mb, self.memory_mb),
            ("lanes", request.most_lanes, self.lanes),
        ):
            if value is not None and value > most:
                raise InvalidInput(field, value, f"at most {most:,g} on this server".replace(",", " "))
        return request


SHARE_OF_ONE = 0.75
"""Largest share of all places for one address, which may be a proxy with many clients."""
LOOK_S = 0.1
"""Interval, in seconds, of checks whether somebody still waits."""


def of_one(most: int) -> int:
    """The number of places that one address may have, of ``most`` in total."""
    return max(1, int(most * SHARE_OF_ONE))


class Turns:
    """Requests that are served one at a time: first those of the address that has taken the least time."""

    def __init__(self, most: int) -> None:
        """``most``: limit of the requests that are served or wait."""
        self._most = most
        self._changed = threading.Condition()
        self._address_of: dict[object, str] = {}
        """By request, in the order of arrival."""
        self._served: object = None
        self._taken_s: Counter[str] = Counter()
        """By address with requests here: the time that its requests have taken."""

    @contextmanager
    def turn(self, address: str, check: Callable[[], object]) -> Iterator[None]:
        """Wait for a turn, which lasts until the end of the block. Raises Problem (429).

        ``check`` is called meanwhile, and raises if nobody waits for the request any more.
        """
        request = object()
        with self._changed:
            of_address = list(self._address_of.values()).count(address)
            if len(self._address_of) >= self._most or of_address >= of_one(self._most):
                raise Problem(429, "too many requests wait for a turn", {"Retry-After": "1"})
            self._address_of[request] = address
        began_s = None
        try:
            with self._changed:
                while self._served is not None or self._next() is not request:
                    self._changed.wait(LOOK_S)
                    check()
                self._served, began_s = request, time.monotonic()
            yield
        finally:
            with self._changed:
                del self._address_of[request]
                if began_s is not None:
                    self._served = None
                    self._taken_s[address] += time.monotonic() - began_s  # type: ignore[assignment]
                if address not in self._address_of.values():
                    del self._taken_s[address]
                self._changed.notify_all()

    def _next(self) -> object:
        return min(self._address_of, key=lambda each: self._taken_s[self._address_of[each]])
