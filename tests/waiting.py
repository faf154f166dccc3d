"""Time in tests: waiting for what other threads and processes do, and a clock that a test turns."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 300.0
"""For what takes a moment on a machine that does nothing else: beside others, and where kernels are compiled
first, it takes minutes. No test is to depend on it; less than pytest's own limit, which ends all tests."""


def comes_true(condition: Callable[[], object], within_s: float = PATIENCE_S) -> bool:
    """Wait for a condition; False if it does not hold in time."""
    limit_s = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > limit_s:
            return False
        time.sleep(0.02)
    return True


def eventually(
    condition: Callable[[], object], what: object = "it does not come true", within_s: float = PATIENCE_S
) -> None:
    """Wait until it holds; fails with ``what`` if it does not in time."""
    assert comes_true(condition, within_s), what


class Clock:
    """Time that passes only when the test says so."""

    def __init__(self, now_s: float = 0.0) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s
