"""Whole searches, and searches that are left in the middle, on any executor."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cluster.checkpoint.checkpoint import Keeper, Opened, begun
from cluster.runtime.session import Observer, Session
from cluster.runtime.tasks import Executor
from cluster.workers.inline import InlineExecutor
from search.coordinator import Coordinator
from search.job import Job, JobResult
from search.prepare import open_search
from search.request import SearchRequest
from search.result import SearchResult
from tests.games.common import JIT

compiled_only = pytest.mark.skipif(not JIT, reason="runs compiled kernels")
DIFFERENT = (
    "executor",
    "workers",
    "jobs_retried",
    "resumed",
    "workers_lost",
    "elapsed_s",
    "simulations_per_s",
)
"""Fields of the answer that a break may change."""
REQUESTS = {
    "root": SearchRequest("gomoku:size=5", strategy="root", lanes=40, simulations=900, seed=4),
    "vote": SearchRequest("gomoku:size=5", strategy="root", lanes=40, simulations=900, final_move="vote"),
    "tree": SearchRequest("gomoku:size=5", strategy="tree", lanes=3, simulations=900, seed=4),
    "leaf": SearchRequest("gomoku:size=5", strategy="leaf", lanes=5, simulations=900, seed=4, solver=True),
    "hidden": SearchRequest("battleship", moves=("e5", "miss"), strategy="leaf", lanes=3, simulations=500),
}


def session_on(
    executor: Executor, request: SearchRequest, clock: Callable[[], float] = time.monotonic
) -> Session:
    """A search that has not begun, on an executor that is opened for it."""
    search = open_search(request)
    executor.open(search.context)
    return Session(Coordinator(search, executor.num_workers), executor, clock)


def search_on(
    executor: Executor, request: SearchRequest, *observers: Observer
) -> tuple[SearchResult, Session]:
    """One search from its beginning to its end."""
    session = session_on(executor, request)
    return session.run(observers), session


@cache
def alone(request: SearchRequest) -> SearchResult:
    """The search in this process, undisturbed."""
    return search_on(InlineExecutor(), request)[0]


def nothing_in_flight(job: Job) -> JobResult:
    """In place of what runs the jobs of a restored search."""
    raise AssertionError(f"job {job.index} was in flight")


def never(line: str) -> None:
    raise AssertionError(line)


def session_of(opened: Opened, executor: Any = None, **options: Any) -> Session:
    executor = executor or InlineExecutor()
    executor.open(opened.coordinator.search.context)
    return Session(opened.coordinator, executor, elapsed_before_s=opened.elapsed_s, **options)


def unchanged(result: SearchResult) -> dict[str, Any]:
    return {name: value for name, value in result.to_json().items() if name not in DIFFERENT}


class Stop(Exception):
    """Raised by an observer to leave a session where it is."""


def keep_after(path: Path, request: SearchRequest, events: int, executor: Any = None) -> Session:
    """Keep a search as it stands after so many looks at it, and leave it."""
    session = session_of(begun(request), executor)
    keeper = Keeper(path, warn=never)
    left = events

    def watch(running: Session) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            keeper.keep(running)
            raise Stop

    with pytest.raises(Stop):
        session.run((watch,))
    return session
