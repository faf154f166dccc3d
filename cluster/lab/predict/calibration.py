"""Measures the costs of a search on this machine, first without Ray, then with one Ray worker.

Without Ray the search runs in this thread, and each step is timed (steps.py).

Calls are measured independently of their content, in searches with tiny jobs. A search with strategy root
runs on one worker: the time of the coordinator's thread beyond making and merging jobs is the cost of calls,
and the time of the worker beyond its jobs is the worker's part of that cost. A coordinator that wakes up for
a single call has cold caches; with many calls at once, each takes less time, which is measured in a burst. A
search with one tiny job at a time gives the latency; one with many jobs in flight gives the cost of a further
job in a bundle. In a search with strategy tree, the remaining time is the cost of snapshots.

Simulations that wait, for a process, a server or a device, are refused: many such workers share a core, so
`banyan speedup` measures here what hundreds of them make.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

import games
from cluster.lab.predict.costs import Costs
from cluster.lab.predict.steps import time_steps, timed_run
from cluster.lab.throughput.ceiling import Ceiling
from cluster.runtime.queue import BundlesAhead
from cluster.runtime.session import task_of
from cluster.runtime.tasks import JobDone
from cluster.system.processes import num_cores
from games.errors import InvalidInput
from search.coordinator import Coordinator
from search.plan import JOB_S
from search.prepare import open_search
from search.request import SearchRequest
from search.strategies import STRATEGY_CLASSES, plan_search

if TYPE_CHECKING:
    from cluster.workers.ray_executor import RayExecutor

CALIBRATION_S = 2.0
"""Approximate duration in seconds of each search that measures costs."""
REPEATS = 5
"""Repeats of measurements with several processes. The best counts: other programs can only slow them down."""
MOST_JOBS = 10_000
"""Most jobs of each search that measures costs: short ones cost some 0.3 ms each, whatever they contain."""
LANES = 2
"""Lanes of searches that measure costs; with so few, jobs can have their full size."""
SNAPSHOT_ROWS, INCREMENT_ROWS = 4_096, 2_048
"""Limits, in rows, of snapshots and increments in searches that measure the cost of size; both are far below
the usual sizes."""
APART = 2.0
"""Smallest ratio of two sizes from which a cost per size is derived; below it, noise dominates."""
CALL_GAME = "tictactoe"
PINGS = 200
"""Number of calls that measure the latency."""
TINY_JOBS = 64
"""Number of tiny jobs in flight, sent in bundles."""
BURST = 64
"""Number of calls in a burst."""
BURST_S = 0.25
"""Time limit in seconds for the answers of a burst; a call takes 0.5 ms on an idle core."""
_PING = SearchRequest(
    game=CALL_GAME, strategy="leaf", lanes=1, simulations=PINGS, batch=1, playouts_per_leaf=1
)
"""A search with one call at a time and almost no work."""
_CROWD = replace(_PING, lanes=TINY_JOBS, simulations=TINY_JOBS * PINGS)
"""A search with tiny jobs, many in each bundle."""
_BURST = replace(_PING, lanes=BURST, simulations=8 * BURST)
WAITS_BELOW = 0.5
"""Largest CPU time / time of a job that counts as waiting."""


def calibration_request(request: SearchRequest) -> SearchRequest:
    """A smaller search with jobs of the request's size, but at most JOB_S long."""
    game = games.load(request.game)
    plan = plan_search(request, game)
    size = min(plan.size(0), max(1, round(game.nominal_simulations_per_s * JOB_S)))
    rounds = max(4, round(CALIBRATION_S * game.nominal_simulations_per_s / (LANES * size)))
    rounds = min(rounds, MOST_JOBS // LANES)
    small = replace(request, lanes=LANES, simulations=size * LANES * rounds)
    kind = STRATEGY_CLASSES[request.strategy]
    if kind.by_rounds:
        return replace(small, rounds=rounds)
    if kind.by_leaves:
        return replace(small, batch=max(1, size // plan.playouts_per_leaf))
    return small


def measure_costs(
    request: SearchRequest,
    strategies: Sequence[str],
    executor: RayExecutor,
    report: Callable[[str], None] = print,
) -> dict[str, Costs]:
    """Measure the costs of this search on this machine, by strategy; ``executor`` has at least one worker.

    The request must have a budget in simulations, the one of the search to be predicted. ``report`` is called
    with lines of progress.
    """
    report("calls: what one costs, whatever it carries")
    fast = calibration_request(SearchRequest(game=CALL_GAME, strategy="root", simulations=2**30))
    calls = time_calls(fast, executor)
    return {
        strategy: _measure(replace(request, strategy=strategy), executor, report, calls)
        for strategy in strategies
    }


def _measure(
    request: SearchRequest, executor: RayExecutor, report: Callable[[str], None], calls: dict[str, Any]
) -> Costs:
    """Measure all costs of one strategy; ``calls``: those of calls, which do not depend on it."""
    cores = num_cores()
    small = calibration_request(request)
    name, kind = request.strategy, STRATEGY_CLASSES[request.strategy]
    report(f"{name}: each step of a search")
    costs, cpu_share = time_steps(small)
    if cpu_share < WAITS_BELOW:
        why = "one whose simulations compute; what many that wait make, banyan speedup measures"
        raise InvalidInput("game", request.game, why)
    report(f"{name}: one process, then {cores} at a time")
    crowded_s = costs.simulation_s * _crowding(small, cores)
    costs = replace(costs, cores=cores, crowded_simulation_s=crowded_s, **calls)
    if kind.by_rounds:
        report(f"{name}: the cost of a snapshot, and its part that depends on the size")
        return _by_size(small, executor, costs, calls)
    if not kind.by_leaves:
        return costs
    report(f"{name}: what a batch costs")
    ran = timed_run(small, executor)
    per_call_s = (ran.thread_s - ran.jobs * (costs.make_s + costs.absorb_s)) / ran.calls
    longer = _size(request) / _size(small)
    return replace(
        costs,
        turn_s=max(costs.turn_s, per_call_s - costs.send_s - costs.receive_s),
        make_s=costs.make_s * longer,
        absorb_s=costs.absorb_s * longer,
    )


def _by_size(request: SearchRequest, executor: RayExecutor, costs: Costs, calls: dict[str, Any]) -> Costs:
    """The costs (of this request), completed by the costs of a row and of a byte of its messages.

    ``calls``: those of calls, which do not depend on sizes.
    """
    rows, _ = time_steps(request, increment_rows=INCREMENT_ROWS)
    costs = replace(costs, row_s=slope(costs, rows, "absorb_s", "increment_rows"))
    costs = _time_snapshots(request, executor, costs)
    less = replace(time_steps(request, snapshot_rows=SNAPSHOT_ROWS)[0], **calls)
    less = _time_snapshots(request, executor, less, snapshot_rows=SNAPSHOT_ROWS)
    return replace(
        costs,
        round_byte_s=slope(costs, less, "round_s", "snapshot_bytes"),
        publish_byte_s=slope(costs, less, "publish_s", "snapshot_bytes"),
        fetch_byte_s=slope(costs, less, "fetch_s", "snapshot_bytes"),
    )


def slope(more: Costs, less: Costs, cost: str, size: str) -> float:
    """The increase of field ``cost`` per unit of field ``size``, from two measurements.

    It is 0 if the sizes differ by less than the factor APART.
    """
    sizes = getattr(more, size), getattr(less, size)
    if sizes[0] < APART * sizes[1] or not sizes[0]:
        return 0.0
    return max(0.0, float(getattr(more, cost) - getattr(less, cost))) / float(sizes[0] - sizes[1])


def _size(request: SearchRequest) -> int:
    """Simulations of a job."""
    return plan_search(request, games.load(request.game)).size(0)


def _crowding(request: SearchRequest, cores: int) -> float:
    """Factor by which a simulation takes longer while all cores are busy."""
    with closing(Ceiling(request, cores)) as ceiling:
        rates = [(ceiling.measure(1), ceiling.measure(cores)) for _ in range(REPEATS)]
    alone, together = max(one for one, _ in rates), max(all_at_once for _, all_at_once in rates)
    return max(1.0, cores * alone / together)


def _time_snapshots(request: SearchRequest, executor: RayExecutor, costs: Costs, **limits: int) -> Costs:
    """The costs of a round beyond its calls: publishing and fetching a snapshot."""
    ran = timed_run(request, executor, **limits)
    rounds = ran.jobs // request.most_lanes
    call_s = costs.turn_s + costs.send_s + costs.receive_s
    round_s = costs.plan_s + costs.round_s
    known_s = ran.jobs * costs.make_s + rounds * (round_s + costs.merge_s(request.most_lanes))
    known_s += ran.calls * call_s
    idle_s = ran.elapsed_s - ran.busy_s
    # At the end of a round the worker waits for the last result to arrive and be merged, and for a call.
    publish_s = max(0.0, ran.thread_s - known_s) / rounds
    waits_s = costs.latency_s + costs.absorb_s + round_s + publish_s + call_s
    return replace(costs, publish_s=publish_s, fetch_s=max(0.0, idle_s / rounds - waits_s))


def time_calls(request: SearchRequest, executor: RayExecutor) -> dict[str, Any]:
    """Measure the costs of calls, by fields of `Costs`, partly by ``request``: a search of a fast game
    with strategy root."""
    steps, _ = time_steps(request)
    # A first search for warming up.
    timed_run(
        replace(request, simulations=max(request.most_lanes, (request.simulations or 1) // 8)), executor
    )
    ran = timed_run(request, executor)
    ping = timed_run(_PING, executor)
    crowd = timed_run(_CROWD, executor)
    own_s = ran.thread_s - ran.jobs * (steps.make_s + steps.absorb_s)
    call_s = max(0.0, own_s) / ran.calls
    send_s, receive_s = _time_burst(executor)
    there_and_back_s = (ping.elapsed_s - ping.busy_s) / ping.jobs
    further = crowd.jobs - crowd.calls
    beyond_calls_s = max(0.0, crowd.thread_s - crowd.calls * (send_s + receive_s))
    return {
        "turn_s": max(0.0, call_s - send_s - receive_s),
        "send_s": send_s,
        "receive_s": receive_s,
        "beside_call_s": max(0.0, ran.process_s - ran.thread_s) / ran.calls,
        "call_job_s": beyond_calls_s / further if further else 0.0,
        "worker_call_s": max(0.0, ran.elapsed_s - ran.busy_s) / ran.calls,
        "latency_s": max(0.0, there_and_back_s - call_s),
    }


def _time_burst(executor: RayExecutor) -> tuple[float, float]:
    """CPU time of the coordinator's thread to send one call and to receive its answer.

    All calls are sent before the first answer is received.
    """
    search = open_search(_BURST)
    executor.use(1)
    executor.open(search.context)
    coordinator = Coordinator(search, 1)
    executor.submit(map(task_of, coordinator.start()))
    ahead, executor.dispatcher.ahead = executor.dispatcher.ahead, BundlesAhead(BURST, math.inf)
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
                executor.submit(map(task_of, coordinator.job_done(event.result)))
    finally:
        executor.dispatcher.ahead = ahead
        executor.drop()
    return median(sending_s), median(receiving_s)
