"""Costs, measured on the machine at hand: first without Ray, then with one worker on it.

Without Ray the search runs as a fold in this thread, and each step is timed. With Ray
the same search runs again, with one worker: what the coordinator's thread does beside making and
merging jobs is the cost of calls, and what the worker does beside its jobs is what a call
costs it. A search that sends one tiny job at a time gives the latency.
"""

from __future__ import annotations

import os
import resource
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import fmean, median, pstdev
from typing import TYPE_CHECKING

import games
from cluster.ceiling import Ceiling
from cluster.coordinator import Coordinator
from cluster.costs import Costs
from cluster.session import Session
from search.job import Job, RoundJob
from search.opening import open_search
from search.plan import make_plan, playouts_per_leaf
from search.request import SearchRequest
from search.tree import UNPROVEN
from search.worker import Worker

if TYPE_CHECKING:
    from cluster.ray_executor import RayExecutor

CALIBRATION_S = 4.0
"""About how long each of the searches that costs are taken from runs."""
PINGS = 200
"""Calls that the latency is taken from."""
LANES = 2
"""Of the searches that costs are taken from: so few that jobs can be as long as they will be."""


def calibration_request(request: SearchRequest) -> SearchRequest:
    """A smaller search with jobs of the same size as the request's."""
    game = games.load(request.game)
    size = make_plan(request, game).size(0)
    rounds = max(4, round(CALIBRATION_S * game.nominal_simulations_per_s / (LANES * size)))
    small = replace(request, lanes=LANES, simulations=size * LANES * rounds)
    if request.strategy == "tree":
        return replace(small, rounds=rounds)
    if request.strategy == "leaf":
        return replace(small, batch=max(1, size // playouts_per_leaf(request, game)))
    return small


def measure_costs(request: SearchRequest, executor: RayExecutor, report: Callable[[str], None] = print) -> Costs:
    """What this search's jobs cost here; ``executor`` is one over Ray, with a worker.

    The request has a budget in simulations of about CALIBRATION_S; its jobs should be as long as those
    that are to be predicted. ``report`` gets lines of progress.
    """
    report(f"{request.strategy}: timing each step of a search")
    costs = _time_steps(request)
    cores = len(os.sched_getaffinity(0))
    report(f"{request.strategy}: one process, then {cores} at a time")
    ceiling = Ceiling(request, cores)
    try:
        rates = [(ceiling.measure(1), ceiling.measure(cores)) for _ in range(3)]
    finally:
        ceiling.close()
    alone, crowded = (median(column) for column in zip(*rates, strict=True))
    share = max(1.0, cores * alone / crowded)
    costs = replace(costs, crowded_simulation_s=costs.simulation_s * share, cores=cores)
    report(f"{request.strategy}: with Ray")
    return _time_calls(request, executor, costs)


def _time_steps(request: SearchRequest) -> Costs:
    """Everything but calls."""
    search = open_search(request)
    assert search.plan is not None
    worker = Worker()
    worker.prepare(search.context)
    make_s: list[float] = []
    absorb_s: list[float] = []
    round_s: list[float] = []
    jobs: list[tuple[int, float, float]] = []
    snapshot_bytes = 0
    waiting: deque[Job] = deque()
    strategy, plan = search.strategy, search.plan
    while True:
        while strategy.ready and strategy.issued < plan.jobs:
            began = time.perf_counter()
            waiting.append(strategy.next_job(plan.size(strategy.issued)))
            make_s.append(time.perf_counter() - began)
        if not waiting:
            break
        job = waiting.popleft()
        began, began_cpu = time.perf_counter(), time.thread_time()
        done = worker.run(search.context, job)
        took_s, took_cpu_s = time.perf_counter() - began, time.thread_time() - began_cpu
        jobs.append((done.simulations, took_s, took_cpu_s))
        began = time.perf_counter()
        strategy.absorb(job, done)
        took_s = time.perf_counter() - began
        ends_round = isinstance(job, RoundJob) and job.lane == strategy.lanes - 1
        (round_s if ends_round else absorb_s).append(took_s)
        if isinstance(job, RoundJob):
            snapshot_bytes = job.snapshot.statistics.nbytes
        if strategy.proven != UNPROVEN:
            break
    simulations, seconds, cpu = (sum(column) for column in zip(*jobs, strict=True))
    rates = [took / max(1, n) for n, took, _ in jobs]
    merged = fmean(absorb_s) if absorb_s else 0.0
    return Costs(
        simulation_s=seconds / simulations,
        crowded_simulation_s=seconds / simulations,
        job_cpu_share=min(1.0, cpu / seconds),
        job_s=0.0,
        job_spread=pstdev(rates) / fmean(rates),
        make_s=fmean(make_s),
        absorb_s=merged,
        round_s=max(0.0, fmean(round_s) - merged) if round_s else 0.0,
        snapshot_bytes=snapshot_bytes,
    )


def _time_calls(request: SearchRequest, executor: RayExecutor, costs: Costs) -> Costs:
    """What Ray adds."""
    # A first search, so that nothing starts during the second.
    _run(replace(request, simulations=max(1, (request.simulations or 1) // 8)), executor)
    ran = _run(request, executor)
    own_s = ran.thread_s - ran.jobs * (costs.make_s + costs.absorb_s) - ran.rounds * costs.round_s
    beside_s = ran.process_s - ran.thread_s
    calls = max(1.0, ran.calls)
    ping = _run(_pings(request), executor)
    tiny = ping.elapsed_s / ping.jobs - ping.busy_s / ping.jobs
    call_s = max(0.0, own_s) / calls
    idle_s = max(0.0, ran.elapsed_s - ran.busy_s - ran.rounds * tiny)
    return replace(
        costs,
        call_s=call_s,
        beside_call_s=max(0.0, beside_s) / calls,
        worker_call_s=idle_s / calls,
        latency_s=max(0.0, tiny - call_s),
    )


def _pings(request: SearchRequest) -> SearchRequest:
    """One call at a time, with next to nothing to do."""
    return replace(
        request, strategy="leaf", lanes=1, simulations=PINGS, batch=1, playouts_per_leaf=1, rounds=None
    )


@dataclass(frozen=True)
class _Ran:
    elapsed_s: float
    thread_s: float
    process_s: float
    busy_s: float
    jobs: int
    rounds: int
    calls: int


def _run(request: SearchRequest, executor: RayExecutor) -> _Ran:
    """A search on one worker, with what the coordinator's process and the worker spent on it."""
    search = open_search(request)
    executor.use(1)
    executor.open(search.context)
    calls, busy_s = executor.calls, executor.workers[0].busy_s
    coordinator = Coordinator(search, 1)
    thread_s, process_s = time.thread_time(), _process_s()
    result = Session(coordinator, executor).run()
    jobs = coordinator.counters.jobs_done
    return _Ran(
        elapsed_s=result.elapsed_s,
        thread_s=time.thread_time() - thread_s,
        process_s=_process_s() - process_s,
        busy_s=executor.workers[0].busy_s - busy_s,
        jobs=jobs,
        rounds=jobs // search.strategy.lanes if request.strategy == "tree" else 0,
        calls=executor.calls - calls,
    )


def _process_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
