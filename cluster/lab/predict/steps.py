"""Searches of this machine with times: each step in this thread without Ray, or a whole search on Ray."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean, median
from timeit import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cluster.lab.predict.costs import Costs
from cluster.runtime.session import session_on
from search.coordinator import Coordinator
from search.job import LaneJob
from search.prepare import Search, open_search
from search.request import SearchRequest
from search.strategies import STRATEGY_CLASSES, TreeStrategy
from search.strategies.tree import RoundPlanner
from search.worker import Worker

if TYPE_CHECKING:
    from cluster.workers.ray_executor import RayExecutor

MEDIAN_TO_DEVIATION = 1.4826
"""Standard deviation / median absolute deviation of a normal distribution."""
MORE_LANES = 32
"""A round is planned for this many times the lanes too, to measure what a lane adds to a plan."""
PLANS = 5
"""Repeats of a timed plan; the median counts."""


class _Timed:
    """A function that notes the seconds and CPU seconds of each call, its last argument, and its result."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.seconds: list[float] = []
        self.cpu_s: list[float] = []
        self.calls: list[tuple[Any, Any]] = []

    def __call__(self, *arguments: Any) -> Any:
        cpu_s, began_s = time.thread_time(), time.perf_counter()
        found = self._function(*arguments)
        self.seconds.append(time.perf_counter() - began_s)
        self.cpu_s.append(time.thread_time() - cpu_s)
        self.calls.append((arguments[-1], found))
        return found


def _opened(request: SearchRequest, limits: dict[str, Any]) -> Search:
    """The search; ``limits``: other sizes of its messages, by the fields of `Context`."""
    search = open_search(request)
    search.strategy.context = replace(search.context, **limits)
    return search


def time_steps(request: SearchRequest, **limits: int) -> tuple[Costs, float]:
    """Measure the costs of a search without calls, whose costs are 0; ``limits`` as in `timed_run`.

    Also returns CPU time / time of its jobs: 1 for compiled games, near 0 for simulators that wait.
    """
    search, worker = _opened(request, limits), Worker()
    worker.prepare(search.context)
    strategy: Any = search.strategy
    lanes: int = strategy.lanes
    ran = _Timed(worker.run)
    made = strategy.next_job = _Timed(strategy.next_job)
    merged = strategy.absorb = _Timed(strategy.absorb)
    coordinator = Coordinator(search, 1)
    coordinator.stopwatch = time.perf_counter
    waiting = deque(coordinator.start())
    while not coordinator.finished:
        waiting += coordinator.job_done(ran(search.context, waiting.popleft()))
    plan_s, lane_s = 0.0, 0.0
    if isinstance(strategy, TreeStrategy) and strategy.planner is not None:
        # A round begins with the plan of all its jobs.
        del made.seconds[::lanes]
        plan_s, lane_s = _time_plans(strategy.planner, lanes, search.plan.size(0))
    # All leaves cost the same on average; in games without compiled rules, the first leaves are slower.
    mean = median if STRATEGY_CLASSES[request.strategy].by_leaves else fmean
    merge_s, costs = mean(merged.seconds or [0.0]), coordinator.counters.round_costs
    sizes = [done.simulations for _, done in ran.calls]
    simulation_s = sum(ran.seconds) / sum(sizes)
    rounds = [(job, done.added) for job, done in ran.calls if isinstance(job, LaneJob)]
    found = Costs(
        simulation_s=simulation_s,
        crowded_simulation_s=simulation_s,
        job_spread=_spread(np.array(ran.seconds) / np.maximum(1, sizes), lanes),
        make_s=mean(made.seconds or [0.0]) + lane_s,
        absorb_s=merge_s,
        plan_s=plan_s,
        increment_rows=fmean([len(added.visits) for _, added in rounds] or [0.0]),
        round_s=costs.snapshot_s / max(1, costs.rounds),
        snapshot_bytes=fmean([job.snapshot.statistics.nbytes for job, _ in rounds] or [0.0]),
    )
    return found, _cpu_share(ran)


def _time_plans(planner: RoundPlanner, lanes: int, simulations: int) -> tuple[float, float]:
    """Seconds of a plan of a round whose jobs have so many simulations, in the tree as it is now: what it
    costs for any number of lanes, and what each lane adds."""
    took_s = []
    for count in (lanes, lanes * MORE_LANES):
        plan = partial(planner.plan, np.full(count, simulations, dtype=np.int64), 0)
        took_s.append(median(repeat(plan, timer=time.perf_counter, repeat=PLANS, number=1)))
    lane_s = max(0.0, (took_s[1] - took_s[0]) / (lanes * (MORE_LANES - 1)))
    return max(0.0, took_s[0] - lanes * lane_s), lane_s


def _spread(each_s: npt.NDArray[np.float64], lanes: int) -> float:
    """Standard deviation / mean of the time of jobs in a round, whose expected times are equal.

    Changes between rounds are excluded, because they cause no waiting. Medians are used, so that a few
    disturbed jobs have no influence.
    """
    rounds = each_s[: len(each_s) // lanes * lanes].reshape(-1, lanes)
    if lanes == 1 or not rounds.size:
        return 0.0
    deviations = abs(rounds / rounds.mean(axis=1, keepdims=True) - 1)
    return MEDIAN_TO_DEVIATION * float(np.median(deviations)) * math.sqrt(lanes / (lanes - 1))


def _cpu_share(ran: _Timed) -> float:
    """CPU time / time of an undisturbed job; if other programs use the machine, most jobs are disturbed."""
    pairs = zip(ran.cpu_s, ran.seconds, strict=True)
    shares = sorted(min(1.0, cpu_s / took_s) for cpu_s, took_s in pairs if took_s > 0)
    return shares[len(shares) * 9 // 10] if shares else 1.0


@dataclass(frozen=True)
class Ran:
    """Times of a search: of the coordinator's thread, its process, and the workers."""

    elapsed_s: float
    thread_s: float
    """CPU time of the coordinator's thread."""
    process_s: float
    """CPU time of the coordinator's process."""
    busy_s: float
    """Time that the first worker spent in jobs."""
    jobs: int
    calls: int


def timed_run(request: SearchRequest, executor: RayExecutor, workers: int = 1, **limits: int) -> Ran:
    """Run a search on this number of workers; ``limits``: other sizes of messages, by fields of `Context`."""
    search = _opened(request, limits)
    session = session_on(executor, search, workers)
    calls, busy_s = executor.dispatcher.calls, executor.workers[0].busy_s
    thread_s, process_s = time.thread_time(), time.process_time()
    result = session.run()
    return Ran(
        elapsed_s=result.elapsed_s,
        thread_s=time.thread_time() - thread_s,
        process_s=time.process_time() - process_s,
        busy_s=executor.workers[0].busy_s - busy_s,
        jobs=session.coordinator.counters.jobs_done,
        calls=executor.dispatcher.calls - calls,
    )
