"""Answers to calls, as they come: who waits for thousands looks at those that have come, and at no others."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

Owner = TypeVar("Owner")


class Inbox(Generic[Owner]):
    """Calls that are out, and whose they are. Futures may be set by any thread."""

    def __init__(self) -> None:
        self._owners: dict[Hashable, Owner] = {}
        self._come: SimpleQueue[tuple[Hashable, Future[Any]]] = SimpleQueue()

    def expect(self, call: Hashable, answer: Future[Any], owner: Owner) -> None:
        """``answer`` will be set when the call has one."""
        self._owners[call] = owner
        answer.add_done_callback(lambda done: self._come.put((call, done)))

    def forget(self, call: Hashable) -> None:
        """Its answer is nobody's."""
        self._owners.pop(call, None)

    def take(self, timeout_s: float) -> list[tuple[Owner, Hashable, Future[Any]]]:
        """The answers that have come, in that order; waits ``timeout_s`` at most for the first."""
        come = []
        with contextlib.suppress(Empty):
            come.append(self._come.get(timeout=timeout_s) if timeout_s > 0 else self._come.get_nowait())
            # What comes while this is looked at is for the next time.
            come += [self._come.get_nowait() for _ in range(self._come.qsize())]
        found = []
        for call, answer in come:
            owner = self._owners.pop(call, None)
            if owner is not None:
                found.append((owner, call, answer))
        return found
