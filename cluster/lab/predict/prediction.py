"""Predicts throughput with any number of workers: the real coordinator and strategies on a virtual clock.

Predictions use null searches: strategies issue jobs and take results as usual, but no simulations are run.
Only time matters there: the costs of the omitted work are added to the virtual clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import games
from cluster.lab.predict.costs import Costs
from cluster.lab.predict.simulated_executor import CALLS, WAITING, WORKING, SimulatedExecutor
from cluster.runtime.session import session_on
from games.errors import counted
from search.job import Context, Job, JobResult, LaneJob
from search.kernel.engine import engine_of
from search.kernel.params import params_of, with_exploration
from search.prepare import Search
from search.request import SearchRequest
from search.strategies import STRATEGY_CLASSES, Setup, plan_search
from search.tree.arena import TreeLayout
from search.tree.merge import lone_root

SATURATED = 0.9
"""Busy share of the coordinator from which it counts as the bottleneck of a search."""
ROUNDS, JOBS = 16, 16_384
"""tree: of a search with more rounds and more jobs than these, only so many are simulated.
The other rounds take as long: each begins when all jobs of the one before have ended."""


@dataclass(frozen=True)
class Predicted:
    """Simulated results of one strategy on one number of workers."""

    game: str
    strategy: str
    lanes: int
    workers: int
    simulations: int
    simulations_per_s: float
    speedup: float
    """Speedup over one worker with this strategy, simulated on the measured machine."""
    efficiency: float
    """speedup / workers."""
    of_ceiling: float
    """Rate relative to workers that never wait, with equally many workers and busy cores."""
    coordinator_busy: float
    """Share of the time in which the coordinator's thread is busy."""
    job_s: float
    """Mean time of a job on a worker, in seconds."""
    spent: dict[str, float]
    """Shares of WORKING, CALLS and WAITING (simulated_executor.py) in the workers' time, and of each part of
    COORDINATOR in the time of the coordinator's thread."""


def predict(
    request: SearchRequest,
    costs: Costs,
    workers: Iterable[int],
    report: Callable[[str], None] = print,
    cores: int | None = None,
) -> Iterator[Predicted]:
    """Predict the request (with a budget in simulations) for each number of workers, one after the other.

    Numbers of workers that fit on the measured machine are predicted for that machine. For larger numbers,
    every worker and the coordinator have one core each, as fast as those of the measured machine, on machines
    of ``cores`` (None: as many as the measured one has).
    """
    costs = for_request(costs, request)
    part = _part(request)
    alone = _simulate(part, costs, 1, cores)
    for n in workers:
        found = alone if n == 1 else _simulate(part, costs, n, cores)
        speedup = found.simulations_per_s / alone.simulations_per_s
        row = replace(
            found,
            simulations=request.simulations or 0,
            simulations_per_s=round(found.simulations_per_s, 1),
            speedup=round(speedup, 3),
            efficiency=round(speedup / n, 4),
        )
        report(
            f"{request.strategy} on {counted(n, 'worker')}: {row.simulations_per_s:,.0f} simulations/s, "
            f"the coordinator {row.coordinator_busy:.0%} busy"
        )
        yield row


