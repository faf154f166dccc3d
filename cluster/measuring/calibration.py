"""Costs, measured on the machine at hand: first without Ray, then with one worker on it.

Without Ray the search runs as a fold in this thread, and each step is timed. With Ray a search
by root runs with one worker: what the coordinator's thread does beside making and merging jobs is
the cost of calls, and what the worker does beside its jobs is what a call costs it. A coordinator
that is woken for each call finds its caches cold; of one that has many calls at hand a call takes a part of
that, which is measured in a burst. A search that sends one tiny job at a time gives the latency, one with
many in flight what a job in a bundle costs; and a search by tree, what is left for its snapshots.
"""

from __future__ import annotations

import os
import resource
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

import games
from cluster.coordinator import Coordinator
from cluster.executor import JobDone
from cluster.measuring.ceiling import Ceiling
from cluster.measuring.costs import Costs
from cluster.measuring.waiting import STREAM, cpu_seconds, crowd_request, together, waiting_costs, waits
from cluster.session import Session
from search.job import Job, RoundJob
from search.opening import Search, open_search
from search.plan import JOB_S, make_plan, playouts_per_leaf
from search.request import MAX_LANES, SearchRequest
from search.tree import UNPROVEN
from search.worker import Worker

if TYPE_CHECKING:
    from cluster.ray_executor import RayExecutor

CALL_GAME = "tictactoe"
CALIBRATION_S = 4.0
"""About how long each of the searches that costs are taken from runs."""
PINGS = 200
"""Calls that the latency is taken from."""
CROWD = 64
"""Tiny jobs in flight, that travel together: what a further job in a bundle costs is taken from them."""
BURST = 64
"""Calls that are sent one after the other..."""
BURST_S = 0.25
"""...and how long it takes until all have been answered, at the most: 0.5 ms each on an idle core."""
_BURST = SearchRequest(
    game=CALL_GAME, strategy="leaf", lanes=BURST, simulations=8 * BURST, batch=1, playouts_per_leaf=1
)
MEDIAN_TO_DEVIATION = 1.4826
"""Standard deviation / median of the absolute deviations, of a normal distribution."""
REPEATS = 5
"""Of what several processes do side by side. The best counts: whoever else uses the machine only takes."""
_PING = SearchRequest(
    game=CALL_GAME, strategy="leaf", lanes=1, simulations=PINGS, batch=1, playouts_per_leaf=1
)
"""One call at a time, with next to nothing to do."""
LANES = 2
"""Of the searches that costs are taken from: so few that jobs can be as long as they will be."""


class Rows(NamedTuple):
    """What messages of `tree` have at most; None as the search has it."""

    snapshot: int | None = None
    increments: int | None = None


LITTLE = Rows(4_096, 2_048)
"""Of searches that show what the size of messages costs: far less than the others."""
APART = 2.0
"""If sizes differ by less than this factor, chance would be taken for what they cost."""


