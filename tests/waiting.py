"""Time in tests: waiting for what other threads and processes do, and a clock that a test turns."""

from __future__ import annotations

import time
from collections.abc import Callable


def eventually(condition: Callable[[], object], what: str = "", within_s: float = 60.0) -> None:
    """Wait until it holds; fails with ``what`` if it does not in time."""
    until_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < until_s, what or "it did not happen in time"
        time.sleep(0.02)


class Clock:
    """Time that passes only when the test says so."""

    def __init__(self, now_s: float = 0.0) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s
