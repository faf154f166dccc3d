"""Runs a prediction: measures or reads costs, simulates searches, and runs some here for comparison."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import games
from cluster.executors.choose import make_executor
from cluster.lab.predict.calibration import measure_costs, steps_of
from cluster.lab.predict.costs import Costs, FaultModel, read_costs, write_costs
from cluster.lab.predict.prediction import Change, Check, Predicted, check, predict, try_changes
from cluster.lab.throughput.losses import Losses
from cluster.lab.throughput.speedup import SECONDS_EACH, default_lanes, rounded
from cluster.report.machine import provenance, warn_of_others
from cluster.system.terminal import in_minutes
from search.plan import MIN_ROUNDS, job_seconds
from search.prepare import open_search
from search.request import MAX_SIMULATIONS, SearchRequest
from search.strategies import STRATEGY_CLASSES, plan_search

CHECK_S = 15.0
"""Least work of a search that is run here to check the prediction, in seconds of one core."""
COSTS_S = 60.0
"""About how long it takes to measure costs, in seconds. It is not cut."""
COSTS_READ = "simulated with costs from a file"


@dataclass(frozen=True)
class PredictionPlan:
    """The request of a prediction."""

    request: SearchRequest
    """The search; its strategy is ignored. Without a budget it gets the work of MIN_ROUNDS jobs per lane."""
    strategies: Sequence[str]
    workers: Sequence[int]
    measured: Sequence[int]
    """Numbers of workers for which the search is also run on this machine."""
    repeats: int
    faults: FaultModel
    costs_file: Path | None
    save_costs: Path | None
    seconds: float = math.inf
    """Time of the whole prediction, but for searches that are run here. Numbers of workers between the
    smallest and the largest are left out if there is no time for them."""
    link_bytes_per_s: float | None = None
    """Replaces `Costs.link_bytes_per_s`; None: keep it."""


@dataclass(frozen=True)
class Prediction:
    """The result of a prediction."""

    costs: dict[str, Costs]
    rows: list[Predicted]
    changes: list[Change]
    """Changes at the largest number of workers; for each strategy, the best first."""
    checks: list[Check]
    others: float | None = None
    """Share of other programs in the time of all cores during measurements; None if nothing was measured, or
    if it is unknown."""
    costs_read: bool = False
    """Whether the costs are from a file, possibly of another machine."""

    @property
    def warning(self) -> str | None:
        """A reason to doubt the measured figures, in one line; None if there is none."""
        return warn_of_others([self.others], "measurements")

    def to_json(self) -> dict[str, Any]:
        """The prediction as an object of plain values."""
        return {
            "costs": {strategy: costs.to_json() for strategy, costs in self.costs.items()},
            "predicted": [asdict(row) for row in self.rows],
            "changes": [asdict(change) for change in self.changes],
            "measured": [asdict(row) for row in self.checks],
            "others": self.others,
            "trusted": self.warning is None,
            "measured_on": COSTS_READ if self.costs_read else provenance(),
        }


def run_prediction(plan: PredictionPlan, report: Callable[[str], None]) -> Prediction:
    """Run a whole prediction; ``report`` is called with lines of progress. Raises InvalidInput."""
    end_s = time.monotonic() + plan.seconds
    game = games.load(plan.request.game)
    per_job = max(1.0, game.nominal_simulations_per_s * job_seconds(plan.request.lanes))
    simulations = plan.request.simulations or min(
        MAX_SIMULATIONS, round(plan.request.lanes * MIN_ROUNDS * per_job)
    )
    request = replace(plan.request, game=game.spec, simulations=simulations)
    measured = max(plan.measured, default=1)
    small = replace(
        request,
        lanes=default_lanes(measured),
        simulations=rounded(game.nominal_simulations_per_s * max(CHECK_S, SECONDS_EACH * measured)),
    )
    # Raises InvalidInput before anything is measured.
    open_search(replace(small, strategy=plan.strategies[0]))
    requests = {strategy: _of_strategy(request, strategy) for strategy in plan.strategies}
    if plan.request.simulations is None:
        requests = {strategy: _cut(each) for strategy, each in requests.items()}
    costs = None if plan.costs_file is None else read_costs(plan.costs_file, plan.strategies)
    checks: list[Check] = []
    others = None

    def timed(line: str) -> None:
        left_s = end_s - time.monotonic()
        report(line if math.isinf(left_s) or left_s < 0.5 else f"{line}; {in_minutes(left_s)} left")

    with ExitStack() as stack:
        executor: Any = None
        if costs is None or plan.measured:
            report("starting a local Ray")
            executor = make_executor("ray", max([1, *plan.measured]))
            stack.callback(executor.close)
            watch = Losses()
        if costs is None:
            if plan.seconds < COSTS_S:
                report(f"about {in_minutes(COSTS_S)} for the costs of this machine, whatever the time")
            costs = measure_costs(request, plan.strategies, executor, timed)
            if plan.save_costs is not None:
                write_costs(costs, plan.save_costs)
        if (link := plan.link_bytes_per_s) is not None:
            costs = {strategy: replace(each, link_bytes_per_s=link) for strategy, each in costs.items()}
        checks_s = time.monotonic()
        for strategy in plan.strategies if plan.measured else ():
            here = _of_strategy(small, strategy)
            report(f"{strategy}: each step of the search that is run here")
            checks += check(
                here, steps_of(here, costs[strategy]), plan.measured, executor, plan.repeats, report
            )
        end_s += time.monotonic() - checks_s
        if executor is not None:
            others = watch.others()
    rows: list[Predicted] = []
    changes: list[Change] = []
    order = _ends_first(plan.workers)
    for index, strategy in enumerate(plan.strategies):
        begun_s = time.monotonic()
        until_s = begun_s + (end_s - begun_s) / (len(plan.strategies) - index)
        found: list[Predicted] = []
        for row in predict(requests[strategy], costs[strategy], order, plan.faults, timed):
            found.append(row)
            if row.workers == order[0]:
                if time.monotonic() < end_s:
                    changes += try_changes(requests[strategy], costs[strategy], row, plan.faults)
                else:
                    report(f"{strategy}: no time for changes of the search; more with --seconds")
            if len(found) >= 2 and time.monotonic() >= until_s:
                break
        if left_out := sorted(set(order) - {row.workers for row in found}):
            numbers = ", ".join(map(str, left_out))
            report(f"{strategy}: no time for {numbers} workers; more with --seconds or --workers")
        rows += sorted(found, key=lambda row: plan.workers.index(row.workers))
    return Prediction(costs, rows, changes, checks, others, plan.costs_file is not None)


def _ends_first(workers: Sequence[int]) -> list[int]:
    """The largest number of workers, the smallest, and then those in between, from the middle outwards."""
    numbers = sorted(set(workers))
    order, gaps = [numbers[-1], numbers[0]], [numbers[1:-1]]
    for gap in gaps:
        if gap:
            middle = len(gap) // 2
            order.append(gap[middle])
            gaps += [gap[:middle], gap[middle + 1 :]]
    return list(dict.fromkeys(order))


def _of_strategy(request: SearchRequest, strategy: str) -> SearchRequest:
    """The request for one strategy, without the options of the others."""
    kind = STRATEGY_CLASSES[strategy]
    request = replace(request, strategy=strategy)
    if not kind.by_rounds:
        request = replace(request, rounds=None)
    return request if kind.by_leaves else replace(request, batch=None, playouts_per_leaf=None)


def _cut(request: SearchRequest) -> SearchRequest:
    """The request, reduced to the jobs per lane of a whole search: slow games have many more, tiny jobs."""
    assert request.simulations is not None
    jobs = plan_search(request, games.load(request.game))
    rounds = jobs.rounds if STRATEGY_CLASSES[request.strategy].by_rounds else MIN_ROUNDS
    return replace(request, simulations=min(request.simulations, rounds * jobs.lanes * jobs.size(0)))
