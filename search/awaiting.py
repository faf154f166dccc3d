"""One event loop for each process, in which the coroutines of evaluators run.

It has a thread of its own, so that a search may be called from a thread whose event loop is running. It stays
for the life of the process: what an evaluator keeps between calls, such as connections, belongs to one loop.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Awaitable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")
_LOCK = threading.Lock()
_LOOPS: dict[int, asyncio.AbstractEventLoop] = {}
"""The loop by the id of the process: a forked process has no thread for its parent's loop."""


def wait_for(awaitable: Awaitable[T]) -> T:
    """Await in the loop of this process and return the outcome; raises what the awaitable raises.

    If the waiting is interrupted (Ctrl-C), the awaitable is cancelled.
    """
    future = start(awaitable)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def start(awaitable: Awaitable[T]) -> Future[T]:
    """Begin to await in the loop of this process; the future gets the outcome, and cancels the awaitable."""
    return asyncio.run_coroutine_threadsafe(_outcome(awaitable), _loop())


class Places:
    """A number of places for what runs in the loop; who waits for some gets them in order of arrival."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._free = number
        self._freed = asyncio.Event()
        self._first = asyncio.Lock()
        """Held by the only one that waits for places to be free; the others wait for the lock."""

    @asynccontextmanager
    async def held(self, wanted: int) -> AsyncIterator[None]:
        """Hold that many places, all of them if there are not so many."""
        wanted = min(wanted, self.number)
        async with self._first:
            while self._free < wanted:
                self._freed.clear()
                await self._freed.wait()
            self._free -= wanted
        try:
            yield
        finally:
            self._free += wanted
            self._freed.set()


async def _outcome(awaitable: Awaitable[T]) -> T:
    return await awaitable


def _loop() -> asyncio.AbstractEventLoop:
    with _LOCK:
        found = _LOOPS.get(os.getpid())
        if found is None:
            found = _LOOPS[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=found.run_forever, name="evaluator loop", daemon=True).start()
        return found