def _part(request: SearchRequest) -> SearchRequest:
    """The part of a search that is simulated: with strategy tree, its first rounds."""
    plan = plan_search(request, games.load(request.game))
    rounds = max(ROUNDS, JOBS // plan.lanes)
    by_rounds = STRATEGY_CLASSES[request.strategy].by_rounds
    if not by_rounds or plan.rounds <= rounds:
        return request
    return replace(request, rounds=rounds, simulations=plan.lanes * rounds * plan.size(0))


def for_request(costs: Costs, request: SearchRequest) -> Costs:
    """The costs adapted to the message sizes of this request; only strategy tree has sized messages.

    Messages are assumed to have their largest size, except results of jobs with few simulations, where each
    simulation changes about 1.6 nodes.
    """
    if not costs.snapshot_bytes:
        return costs
    game = games.load(request.game)
    plan = plan_search(request, game)
    increment_rows = min(plan.increment_rows, 2 * plan.size(plan.jobs - 1))
    # In the mean of all rounds there is room for what half of them have brought.
    snapshot_rows = min(plan.snapshot_rows, 1 + plan.jobs * increment_rows // 2)
    row = lone_root(TreeLayout(hidden=game.hidden_information, wide=request.wide))
    return costs.with_messages(increment_rows, snapshot_rows * row.nbytes)


def _simulate(request: SearchRequest, costs: Costs, workers: int, cores: int | None) -> Predicted:
    """Simulate a search: on the measured machine, if that many busy workers fit on it.

    Its rate is not rounded, and beside itself its speedup is 1.
    """
    search = open_null(request)
    executor = SimulatedExecutor(
        workers,
        costs,
        NullWorker(),
        shared_cores=costs.cores if workers <= costs.cores else None,
        cores=cores or costs.cores,
        together=not STRATEGY_CLASSES[request.strategy].by_leaves,
        seed=request.seed,
    )
    result = session_on(executor, search, workers, executor.clock).run()
    shares = {part: seconds / result.elapsed_s for part, seconds in executor.spent.items()}
    shares |= {part: shares[part] / workers for part in (WORKING, CALLS)}
    shares[WAITING] = max(0.0, 1.0 - shares[WORKING] - shares[CALLS])
    per_s, one_per_s = result.simulations / result.elapsed_s, 1.0 / executor.simulation_s
    return Predicted(
        game=result.game,
        strategy=request.strategy,
        lanes=request.most_lanes,
        workers=workers,
        simulations=result.simulations,
        simulations_per_s=per_s,
        speedup=1.0,
        efficiency=1.0 / workers,
        of_ceiling=round(per_s / one_per_s / workers, 4),
        coordinator_busy=round(executor.coordinator_s / result.elapsed_s, 4),
        job_s=round(search.plan.size(0) / one_per_s, 5),
        spent={part: round(share, 4) for part, share in shares.items()},
    )


def saturation(rows: Sequence[Predicted]) -> int | None:
    """The first number of workers at which the coordinator is the bottleneck; None if there is none."""
    return next((row.workers for row in rows if row.coordinator_busy >= SATURATED), None)


class NullWorker:
    """A worker that reports all simulations of a job as done, and returns no statistics."""

    def __init__(self) -> None:
        self._nothing = lone_root()

    def prepare(self, context: Any) -> None:
        """Nothing is needed."""

    def together(self, context: Any, jobs: Sequence[Job], threads: int, sent: bool) -> NullJob | None:
        """One null job in place of several jobs with portions; None for other jobs."""
        if context.hidden or not isinstance(jobs[0], LaneJob):
            return None
        return NullJob(jobs[0].index, sum(job.simulations for job in jobs), len(jobs), divided=True)

    def run(self, context: Any, job: Any) -> JobResult:
        done, jobs = job.simulations, job.jobs if isinstance(job, NullJob) else 1
        return JobResult(job.index, done, added=self._nothing, playouts=done, jobs=jobs)


@dataclass(frozen=True)
class NullJob(Job):
    """A job of strategy leaf without leaves, or several of strategy tree as one."""

    index: int
    simulations: int
    jobs: int = 1
    lane = None
    divided: bool = False


def open_null(request: SearchRequest) -> Search:
    """A null search with a budget in simulations; it needs almost no memory at any budget and lanes."""
    game = games.load(request.game)
    plan = plan_search(request, game)
    request = with_exploration(request, game)
    root_state = game.initial_state()
    hidden = request.hidden_information if game.hidden_information else ""
    # No scale is measured; an arena of four nodes, and counts from two visits on.
    context = Context("null", request, game.spec, None, root_state, hidden, 1.0, 4, 2)
    engine = engine_of(game)
    setup = Setup(context, engine, params_of(context), plan, engine.new_tree(2), mover=0, num_legal=1)
    kind = STRATEGY_CLASSES[request.strategy]
    strategy: Any = kind(setup)
    # The strategy decides which jobs come when; nothing is selected for them, and nothing comes of them.
    strategy.merge = lambda added: None
    if kind.by_leaves:
        strategy.make_job = lambda simulations: NullJob(strategy.issued, simulations)
        strategy.add_result = lambda job, result: None
    return Search(request, game, root_state, plan, strategy)
