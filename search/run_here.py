"""A whole search in this thread, one job after the other: no worker, no clock but the caller's.

The same jobs in the same order as anywhere else, so the same statistics as on a cluster
(under a budget in simulations). For players, who think about many positions in turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from search.job import Context, Job
from search.plan import Plan, timed_job_seconds
from search.strategies import Strategy
from search.tree import UNPROVEN
from search.worker import Worker

FIRST_SHARE = 0.01
"""Of the nominal rate, for the size of the first jobs: uncompiled, games are a hundred times as slow."""


@dataclass(frozen=True)
class Ran:
    """What a search took."""

    simulations: int
    playouts: int
    proven: bool
    seconds: float
    """By the caller's clock."""


def run_here(
    context: Context, plan: Plan | None, strategy: Strategy, nominal_per_s: float, clock: Callable[[], float]
) -> Ran:
    """Run the search to its end; the strategy's tree holds what it found.

    Without a plan the budget is the request's seconds, by ``clock``; ``nominal_per_s`` is the
    first guess at how many simulations those allow. As many jobs are run as it
    takes to say something of the moves.
    """
    worker = Worker()
    worker.prepare(context)
    began = clock()
    simulations = playouts = 0
    # Far too small at first: a job that is too long cannot be taken back.
    rate = nominal_per_s * FIRST_SHARE
    measured = False
    waiting: deque[Job] = deque()

    def size_of_next() -> int:
        if plan is not None:
            return plan.size(strategy.issued) if strategy.issued < plan.jobs else 0
        assert context.request.seconds is not None
        left_s = context.request.seconds - (clock() - began)
        if left_s <= 0 and strategy.issued >= strategy.least_jobs:
            return 0
        aim_s = timed_job_seconds(context.request, strategy.lanes, 1, left_s / 2)
        return min(strategy.most, max(1, round(rate * aim_s)))

    while True:
        while strategy.ready and (size := size_of_next()):
            waiting.append(strategy.next_job(size))
        out_of_time = plan is None and clock() - began >= (context.request.seconds or 0.0)
        if not waiting or (out_of_time and strategy.absorbed >= strategy.least_jobs):
            break
        job = waiting.popleft()
        started = clock()
        done = worker.run(context, job)
        took_s = clock() - started
        strategy.absorb(job, done)
        simulations += done.simulations
        playouts += done.playouts
        if took_s > 0 and done.simulations:
            rate += (0.5 if measured else 1.0) * (done.simulations / took_s - rate)
            measured = True
        if strategy.proven != UNPROVEN:
            break
    return Ran(simulations, playouts, strategy.proven != UNPROVEN, clock() - began)
