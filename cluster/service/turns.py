"""Requests that are served one at a time."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cluster.service.errors import Problem
from cluster.service.limits import of_one

LOOK_S = 0.1
"""Interval, in seconds, of checks whether somebody still waits."""


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
