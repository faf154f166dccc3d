"""Measures the costs of calls, independent of their content, in searches with tiny jobs.

A coordinator that wakes up for a single call has cold caches; with many calls at once, each takes less time,
which is measured in a burst. A search with one tiny job at a time gives the latency; one with many jobs in
flight gives the cost of a further job in a bundle.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from cluster.lab.predict.steps import time_steps
from cluster.lab.predict.timed_run import timed_run
from cluster.runtime.queue import BundlesAhead
from cluster.runtime.search_tasks import task_of
from cluster.runtime.tasks import JobDone
from search.coordinator import Coordinator
from search.prepare import open_search
from search.request import SearchRequest

if TYPE_CHECKING:
    from cluster.ray_backend.executor import RayExecutor

CALL_GAME = "tictactoe"
PINGS = 200
"""Number of calls that measure the latency."""
CROWD = 64
"""Number of tiny jobs in flight, sent in bundles."""
BURST = 64
"""Number of calls in a burst."""
BURST_S = 0.25
"""Time limit in seconds for the answers of a burst; a call takes 0.5 ms on an idle core."""
_PING = SearchRequest(
    game=CALL_GAME, strategy="leaf", lanes=1, simulations=PINGS, batch=1, playouts_per_leaf=1
)
"""A search with one call at a time and almost no work."""
_BURST = replace(_PING, lanes=BURST, simulations=8 * BURST)


@dataclass(frozen=True)
class CallCosts:
    """The fields of `Costs` for calls."""

    turn_s: float
    send_s: float
    receive_s: float
    beside_call_s: float
    call_job_s: float
    worker_call_s: float
    latency_s: float


def time_calls(request: SearchRequest, executor: RayExecutor) -> CallCosts:
    """Measure the costs of calls, partly by ``request``: a search of a fast game with strategy root."""
    steps = time_steps(request)
    # A first search for warming up.
    timed_run(replace(request, simulations=max(request.lanes, (request.simulations or 1) // 8)), executor)
    ran = timed_run(request, executor)
    ping = timed_run(_PING, executor)
    crowd = timed_run(replace(_PING, lanes=CROWD, simulations=CROWD * PINGS), executor)
    own_s = ran.thread_s - ran.jobs * (steps.make_s + steps.absorb_s)
    call_s = max(0.0, own_s) / ran.calls
    send_s, receive_s = _time_burst(executor)
    there_and_back_s = (ping.elapsed_s - ping.busy_s) / ping.jobs
    further = crowd.jobs - crowd.calls
    return CallCosts(
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