def calibration_request(request: SearchRequest) -> SearchRequest:
    """A smaller search with jobs of the same size as the request's, or of JOB_S where those are longer."""
    game = games.load(request.game)
    size = min(make_plan(request, game).size(0), max(1, round(game.nominal_simulations_per_s * JOB_S)))
    rounds = max(4, round(CALIBRATION_S * game.nominal_simulations_per_s / (LANES * size)))
    small = replace(request, lanes=LANES, simulations=size * LANES * rounds)
    if request.strategy == "tree":
        return replace(small, rounds=rounds)
    if request.strategy == "leaf":
        return replace(small, batch=max(1, size // playouts_per_leaf(request, game)))
    return small


def measure_costs(
    request: SearchRequest,
    strategies: Sequence[str],
    executor: RayExecutor,
    report: Callable[[str], None] = print,
) -> dict[str, Costs]:
    """What the jobs of this search cost here, by each strategy; ``executor`` has a worker.

    The request has a budget in simulations: that of the search which is to be predicted. ``report`` gets
    lines of progress.
    """
    cores = len(os.sched_getaffinity(0))
    by_strategy: dict[str, Costs] = {}
    report("calls: what one costs, whatever it carries")
    calls = _time_calls(executor)
    for strategy in strategies:
        small = calibration_request(replace(request, strategy=strategy))
        report(f"{strategy}: each step of a search")
        costs = replace(_time_steps(small), cores=cores, **asdict(calls))
        if not waits(costs):
            report(f"{strategy}: one process, then {cores} at a time")
            costs = replace(costs, crowded_simulation_s=costs.simulation_s * _crowding(small, cores))
        if strategy == "tree":
            report(f"{strategy}: what a snapshot costs, and how much of it is its size")
            costs = _by_size(small, executor, _time_snapshots(small, executor, costs))
        elif strategy == "leaf":
            report(f"{strategy}: what a batch costs")
            ran = _run(small, executor)
            per_call = (ran.thread_s - ran.jobs * (costs.make_s + costs.absorb_s)) / ran.calls
            longer = _size(replace(request, strategy=strategy)) / _size(small)
            costs = replace(
                costs,
                turn_s=max(costs.turn_s, per_call - costs.send_s - costs.receive_s),
                make_s=costs.make_s * longer,
                absorb_s=costs.absorb_s * longer,
            )
            if waits(costs):
                report(f"{strategy}: calls of many that wait")
                costs = waiting_costs(costs, ran, partial(_run, executor=executor), _time_steps(STREAM))
                executor.use(MAX_LANES)
                if (workers := executor.num_workers) > 2 * cores:
                    report(f"{strategy}: {workers} workers on {cores} cores")
                    asked = crowd_request(small, costs, workers)
                    # The first finds processes that have only just been started.
                    factors = [together(costs, _run(asked, executor, workers)) for _ in range(1 + REPEATS)]
                    costs = replace(costs, together=min(factors[1:]))
        by_strategy[strategy] = costs
    return by_strategy


def steps_of(request: SearchRequest, costs: Costs) -> Costs:
    """The costs with all steps but calls taken from the request itself, which is run once, without Ray.

    What a simulation costs depends on the tree that it goes through: on lanes, budget, and size of jobs.
    """
    if waits(costs):
        # A part of it: alone, a search that waits takes as long as all its workers together.
        part = round(CALIBRATION_S / costs.simulation_s)
        request = replace(request, simulations=min(request.simulations or part, max(part, 2 * request.lanes)))
    found = _time_steps(request)
    costs = costs.with_messages(found.increment_rows, found.snapshot_bytes)
    crowding = costs.crowded_simulation_s / costs.simulation_s
    return replace(
        costs,
        simulation_s=found.simulation_s,
        crowded_simulation_s=found.simulation_s * crowding,
        job_spread=found.job_spread,
        make_s=found.make_s,
        absorb_s=found.absorb_s,
        round_s=found.round_s,
    )


def _by_size(request: SearchRequest, executor: RayExecutor, costs: Costs) -> Costs:
    """The costs, which are of this search, with what a row and a byte of its messages add to them."""
    rows = _time_steps(request, Rows(increments=LITTLE.increments))
    bytes_ = Rows(snapshot=LITTLE.snapshot)
    less = _time_snapshots(request, executor, _time_steps(request, bytes_, costs), bytes_)
    return replace(
        costs,
        row_s=slope(costs, rows, "absorb_s", "increment_rows"),
        round_byte_s=slope(costs, less, "round_s", "snapshot_bytes"),
        publish_byte_s=slope(costs, less, "publish_s", "snapshot_bytes"),
        fetch_byte_s=slope(costs, less, "fetch_s", "snapshot_bytes"),
    )


def slope(more: Costs, less: Costs, cost: str, size: str) -> float:
    """What each of ``size`` adds to ``cost``, by two measurements; 0 if their sizes are not far apart."""
    sizes = getattr(more, size), getattr(less, size)
    if sizes[0] < APART * sizes[1] or not sizes[0]:
        return 0.0
    return max(0.0, float(getattr(more, cost) - getattr(less, cost))) / float(sizes[0] - sizes[1])


def _size(request: SearchRequest) -> int:
    """Simulations of a job."""
    return make_plan(request, games.load(request.game)).size(0)


@dataclass(frozen=True)
class _Calls:
    """The fields of `Costs` that tell of calls."""

    turn_s: float
    send_s: float
    receive_s: float
    beside_call_s: float
    call_job_s: float
    worker_call_s: float
    latency_s: float


_OF_CALLS = tuple(field.name for field in fields(_Calls))


def _crowding(request: SearchRequest, cores: int) -> float:
    """How much longer a simulation takes while all cores are at work."""
    ceiling = Ceiling(request, cores)
    try:
        rates = [(ceiling.measure(1), ceiling.measure(cores)) for _ in range(REPEATS)]
    finally:
        ceiling.close()
    alone, together = max(one for one, _ in rates), max(all_at_once for _, all_at_once in rates)
    return max(1.0, cores * alone / together)


def _open(request: SearchRequest, rows: Rows | None) -> Search:
    """The search; with ``rows``, its messages have no more of them."""
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


def _time_steps(request: SearchRequest, rows: Rows | None = None, costs: Costs | None = None) -> Costs:
    """Everything but calls; of these ``costs`` know, if they are given."""
    search = _open(request, rows)
    assert search.plan is not None
    worker = Worker()
    worker.prepare(search.context)
    make_s: list[float] = []
    absorb_s: list[float] = []
    round_s: list[float] = []
    jobs: list[tuple[int, float, float]] = []
    jobs_of_rounds: list[list[float]] = []
    increment_rows: list[int] = []
    snapshot_bytes: list[int] = []
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
        if job.index % strategy.lanes == 0:
            jobs_of_rounds.append([])
        jobs_of_rounds[-1].append(took_s / max(1, done.simulations))
        began = time.perf_counter()
        strategy.absorb(job, done)
        took_s = time.perf_counter() - began
        ends_round = isinstance(job, RoundJob) and job.lane == strategy.lanes - 1
        (round_s if ends_round else absorb_s).append(took_s)
        if isinstance(job, RoundJob) and done.added is not None:
            snapshot_bytes.append(job.snapshot.statistics.nbytes)
            increment_rows.append(len(done.added.visits))
        if strategy.proven != UNPROVEN:
            break
    simulations, seconds, _ = (sum(column) for column in zip(*jobs, strict=True))
    # All leaves cost alike; of games that are not compiled, the first ones wait for what they call to be.
    mean = median if request.strategy == "leaf" else fmean
    merged = mean(absorb_s) if absorb_s else 0.0
    found = Costs(
        simulation_s=seconds / simulations,
        crowded_simulation_s=seconds / simulations,
        job_cpu_share=_cpu_share(jobs),
        job_s=0.0,
        job_spread=_spread(jobs_of_rounds),
        make_s=mean(make_s),
        absorb_s=merged,
        increment_rows=fmean(increment_rows) if increment_rows else 0.0,
        round_s=max(0.0, fmean(round_s) - merged) if round_s else 0.0,
        snapshot_bytes=fmean(snapshot_bytes) if snapshot_bytes else 0.0,
    )
    return found if costs is None else replace(found, **{name: getattr(costs, name) for name in _OF_CALLS})


def _spread(rounds: Sequence[Sequence[float]]) -> float:
    """Standard deviation / mean of what takes equally long but for chance: the jobs of a round. In the course
    of a search all jobs become longer or shorter, and nobody waits for anybody because of that. From the
    median, which does not know of the few jobs that were disturbed; see `Mishaps` for those."""
    deviations = [
        abs(each / fmean(one) - 1) * (len(one) / (len(one) - 1)) ** 0.5
        for one in rounds
        if len(one) > 1
        for each in one
    ]
    return MEDIAN_TO_DEVIATION * median(deviations) if deviations else 0.0


def _cpu_share(jobs: Sequence[tuple[int, float, float]]) -> float:
    """Of a job that is not disturbed: where others use the machine, most jobs wait for it now and then."""
    shares = sorted(min(1.0, cpu_s / took_s) for _, took_s, cpu_s in jobs if took_s > 0)
    return shares[len(shares) * 9 // 10] if shares else 1.0


def _time_calls(executor: RayExecutor) -> _Calls:
    """What Ray adds, from searches of a fast game by root: no worker ever waits for another."""
    request = calibration_request(SearchRequest(game=CALL_GAME, strategy="root", simulations=2**30))
    steps = _time_steps(request)
    # A first search, so that nothing starts during the second.
    _run(replace(request, simulations=max(LANES, (request.simulations or 1) // 8)), executor)
    ran = _run(request, executor)
    ping = _run(_PING, executor)
    crowd = _run(replace(_PING, lanes=CROWD, simulations=CROWD * PINGS), executor)
    own_s = ran.thread_s - ran.jobs * (steps.make_s + steps.absorb_s)
    call_s = max(0.0, own_s) / ran.calls
    send_s, receive_s = _time_burst(executor)
    there_and_back_s = (ping.elapsed_s - ping.busy_s) / ping.jobs
    further = crowd.jobs - crowd.calls
    return _Calls(
        turn_s=max(0.0, call_s - send_s - receive_s),
        send_s=send_s,
        receive_s=receive_s,
        beside_call_s=max(0.0, ran.process_s - ran.thread_s) / ran.calls,
        call_job_s=max(0.0, crowd.thread_s - crowd.calls * (send_s + receive_s)) / further
        if further
        else 0.0,
        worker_call_s=max(0.0, ran.elapsed_s - ran.busy_s) / ran.calls,
        latency_s=max(0.0, there_and_back_s - call_s),
    )


def _time_burst(executor: RayExecutor) -> tuple[float, float]:
    """Of each of many calls that are sent one after the other, and whose answers have all come: what the
    coordinator's thread does to send one, and to receive one."""
    search = open_search(_BURST)
    executor.use(1)
    executor.open(search.context)
    coordinator = Coordinator(search, 1)
    executor.submit(coordinator.start())
    in_flight, executor.in_flight = executor.in_flight, BURST
    sending_s, receiving_s = [], []
    try:
        while not coordinator.finished:
            began_s = time.thread_time()
            events = executor.wait(0.0)
            sending_s.append((time.thread_time() - began_s) / BURST)
            time.sleep(BURST_S)
            began_s = time.thread_time()
            events += executor.wait(0.0)
            receiving_s.append((time.thread_time() - began_s) / BURST)
            for event in events:
                assert isinstance(event, JobDone)
                executor.submit(coordinator.job_done(event.result))
    finally:
        executor.in_flight = in_flight
        executor.drop()
    return median(sending_s), median(receiving_s)


def _time_snapshots(
    request: SearchRequest, executor: RayExecutor, costs: Costs, rows: Rows | None = None
) -> Costs:
    """What a round costs beside its calls: a snapshot published by the coordinator, fetched by the worker.

    By the object store, as it goes to more than a few workers.
    """
    few, executor.few = executor.few, 0
    try:
        ran = _run(request, executor, rows=rows)
    finally:
        executor.few = few
    call_s = costs.turn_s + costs.send_s + costs.receive_s
    known_s = ran.jobs * (costs.make_s + costs.absorb_s) + ran.rounds * costs.round_s + ran.calls * call_s
    idle_s = ran.elapsed_s - ran.busy_s
    # At the end of a round its worker waits: for the last result to come, what is done with it, and a call.
    publish_s = max(0.0, ran.thread_s - known_s) / ran.rounds
    waits_s = costs.latency_s + costs.absorb_s + costs.round_s + publish_s + call_s
    return replace(costs, publish_s=publish_s, fetch_s=max(0.0, idle_s / ran.rounds - waits_s))


@dataclass(frozen=True)
class Ran:
    """What a search took: of the coordinator's thread, its process, and the workers."""

    elapsed_s: float
    thread_s: float
    process_s: float
    busy_s: float
    """Of the first worker."""
    worker_cpu_s: float
    jobs: int
    rounds: int
    calls: int


def _run(request: SearchRequest, executor: RayExecutor, workers: int = 1, rows: Rows | None = None) -> Ran:
    """A search, with what the coordinator's process and the workers spent on it."""
    search = _open(request, rows)
    executor.use(workers)
    executor.open(search.context)
    calls, busy_s = executor.calls, executor.workers[0].busy_s
    coordinator = Coordinator(search, workers)
    thread_s, process_s = time.thread_time(), _process_s()
    worker_cpu_s = cpu_seconds(executor.worker_pids())
    result = Session(coordinator, executor).run()
    jobs = coordinator.counters.jobs_done
    return Ran(
        elapsed_s=result.elapsed_s,
        thread_s=time.thread_time() - thread_s,
        process_s=_process_s() - process_s,
        busy_s=executor.workers[0].busy_s - busy_s,
        worker_cpu_s=cpu_seconds(executor.worker_pids()) - worker_cpu_s,
        jobs=jobs,
        rounds=jobs // search.strategy.lanes if request.strategy == "tree" else 0,
        calls=executor.calls - calls,
    )


def _process_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
