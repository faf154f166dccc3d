"""What more workers than there are would do: the real coordinator and strategies under a virtual clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median

import games
from cluster.coordinator import Coordinator
from cluster.executor import Executor
from cluster.measuring.costs import Costs, Mishaps
from cluster.measuring.hollow import HollowWorker, open_hollow
from cluster.session import Session
from cluster.simulated_executor import SimulatedExecutor
from search.opening import open_search
from search.plan import make_plan, playouts_per_leaf, rows_at_most
from search.request import MAX_BATCH, MAX_LANES, MAX_PLAYOUTS_PER_LEAF, MAX_SIMULATIONS, SearchRequest
from search.statistics import lone_root

SATURATED = 0.9
"""A coordinator that is busy for this share of the time is what a search waits for."""
WEAKER = "plays worse"
"""Of changes whose simulations are worth less: see search/README.md, "How many rounds"."""


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
    spent: dict[str, float]
    """The share of the workers' time that each part took (measuring/worker_time.py)."""


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
    costs = for_request(costs, request)
    for n in workers:
        rows.append(_predict(request, costs, n, mishaps, costs.cores if _is_local(costs, n) else None))
        report(
            f"{request.strategy} on {n} workers: {rows[-1].simulations_per_s:,.0f} simulations/s, "
            f"the coordinator {rows[-1].coordinator_busy:.0%} busy"
        )
    return rows


def for_request(costs: Costs, request: SearchRequest) -> Costs:
    """The costs, which may be those of another search by `tree`, with messages as large as this one's.

    They are counted as large as they may be, but for results of jobs of few simulations: each of those
    changes some 1.6 nodes.
    """
    if not costs.snapshot_bytes:
        return costs
    game = games.load(request.game)
    plan = make_plan(request, game)
    snapshot_rows, increment_rows = rows_at_most(request, plan, plan.lanes, game)
    increment_rows = min(increment_rows, 2 * plan.size(plan.jobs - 1))
    # In the mean of all rounds there is room for what half of them have brought.
    snapshot_rows = min(snapshot_rows, 1 + plan.jobs * increment_rows // 2)
    row = lone_root(game.hidden_information, request.wide)
    return costs.with_messages(increment_rows, snapshot_rows * row.nbytes)


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
    one = 1.0 / executor.simulation_s
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
        spent=executor.time.shares(workers * result.elapsed_s),
    )


def saturation(rows: Sequence[Predicted]) -> int | None:
    """The first number of workers of those given at which the coordinator is what the search waits for."""
    return next((row.workers for row in rows if row.coordinator_busy >= SATURATED), None)


@dataclass(frozen=True)
class Check:
    """A search that was run here, and what was predicted for it."""

    strategy: str
    lanes: int
    workers: int
    simulations: int
    measured_per_s: float
    """Median of the repeats."""
    spread: tuple[float, float]
    predicted_per_s: float
    error: float
    """predicted / measured - 1."""


def check(
    request: SearchRequest,
    costs: Costs,
    workers: Sequence[int],
    executor: Executor,
    repeats: int,
    report: Callable[[str], None] = print,
) -> list[Check]:
    """Run the request on each number of workers, and predict it."""
    rows = []
    for n in workers:
        rates = sorted(_measure(request, executor, n) for _ in range(repeats))
        measured = median(rates)
        row = _predict(request, costs, n, None, costs.cores)
        error = row.simulations_per_s / measured - 1
        rows.append(
            Check(
                strategy=request.strategy,
                lanes=request.lanes,
                workers=n,
                simulations=row.simulations,
                measured_per_s=round(measured, 1),
                spread=(round(rates[0], 1), round(rates[-1], 1)),
                predicted_per_s=row.simulations_per_s,
                error=round(error, 4),
            )
        )
        report(
            f"{request.strategy} on {n} workers here: {measured:,.0f} simulations/s, "
            f"{row.simulations_per_s:,.0f} predicted ({error:+.1%})"
        )
    return rows


