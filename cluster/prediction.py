"""What more workers than there are would do: the real coordinator and strategies under a virtual clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cluster.coordinator import Coordinator
from cluster.costs import Costs, Mishaps
from cluster.hollow import HollowWorker, open_hollow
from cluster.session import Session
from cluster.simulated_executor import SimulatedExecutor
from search.request import SearchRequest

SATURATED = 0.9
"""A coordinator that is busy for this share of the time is what a search waits for."""


@dataclass(frozen=True)
class Predicted:
    """One strategy on one number of workers, simulated."""

    game: str
    strategy: str
    lanes: int
    workers: int
    simulations: int
    simulations_per_s: float
    speedup: float
    """Against one worker of the same kind, which waits for nobody: its rate is 1 / simulation_s."""
    efficiency: float
    coordinator_busy: float
    """The share of the time that the coordinator's thread is at work."""
    job_s: float
    """What a job takes a worker."""
    jobs_retried: int


def predict(
    request: SearchRequest,
    costs: Costs,
    workers: Sequence[int],
    mishaps: Mishaps | None = None,
    report: Callable[[str], None] = print,
) -> list[Predicted]:
    """The request, which has a budget in simulations, on each number of workers.

    Numbers that the machine which was measured can hold are predicted for it; beyond, every
    worker has a core like its cores, and the coordinator one of its own.
    """
    rows = []
    for n in workers:
        local = n * costs.job_cpu_share <= costs.cores
        rows.append(_predict(request, costs, n, mishaps, costs.cores if local else None))
        report(
            f"{request.strategy} on {n} workers: {rows[-1].simulations_per_s:,.0f} simulations/s, "
            f"the coordinator {rows[-1].coordinator_busy:.0%} busy"
        )
    return rows


def _predict(
    request: SearchRequest, costs: Costs, workers: int, mishaps: Mishaps | None, cores: int | None
) -> Predicted:
    search = open_hollow(request)
    executor = SimulatedExecutor(
        workers, costs, HollowWorker(), mishaps=mishaps, shared_cores=cores, seed=request.seed
    )
    executor.open(search.context)
    coordinator = Coordinator(search, workers, executor.clock)
    result = Session(coordinator, executor, executor.clock).run()
    rate = result.simulations / result.elapsed_s
    one = 1.0 / (costs.simulation_s if cores and workers * costs.job_cpu_share < cores else costs.crowded_simulation_s)
    assert search.plan is not None
    return Predicted(
        game=search.game.spec,
        strategy=request.strategy,
        lanes=request.lanes,
        workers=workers,
        simulations=result.simulations,
        simulations_per_s=round(rate, 1),
        speedup=round(rate / one, 3),
        efficiency=round(rate / one / workers, 4),
        coordinator_busy=round(executor.coordinator_s / result.elapsed_s, 4),
        job_s=round(search.plan.size(0) / one, 5),
        jobs_retried=result.jobs_retried,
    )


def saturation(rows: Sequence[Predicted]) -> int | None:
    """The first number of workers of those given at which the coordinator is what the search waits for."""
    return next((row.workers for row in rows if row.coordinator_busy >= SATURATED), None)
