"""Jobs of one process that were begun and have not ended: their worker awaits something, such as a server."""

from __future__ import annotations

import time
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from cluster.runtime.inbox import Inbox


@dataclass(frozen=True)
class Ended:
    """A job that has ended."""

    context: int
    """The key of its context."""
    index: int
    outcome: Any
    """What it returned; None if it raised."""
    error: Exception | None


class InFlight:
    """Jobs by the futures of their outcomes, which any thread may set."""

    def __init__(self) -> None:
        self._inbox: Inbox[tuple[int, int]] = Inbox()
        self._futures: set[Future[Any]] = set()

    def __len__(self) -> int:
        return len(self._futures)

    def add(self, context: int, index: int, future: Future[Any]) -> None:
        """Add a job that was begun."""
        self._futures.add(future)
        self._inbox.expect(future, future, (context, index))

    def take(self, timeout_s: float, more_s: float = 0.0) -> list[Ended]:
        """Remove and return the jobs that have ended; waits at most ``timeout_s`` seconds for the first.

        ``more_s``: seconds to wait for others when the first has come.
        """
        if not self._futures:
            return []
        came = self._inbox.take(timeout_s)
        if came and more_s and len(came) < len(self._futures):
            time.sleep(more_s)
            came += self._inbox.take(0.0)
        ended = []
        for (context, index), _, future in came:
            self._futures.discard(future)
            error = future.exception()
            if error is not None and not isinstance(error, Exception):
                raise error
            ended.append(Ended(context, index, None if error else future.result(), error))
        return ended

    def cancel(self) -> None:
        """Cancel and forget all jobs."""
        for future in self._futures:
            self._inbox.forget(future)
            future.cancel()
        self._futures.clear()
