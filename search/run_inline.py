"""Runs a whole search in this thread, one job after the other, or several whose evaluations are awaited; the
caller supplies the clock.

The coordinator is that of every search, so jobs, their order and the end are those of a cluster.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from games.errors import InvalidInput, foreign
from search.coordinator import Coordinator
from search.job import Job, JobResult
from search.prepare import Search, open_search
from search.request import SearchRequest
from search.result import SearchResult
from search.worker import Worker

FIRST_SHARE = 0.01
"""Share of the nominal rate that is assumed for the first jobs: uncompiled games are 100 times slower, and a
job that is too long cannot be taken back."""


def run(request: SearchRequest, clock: Callable[[], float] = time.perf_counter) -> SearchResult:
    """Search in this process and return the result. Ctrl-C raises KeyboardInterrupt.

    ``clock`` returns seconds. Raises InvalidInput like `search.prepare.open_search`, and for a request
    without a budget, because it would never end.

    >>> import search
    >>> moves = ("a1", "b1", "a2", "b2")
    >>> result = search.run(search.SearchRequest("tictactoe", moves=moves, simulations=2000))
    >>> result.move, result.simulations
    ('a3', 2000)
    """
    refuse_endless(request)
    coordinator, elapsed_s = run_inline(open_search(request), clock)
    return coordinator.result(elapsed_s)


def refuse_endless(request: SearchRequest) -> None:
    """Raises InvalidInput (budget) for a request that would never end."""
    if request.simulations is None and request.seconds is None and not request.stop_when_full:
        raise InvalidInput("budget", None, "simulations, seconds, or stop_when_full=True with memory_mb")


def run_inline(
    search: Search, clock: Callable[[], float], worker: Worker | None = None
) -> tuple[Coordinator, float]:
    """Run the search to its end; returns its coordinator and its seconds by ``clock``.

    ``worker``: one that is prepared for searches with these kernels; None: a new one.
    """
    context = search.context
    if worker is None:
        worker = Worker()
        worker.prepare(context)
    several = worker.at_once(context) > 1
    coordinator = Coordinator(search, 1, rate_assumed=FIRST_SHARE)
    coordinator.work_in_place(1, partial(worker.run, context))
    waiting: deque[tuple[Job, Future[JobResult] | None]] = deque()
    """Jobs without a result, in order; those that are awaited have begun."""

    def begin(jobs: list[Job]) -> None:
        # By the clock, the time is looked at after each job.
        joined = len(jobs) > 1 and search.plan.is_fixed
        whole = worker.together(context, jobs, 1, sent=False) if joined else None
        for job in jobs if whole is None else [whole]:
            waiting.append((job, worker.begin(context, job) if several else None))

    began_s = clock()
    try:
        begin(coordinator.start())
        while not coordinator.finished:
            job, begun = waiting[0]
            done = foreign(worker.run, context, job) if begun is None else begun.result()
            waiting.popleft()
            elapsed_s = clock() - began_s
            begin(coordinator.job_done(done, elapsed_s))
            coordinator.check(elapsed_s)
    finally:
        for _, begun in waiting:
            if begun is not None:
                begun.cancel()
    return coordinator, clock() - began_s