def _measure(request: SearchRequest, executor: Executor, workers: int) -> float:
    search = open_search(request)
    executor.use(workers)
    executor.open(search.context)
    result = Session(Coordinator(search, workers), executor).run()
    return result.simulations / result.elapsed_s


def _is_local(costs: Costs, workers: int) -> bool:
    """Whether the machine that was measured can hold so many workers."""
    return workers * costs.job_cpu_share <= costs.cores


@dataclass(frozen=True)
class Change:
    """What one change to the request would do at the largest number of workers."""

    strategy: str
    what: str
    """The option to give."""
    workers: int
    simulations_per_s: float
    factor: float
    """Against the request as it is."""


def try_changes(
    request: SearchRequest, costs: Costs, row: Predicted, mishaps: Mishaps | None = None
) -> list[Change]:
    """Other lanes, longer jobs, overlapping rounds, each on the row's number of workers; best first."""
    found = []
    for what, changed in _changes(request):
        cores = costs.cores if _is_local(costs, row.workers) else None
        changed_costs = for_request(_scaled(costs, _leaves(changed) / _leaves(request)), changed)
        rate = _predict(changed, changed_costs, row.workers, mishaps, cores).simulations_per_s
        found.append(
            Change(request.strategy, what, row.workers, rate, round(rate / row.simulations_per_s, 3))
        )
    return sorted(found, key=lambda change: -change.factor)


def _leaves(request: SearchRequest) -> float:
    """Of a job by leaf; of others 1."""
    if request.strategy != "leaf":
        return 1.0
    game = games.load(request.game)
    return max(1.0, make_plan(request, game).size(0) / playouts_per_leaf(request, game))


def _scaled(costs: Costs, leaves: float) -> Costs:
    """The same with so many times as many leaves for the coordinator to select in a job, and to absorb."""
    return replace(costs, make_s=costs.make_s * leaves, absorb_s=costs.absorb_s * leaves)


def _changes(request: SearchRequest) -> list[tuple[str, SearchRequest]]:
    plan = make_plan(request, games.load(request.game))
    lanes = min(2 * request.lanes, MAX_LANES)
    # As long jobs, so that this is about lanes alone.
    more = min(MAX_SIMULATIONS, (request.simulations or 1) * lanes // request.lanes)
    changes = [(f"--lanes {lanes}", replace(request, lanes=lanes, simulations=more))]
    if request.strategy == "tree":
        rounds, lag = max(2, plan.rounds // 4), plan.staleness
        asked = f"--rounds {rounds}" + (f" --staleness {lag}" if lag else "")
        fewer = replace(request, rounds=rounds, staleness=lag)
        changes.append((f"{asked} (jobs {plan.rounds / rounds:.0f} times as long; {WEAKER})", fewer))
        # Of twice as many rounds, a lane has not heard of twice as many: as much work as before.
        rounds, lag = (plan.rounds, lag + 1) if lag else (2 * plan.rounds, 1)
        overlapping = replace(request, rounds=rounds, staleness=lag)
        weaker = f" ({WEAKER})" if lag > 1 else ""
        changes.append((f"--rounds {rounds} --staleness {lag}{weaker}", overlapping))
    if request.strategy == "leaf":
        playouts = playouts_per_leaf(request, games.load(request.game))
        batch = min(MAX_BATCH, max(1, plan.size(0) // playouts))
        longer = min(MAX_BATCH, 4 * batch)
        if longer > batch:
            what = f"--batch {longer} (jobs {longer / batch:.1f} times as long)"
            changes.append((what, replace(request, batch=longer)))
        for more in (4 * playouts, 32 * playouts):
            if more <= MAX_PLAYOUTS_PER_LEAF:
                # Of the same size: as many times fewer leaves in a job.
                leaves = max(1, batch * playouts // more)
                changed = replace(request, playouts_per_leaf=more, batch=leaves)
                changes.append((f"--playouts-per-leaf {more} ({WEAKER})", changed))
    return changes
