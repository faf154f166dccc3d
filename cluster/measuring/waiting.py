"""Costs of a search whose simulations wait for something: a process, a server, a device.

Many such workers share a core, so what counts is CPU time: the search is bound by the cores of the
machine only when calls, playouts and the coordinator have used them up. The coordinator is busy
with the calls of all its workers, so a call is measured as one of many; a worker has been idle
when a job comes, which makes its part of a call dearer: that is measured in the search itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cluster.measuring.costs import Costs
from search.request import SearchRequest

if TYPE_CHECKING:
    from cluster.measuring.calibration import Ran

WAITS_BELOW = 0.5
"""A job that uses less CPU time than this share of its own waits for something."""
STREAM = SearchRequest(
    game="tictactoe", strategy="leaf", lanes=2, simulations=1000, batch=1, playouts_per_leaf=1
)
"""Calls with next to nothing to do, two at a time for one worker."""
CROWD = replace(STREAM, lanes=64, simulations=12_800)
"""The same, many in a bundle."""
JOBS_EACH = 4
"""As in what is run to compare (`measuring/speedup.py`)."""
CROWD_S = 3.0
_TICKS_PER_S = 100
"""Of /proc, on every Linux that Python runs on."""


def waits(costs: Costs) -> bool:
    """Whether the simulations of a search wait for something, and leave their core to others meanwhile."""
    return costs.job_cpu_share < WAITS_BELOW


def waiting_costs(costs: Costs, ran: Ran, run: Callable[[SearchRequest], Ran], steps: Costs) -> Costs:
    """The costs, with calls as the search makes them that was run (``ran``, on one worker).

    ``run`` makes a search on that worker, ``steps`` are the coordinator's costs in those that it makes here.
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
    """A part of the search that keeps so many workers busy for a few seconds, a leaf a job."""
    lanes = JOBS_EACH * workers
    used_s = costs.job_cpu_share * costs.simulation_s + costs.worker_call_cpu_s
    per_s = min(workers / costs.simulation_s, costs.cores / max(used_s, 1e-6))
    return replace(request, lanes=lanes, simulations=max(2 * lanes, round(CROWD_S * per_s)), batch=1)


def together(costs: Costs, ran: Ran) -> float:
    """How much dearer CPU time was in a search on many workers than the costs of one tell."""
    known_s = ran.jobs * (costs.make_s + costs.absorb_s + costs.job_cpu_share * costs.simulation_s)
    calls_s = costs.send_s + costs.receive_s + costs.beside_call_s + costs.worker_call_cpu_s
    known_s += ran.calls * calls_s + (ran.jobs - ran.calls) * costs.call_job_s
    return max(1.0, (ran.process_s + ran.worker_cpu_s) / known_s)


def cpu_seconds(pids: Sequence[int]) -> float:
    """CPU time that processes of this machine have used; 0 where there is no /proc."""
    ticks = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / _TICKS_PER_S
