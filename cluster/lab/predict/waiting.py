"""Measures the costs of a search whose simulations wait for a process, a server or a device.

Many such workers share a core, so CPU time counts: the cores limit the search only when calls, playouts and
the coordinator use them fully. The coordinator handles the calls of many workers, so its part of a call is
measured with many calls. A worker is idle when a job arrives, which makes its part of a call more expensive,
so that part is measured in the search itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cluster.lab.predict.costs import Costs
from cluster.lab.predict.timed_run import Ran
from search.request import SearchRequest

WAITS_BELOW = 0.5
"""Largest CPU time / time of a job that counts as waiting."""
STREAM = SearchRequest(
    game="tictactoe", strategy="leaf", lanes=2, simulations=1000, batch=1, playouts_per_leaf=1
)
"""A search with tiny jobs, two calls at a time on one worker."""
CROWD = replace(STREAM, lanes=64, simulations=12_800)
"""A search with tiny jobs, many in each bundle."""
JOBS_EACH = 4
"""Jobs in flight per worker, as in throughput/speedup.py."""
CROWD_S = 3.0


def waits(costs: Costs) -> bool:
    """Whether the simulations of a search wait most of the time, without using their core."""
    return costs.job_cpu_share < WAITS_BELOW


def waiting_costs(costs: Costs, ran: Ran, run: Callable[[SearchRequest], Ran], steps: Costs) -> Costs:
    """The costs with those of calls taken from ``ran``, a run of the search on one worker.

    ``run`` runs a further search on that worker; ``steps``: costs of the coordinator in such searches.
    """
    run(replace(STREAM, simulations=100))
    stream, crowd = run(STREAM), run(CROWD)
    own_s = steps.make_s + steps.absorb_s
    call_s = max(0.0, stream.thread_s - stream.jobs * own_s) / stream.calls
    turn_s = max(0.0, call_s - costs.send_s - costs.receive_s)
    further_s = max(0.0, crowd.thread_s - crowd.jobs * own_s - crowd.calls * call_s)
    job_cpu_s = costs.job_cpu_share * ran.busy_s
    return replace(
        costs,
        turn_s=turn_s,
        beside_call_s=max(0.0, stream.process_s - stream.thread_s) / stream.calls,
        call_job_s=further_s / max(1, crowd.jobs - crowd.calls),
        worker_call_cpu_s=max(0.0, ran.worker_cpu_s - job_cpu_s) / ran.calls,
    )


def crowd_request(request: SearchRequest, costs: Costs, workers: int) -> SearchRequest:
    """A part of the search that keeps ``workers`` workers busy for a few seconds, with one leaf per job."""
    lanes = JOBS_EACH * workers
    used_s = costs.job_cpu_share * costs.simulation_s + costs.worker_call_cpu_s
    per_s = min(workers / costs.simulation_s, costs.cores / max(used_s, 1e-6))
    return replace(request, lanes=lanes, simulations=max(2 * lanes, round(CROWD_S * per_s)), batch=1)


def together(costs: Costs, ran: Ran) -> float:
    """Ratio of the CPU time of a search on many workers to that expected from the costs of one worker."""
    known_s = ran.jobs * (costs.make_s + costs.absorb_s + costs.job_cpu_share * costs.simulation_s)
    calls_s = costs.send_s + costs.receive_s + costs.beside_call_s + costs.worker_call_cpu_s
    known_s += ran.calls * calls_s + (ran.jobs - ran.calls) * costs.call_job_s
    return max(1.0, (ran.process_s + ran.worker_cpu_s) / known_s)
