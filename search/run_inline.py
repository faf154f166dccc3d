"""Runs a whole search in this thread, one job after the other, or several whose evaluations are awaited; the
caller supplies the clock.

Jobs and their order are the same as on a cluster. So are the statistics, with a budget in simulations.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from games.errors import InvalidInput
from search.job import Context, Job, JobResult
from search.plan import SearchPlan
from search.prepare import open_search
from search.request import SearchRequest
from search.result import SearchResult, result
from search.strategies import InPlaceStrategy, Strategy
from search.tree.arena import FULL, UNPROVEN
from search.worker import Worker

FIRST_SHARE = 0.01
"""Share of the nominal rate that is assumed for the first jobs: uncompiled games are 100 times slower."""


@dataclass(frozen=True)
class Ran:
    """The time of a search, and the reason of its end."""

    simulations: int
    playouts: int
    seconds: float
    """By the caller's clock."""
    tree_full: bool
    """Whether the memory was used up."""
    stopped_by: str
    """One of `search.result.STOPPED_BY`."""

    @property
    def proven(self) -> bool:
        """Whether the search ended because the root's result is proven."""
        return self.stopped_by == "proven"


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
    opened = open_search(request)
    ran = run_inline(
        opened.context, opened.plan, opened.strategy, opened.game.nominal_simulations_per_s, clock
    )
    return result(
        opened,
        workers=1,
        executor="inline",
        simulations=ran.simulations,
        playouts=ran.playouts,
        tree_full=ran.tree_full,
        jobs_retried=0,
        resumed=0,
        elapsed_s=ran.seconds,
        stopped_by=ran.stopped_by,
    )


def refuse_endless(request: SearchRequest) -> None:
    """Raises InvalidInput (budget) for a request that would never end."""
    if request.simulations is None and request.seconds is None and not request.stop_when_full:
        raise InvalidInput("budget", None, "simulations, seconds, or stop_when_full=True with memory_mb")


def run_inline(
    context: Context,
    plan: SearchPlan,
    strategy: Strategy,
    nominal_per_s: float,
    clock: Callable[[], float],
    worker: Worker | None = None,
) -> Ran:
    """Run the search to its end; the result is in the strategy's tree.

    ``clock`` measures a budget in seconds; ``nominal_per_s`` is the first estimate of the simulations/s under
    a budget in seconds or memory. At least ``strategy.least_jobs`` jobs are run under such a budget.
    ``worker``: one that is prepared for searches with these kernels; None: a new one.
    """
    if worker is None:
        worker = Worker()
        worker.prepare(context)
    several = worker.at_once(context) > 1
    request = context.request
    if isinstance(strategy, InPlaceStrategy) and strategy.stretches_pay:
        return _advance_by_stretches(strategy, request, clock)
    began = clock()
    simulations = playouts = 0
    full = False
    # Far too small at first: a job that is too long cannot be taken back.
    rate = nominal_per_s * FIRST_SHARE
    measured = False
    waiting: deque[tuple[Job, Future[JobResult] | None]] = deque()
    """Jobs without a result, in order; those that are awaited have begun."""

    def end() -> str | None:
        """The reason to end now, or None. Time and memory count only after ``least_jobs`` results."""
        if strategy.proven != UNPROVEN:
            return "proven"
        if not plan.is_fixed and strategy.absorbed >= strategy.least_jobs:
            if full and request.stop_when_full:
                return "memory"
            if request.seconds is not None and clock() - began >= request.seconds:
                return "seconds"
        return None

    try:
        while (stopped_by := end()) is None:
            left_s = None if request.seconds is None else request.seconds - (clock() - began)
            while strategy.ready and (size := _next_size(request, plan, strategy, simulations, rate, left_s)):
                job = strategy.next_job(size)
                waiting.append((job, worker.begin(context, job) if several else None))
            if not waiting:
                timed = request.seconds is not None and simulations < request.most_simulations
                stopped_by = "seconds" if timed else "simulations"
                break
            job, begun = waiting[0]
            started = clock()
            done = worker.run(context, job) if begun is None else begun.result()
            took_s = clock() - started if begun is None else done.duration_s
            waiting.popleft()
            strategy.absorb(job, done)
            simulations += done.simulations
            playouts += done.playouts
            full |= done.tree_full or bool(strategy.tree.counts[FULL])
            if took_s > 0 and done.simulations:
                rate += (0.5 if measured else 1.0) * (done.simulations / took_s - rate)
                measured = True
    finally:
        for _, begun in waiting:
            if begun is not None:
                begun.cancel()
    return Ran(simulations, playouts, clock() - began, full, stopped_by)


def _advance_by_stretches(
    strategy: InPlaceStrategy, request: SearchRequest, clock: Callable[[], float]
) -> Ran:
    """Run a search to its end where jobs are too short for Python."""
    plan = strategy.plan
    strategy.share_tree(1)
    assert strategy.shared is not None
    began = clock()
    simulations = playouts = 0
    stopped_by = None
    while True:
        left_s = math.inf if request.seconds is None else request.seconds - (clock() - began)
        late = left_s <= 0 and strategy.issued > 0
        room = request.most_simulations - simulations - strategy.unobserved
        # When time is up the results in flight, which are there, come into the tree.
        job = strategy.next_stretch(0 if late else min(room, strategy.most), room, max(0.0, left_s))
        done = job.run()
        strategy.end_stretch(job, done)
        simulations += done.simulations
        playouts += done.playouts
        if strategy.proven != UNPROVEN:
            stopped_by = "proven"
        elif (plan.is_fixed and strategy.absorbed == plan.jobs) or simulations == request.most_simulations:
            stopped_by = "simulations"
        elif strategy.shared.ended:
            stopped_by = "memory"
        elif late:
            stopped_by = "seconds"
        if stopped_by is not None:
            return Ran(simulations, playouts, clock() - began, bool(strategy.tree.counts[FULL]), stopped_by)


def _next_size(
    request: SearchRequest,
    plan: SearchPlan,
    strategy: Strategy,
    simulations: int,
    rate: float,
    left_s: float | None,
) -> int:
    """Simulations of the next job; 0 if there is none.

    ``simulations``: number so far; ``rate``: simulations/s; ``left_s``: remaining seconds of a budget in
    seconds.
    """
    if plan.is_fixed:
        return plan.size(strategy.issued)
    room = min(request.most_simulations - simulations - strategy.unobserved, strategy.most)
    if left_s is not None and left_s <= 0 and strategy.issued >= strategy.least_jobs:
        return 0
    aim_s = plan.job_s(1, math.inf if left_s is None else left_s / 2)
    return min(room, max(1, round(rate * aim_s)))
