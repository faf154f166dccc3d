"""Measures the cost of each step of a search without Ray: the search runs in this thread."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, median

import numpy as np

from cluster.lab.predict.costs import Costs
from cluster.lab.predict.timed_run import Rows, open_with
from search.job import Job, JobResult, RoundJob
from search.request import SearchRequest
from search.strategies import Strategy, TreeStrategy
from search.strategies.tree import Planner
from search.tree.arena import UNPROVEN
from search.worker import Worker

MEDIAN_TO_DEVIATION = 1.4826
"""Standard deviation / median absolute deviation of a normal distribution."""
MORE_LANES = 32
"""A round is planned for this many times the lanes too, to measure what a lane adds to a plan."""
PLANS = 5
"""Repeats of a timed plan; the median counts."""


@dataclass
class _Times:
    """Measured times; one entry per job, result or round."""

    make_s: list[float] = field(default_factory=list)
    """Not of jobs that begin a round with a plan."""
    absorb_s: list[float] = field(default_factory=list)
    round_s: list[float] = field(default_factory=list)
    """Seconds for each result that ends a round: it is merged, and a snapshot is taken."""
    simulations: list[int] = field(default_factory=list)
    jobs_s: list[float] = field(default_factory=list)
    jobs_cpu_s: list[float] = field(default_factory=list)
    rounds: list[list[float]] = field(default_factory=list)
    """Seconds of one simulation, by round and job."""
    increment_rows: list[int] = field(default_factory=list)
    snapshot_bytes: list[int] = field(default_factory=list)

    def ran(self, job: Job, done: JobResult, took_s: float, cpu_s: float, lanes: int) -> None:
        """Note the times of a job."""
        self.simulations.append(done.simulations)
        self.jobs_s.append(took_s)
        self.jobs_cpu_s.append(cpu_s)
        if job.index % lanes == 0:
            self.rounds.append([])
        self.rounds[-1].append(took_s / max(1, done.simulations))
        if isinstance(job, RoundJob) and done.added is not None:
            self.snapshot_bytes.append(job.snapshot.statistics.nbytes)
            self.increment_rows.append(len(done.added.visits))

    def absorbed(self, job: Job, took_s: float, lanes: int) -> None:
        """Note the time of merging a result."""
        ends_round = isinstance(job, RoundJob) and job.lane == lanes - 1
        (self.round_s if ends_round else self.absorb_s).append(took_s)


def time_steps(request: SearchRequest, rows: Rows | None = None) -> Costs:
    """Measure the costs of a search without calls, whose costs are 0; ``rows`` limits its messages."""
    search = open_with(request, rows)
    assert search.plan is not None
    worker, times = Worker(), _Times()
    worker.prepare(search.context)
    strategy, waiting = search.strategy, deque[Job]()
    planner = strategy.planner if isinstance(strategy, TreeStrategy) else None
    while strategy.proven == UNPROVEN:
        while strategy.ready and strategy.issued < search.plan.jobs:
            plans = planner is not None and strategy.issued % strategy.lanes == 0
            began_s = time.perf_counter()
            waiting.append(strategy.next_job(search.plan.size(strategy.issued)))
            if not plans:
                times.make_s.append(time.perf_counter() - began_s)
        if not waiting:
            break
        _run_one(worker, strategy, waiting.popleft(), times)
    costs = _costs_of(times, request.strategy)
    if planner is None:
        return costs
    plan_s, lane_s = _time_plans(planner, strategy.lanes, search.plan.size(0))
    return replace(costs, plan_s=plan_s, make_s=costs.make_s + lane_s)


def _time_plans(planner: Planner, lanes: int, simulations: int) -> tuple[float, float]:
    """Seconds of a plan of a round whose jobs have so many simulations, in the tree as it is now: what it
    costs for any number of lanes, and what each lane adds."""
    took_s = []
    for count in (lanes, lanes * MORE_LANES):
        sizes = np.full(count, simulations, dtype=np.int64)
        times_s = []
        for _ in range(PLANS):
            began_s = time.perf_counter()
            planner.plan(sizes, 0)
            times_s.append(time.perf_counter() - began_s)
        took_s.append(median(times_s))
    lane_s = max(0.0, (took_s[1] - took_s[0]) / (lanes * (MORE_LANES - 1)))
    return max(0.0, took_s[0] - lanes * lane_s), lane_s


def _run_one(worker: Worker, strategy: Strategy, job: Job, times: _Times) -> None:
    """Run a job and merge its result."""
    began_s, began_cpu_s = time.perf_counter(), time.thread_time()
    done = worker.run(strategy.context, job)
    took_s, cpu_s = time.perf_counter() - began_s, time.thread_time() - began_cpu_s
    times.ran(job, done, took_s, cpu_s, strategy.lanes)
    began_s = time.perf_counter()
    strategy.absorb(job, done)
    times.absorbed(job, time.perf_counter() - began_s, strategy.lanes)


def _costs_of(times: _Times, strategy: str) -> Costs:
    # All leaves cost the same on average; in games without compiled rules, the first leaves are slower.
    mean = median if strategy == "leaf" else fmean
    merged_s = mean(times.absorb_s) if times.absorb_s else 0.0
    simulation_s = sum(times.jobs_s) / sum(times.simulations)
    return Costs(
        simulation_s=simulation_s,
        crowded_simulation_s=simulation_s,
        job_cpu_share=_cpu_share(times),
        job_s=0.0,
        job_spread=_spread(times.rounds),
        make_s=mean(times.make_s) if times.make_s else 0.0,
        absorb_s=merged_s,
        increment_rows=fmean(times.increment_rows) if times.increment_rows else 0.0,
        round_s=max(0.0, fmean(times.round_s) - merged_s) if times.round_s else 0.0,
        snapshot_bytes=fmean(times.snapshot_bytes) if times.snapshot_bytes else 0.0,
    )


def _spread(rounds: Sequence[Sequence[float]]) -> float:
    """Standard deviation / mean of the time of jobs in a round, whose expected times are equal.

    Changes between rounds are excluded, because they cause no waiting. Medians are used, so that a few
    disturbed jobs have no influence (`FaultModel` describes those).
    """
    deviations = [
        abs(each / fmean(one) - 1) * (len(one) / (len(one) - 1)) ** 0.5
        for one in rounds
        if len(one) > 1
        for each in one
    ]
    return MEDIAN_TO_DEVIATION * median(deviations) if deviations else 0.0


def _cpu_share(times: _Times) -> float:
    """CPU time / time of an undisturbed job; if other programs use the machine, most jobs are disturbed."""
    pairs = zip(times.jobs_cpu_s, times.jobs_s, strict=True)
    shares = sorted(min(1.0, cpu_s / took_s) for cpu_s, took_s in pairs if took_s > 0)
    return shares[len(shares) * 9 // 10] if shares else 1.0
