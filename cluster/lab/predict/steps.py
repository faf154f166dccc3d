"""Searches of this machine with times: each step in this thread without Ray, or a whole search on Ray."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from cluster.lab.predict.costs import Costs
from cluster.lab.throughput.losses import name_and_ticks
from cluster.runtime.session import Session
from search.coordinator import Coordinator
from search.job import Context, Job, JobResult, RoundJob
from search.prepare import Search, open_search
from search.request import SearchRequest
from search.run_inline import run_inline
from search.strategies import STRATEGY_CLASSES, Strategy, TreeStrategy
from search.strategies.tree import Planner
from search.worker import Worker

if TYPE_CHECKING:
    from cluster.ray_backend.executor import RayExecutor

MEDIAN_TO_DEVIATION = 1.4826
"""Standard deviation / median absolute deviation of a normal distribution."""
MORE_LANES = 32
"""A round is planned for this many times the lanes too, to measure what a lane adds to a plan."""
PLANS = 5
"""Repeats of a timed plan; the median counts."""
T = TypeVar("T")
_TICKS_PER_S = 100
"""Clock ticks per second in /proc on Linux."""


class Rows(NamedTuple):
    """The largest messages of a search by `tree`, in rows; None for the search's own limit."""

    snapshot: int | None = None
    increments: int | None = None


def _open_with(request: SearchRequest, rows: Rows | None) -> Search:
    """Open the search; ``rows`` limits its messages."""
    search = open_search(request)
    if rows is None:
        return search
    context = replace(
        search.context,
        snapshot_rows=rows.snapshot or search.context.snapshot_rows,
        increment_rows=rows.increments or search.context.increment_rows,
    )
    search.strategy.context = context
    return replace(search, context=context)


class _TimedStrategy:
    """A strategy that notes how many seconds each of its jobs and merges takes."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self.make_s: list[float] = []
        self.merge_s: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._strategy, name)

    def next_job(self, simulations: int) -> Job:
        return _noted(self.make_s, partial(self._strategy.next_job, simulations))

    def absorb(self, job: Job, result: JobResult) -> None:
        _noted(self.merge_s, partial(self._strategy.absorb, job, result))


class _TimedWorker(Worker):
    """A worker that notes its jobs and their results, seconds and CPU seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[tuple[Job, JobResult]] = []
        self.run_s: list[float] = []
        self.cpu_s: list[float] = []

    def at_once(self, context: Context) -> int:
        return 1

    def run(self, context: Context, job: Any) -> Any:
        began_s = time.thread_time()
        done = _noted(self.run_s, partial(super().run, context, job))
        self.cpu_s.append(time.thread_time() - began_s)
        self.ran.append((job, done))
        return done


def _noted(seconds: list[float], step: Callable[[], T]) -> T:
    """What ``step`` returns; appends how long it took."""
    began_s = time.perf_counter()
    found = step()
    seconds.append(time.perf_counter() - began_s)
    return found


def time_steps(request: SearchRequest, rows: Rows | None = None) -> Costs:
    """Measure the costs of a search without calls, whose costs are 0; ``rows`` limits its messages."""
    search = _open_with(request, rows)
    lanes = search.strategy.lanes
    timed: Any = _TimedStrategy(search.strategy)
    worker = _TimedWorker()
    worker.prepare(search.context)
    run_inline(replace(search, strategy=timed), time.perf_counter, worker)
    ends_s: list[float] = []
    plan_s, lane_s = 0.0, 0.0
    if isinstance(search.strategy, TreeStrategy) and search.strategy.planner is not None:
        # A round begins with the plan of all its jobs; with its last result, a snapshot is taken.
        ends_s = timed.merge_s[lanes - 1 :: lanes]
        del timed.merge_s[lanes - 1 :: lanes], timed.make_s[::lanes]
        plan_s, lane_s = _time_plans(search.strategy.planner, lanes, search.plan.size(0))
    # All leaves cost the same on average; in games without compiled rules, the first leaves are slower.
    mean = median if STRATEGY_CLASSES[request.strategy].by_leaves else fmean
    merge_s = mean(timed.merge_s or [0.0])
    sizes = [done.simulations for _, done in worker.ran]
    each_s = [took_s / max(1, size) for took_s, size in zip(worker.run_s, sizes, strict=True)]
    simulation_s = sum(worker.run_s) / sum(sizes)
    rounds = [(job, done.added) for job, done in worker.ran if isinstance(job, RoundJob)]
    return Costs(
        simulation_s=simulation_s,
        crowded_simulation_s=simulation_s,
        job_cpu_share=_cpu_share(worker),
        job_s=0.0,
        job_spread=_spread([each_s[first : first + lanes] for first in range(0, len(each_s), lanes)]),
        make_s=mean(timed.make_s or [0.0]) + lane_s,
        absorb_s=merge_s,
        plan_s=plan_s,
        increment_rows=fmean([len(added.visits) for _, added in rounds if added is not None] or [0.0]),
        round_s=max(0.0, fmean(ends_s) - merge_s) if ends_s else 0.0,
        snapshot_bytes=fmean([job.snapshot.statistics.nbytes for job, _ in rounds] or [0.0]),
    )


def _time_plans(planner: Planner, lanes: int, simulations: int) -> tuple[float, float]:
    """Seconds of a plan of a round whose jobs have so many simulations, in the tree as it is now: what it
    costs for any number of lanes, and what each lane adds."""
    took_s = []
    for count in (lanes, lanes * MORE_LANES):
        sizes = np.full(count, simulations, dtype=np.int64)
        times_s: list[float] = []
        for _ in range(PLANS):
            _noted(times_s, partial(planner.plan, sizes, 0))
        took_s.append(median(times_s))
    lane_s = max(0.0, (took_s[1] - took_s[0]) / (lanes * (MORE_LANES - 1)))
    return max(0.0, took_s[0] - lanes * lane_s), lane_s


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


def _cpu_share(worker: _TimedWorker) -> float:
    """CPU time / time of an undisturbed job; if other programs use the machine, most jobs are disturbed."""
    pairs = zip(worker.cpu_s, worker.run_s, strict=True)
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
    worker_cpu_s: float
    jobs: int
    rounds: int
    calls: int


def timed_run(
    request: SearchRequest, executor: RayExecutor, workers: int = 1, rows: Rows | None = None
) -> Ran:
    """Run a search on this number of workers."""
    search = _open_with(request, rows)
    executor.use(workers)
    executor.open(search.context)
    calls, busy_s = executor.dispatcher.calls, executor.workers[0].busy_s
    coordinator = Coordinator(search, workers)
    thread_s, process_s = time.thread_time(), time.process_time()
    worker_cpu_s = cpu_seconds(executor.worker_pids())
    result = Session(coordinator, executor).run()
    jobs = coordinator.counters.jobs_done
    return Ran(
        elapsed_s=result.elapsed_s,
        thread_s=time.thread_time() - thread_s,
        process_s=time.process_time() - process_s,
        busy_s=executor.workers[0].busy_s - busy_s,
        worker_cpu_s=cpu_seconds(executor.worker_pids()) - worker_cpu_s,
        jobs=jobs,
        rounds=jobs // search.strategy.lanes if STRATEGY_CLASSES[request.strategy].by_rounds else 0,
        calls=executor.dispatcher.calls - calls,
    )


def cpu_seconds(pids: Sequence[int]) -> float:
    """CPU seconds that processes of this machine have used; 0 without /proc."""
    ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            ticks += name_and_ticks(Path(f"/proc/{pid}"), descendants=False)[1]
    return ticks / _TICKS_PER_S
