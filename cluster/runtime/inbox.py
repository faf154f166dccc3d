"""An inbox of answers to calls: of thousands of pending calls, only those with an answer are visited."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

Owner = TypeVar("Owner")


class Inbox(Generic[Owner]):
    """Pending calls and their owners. Futures may be set by any thread."""

    def __init__(self) -> None:
        self._owners: dict[Hashable, Owner] = {}
        self._come: SimpleQueue[tuple[Hashable, Future[Any]]] = SimpleQueue()

    def expect(self, call: Hashable, answer: Future[Any], owner: Owner) -> None:
        """Add a pending call; ``answer`` is set when the call returns."""
        self._owners[call] = owner
        answer.add_done_callback(lambda done: self._come.put((call, done)))

    def forget(self, call: Hashable) -> None:
        """Remove a pending call; its answer is ignored."""
        self._owners.pop(call, None)

    def take(self, timeout_s: float) -> list[tuple[Owner, Hashable, Future[Any]]]:
        """Return the answers that have arrived, in order; waits at most ``timeout_s`` seconds for the
        first."""
        come = []
        with contextlib.suppress(Empty):
            come.append(self._come.get(timeout=timeout_s) if timeout_s > 0 else self._come.get_nowait())
            # Answers that arrive during this loop wait for the next call.
            come += [self._come.get_nowait() for _ in range(self._come.qsize())]
        found = []
        for call, answer in come:
            owner = self._owners.pop(call, None)
            if owner is not None:
                found.append((owner, call, answer))
        return found
