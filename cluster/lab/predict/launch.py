"""Runs a prediction: measures or reads costs, simulates searches, runs some here for comparison; reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import games
from cluster.lab.predict.calibration import measure_costs
from cluster.lab.predict.costs import Costs, read_costs, write_costs
from cluster.lab.predict.prediction import (
    Predicted,
    predict,
    saturation,
)
from cluster.lab.predict.simulated_executor import CALLS, COORDINATOR, WAITING, WORKING
from cluster.lab.throughput.losses import Losses
from cluster.lab.throughput.speedup import amounts
from cluster.report.machine import provenance, warn_of_others
from cluster.report.plot_frame import (
    COLUMN,
    GREY,
    TALL,
    dress,
    game_name,
    label_rates,
    look,
    new_figure,
    save,
)
from cluster.report.table import Table, count, number, percent, rate, table_of, write_files
from cluster.system import terminal as words
from cluster.workers.choose import make_executor
from games.errors import counted
from search.plan import MIN_ROUNDS, job_seconds
from search.prepare import open_search
from search.request import MAX_SIMULATIONS, SearchRequest
from search.strategies import STRATEGY_CLASSES, plan_search

COSTS_READ = "simulated with costs from a file"
BASE = (
    "speedup: against one worker of the same strategy, alone on this machine (simulated as well). "
    "efficiency: speedup / workers. of ceiling: against the same number of workers that never wait. "
    "busy: the coordinator's share of the time. A job takes longer while all cores are busy."
)
"""Explanation of the columns of a prediction."""


@dataclass(frozen=True)
class PredictionPlan:
    """The request of a prediction."""

    request: SearchRequest
    """The search; its strategy is ignored. Without a budget it gets the work of MIN_ROUNDS jobs per lane."""
    strategies: Sequence[str]
    workers: Sequence[int]
    costs_file: Path | None
    save_costs: Path | None
    cores: int | None = None
    """Cores of each machine where workers outnumber the measured machine's cores; None: as many as it has."""
    link_bytes_per_s: float | None = None
    """Replaces `Costs.link_bytes_per_s`; None: keep it."""


@dataclass(frozen=True)
class Prediction:
    """The result of a prediction."""

    costs: dict[str, Costs]
    rows: list[Predicted]
    others: float | None = None
    """Share of other programs in the time of all cores during measurements; None if nothing was measured, or
    if it is unknown."""
    measured_on: str = ""
    """The machine and the day of the measurements, or that costs are from a file."""

    @property
    def warning(self) -> str | None:
        """A reason to doubt the measured figures, in one line; None if there is none."""
        return warn_of_others([self.others], "measurements")

    def to_json(self) -> dict[str, Any]:
        """The prediction as an object of plain values."""
        return {
            "costs": {strategy: asdict(costs) for strategy, costs in self.costs.items()},
            "predicted": [asdict(row) for row in self.rows],
            "others": self.others,
            "trusted": self.warning is None,
            "measured_on": self.measured_on,
        }


def run_prediction(plan: PredictionPlan, report: Callable[[str], None]) -> Prediction:
    """Run a whole prediction; ``report`` is called with lines of progress. Raises InvalidInput."""
    game = games.load(plan.request.game)
    per_job = max(1.0, game.nominal_simulations_per_s * job_seconds(plan.request.most_lanes))
    simulations = plan.request.simulations or min(
        MAX_SIMULATIONS, round(plan.request.most_lanes * MIN_ROUNDS * per_job)
    )
    request = replace(plan.request, game=game.spec, simulations=simulations)
    requests = {strategy: replace(request, strategy=strategy) for strategy in plan.strategies}
    # Raises InvalidInput before anything is measured.
    open_search(requests[plan.strategies[0]])
    if plan.request.simulations is None:
        requests = {strategy: _cut(each) for strategy, each in requests.items()}
    costs = None if plan.costs_file is None else read_costs(plan.costs_file, plan.strategies)
    others = None

    if costs is None:
        report("starting a local Ray")
        executor: Any = make_executor("ray", 1)
        with closing(executor):
            watch = Losses()

            def told(line: str) -> None:
                watch.look()
                report(line)

            costs = measure_costs(request, plan.strategies, executor, told)
            others = watch.others()
        if plan.save_costs is not None:
            write_costs(costs, plan.save_costs)
    if (link := plan.link_bytes_per_s) is not None:
        costs = {strategy: replace(each, link_bytes_per_s=link) for strategy, each in costs.items()}
    rows: list[Predicted] = []
    for strategy in plan.strategies:
        rows += predict(requests[strategy], costs[strategy], plan.workers, report, plan.cores)
    measured_on = provenance() if plan.costs_file is None else COSTS_READ
    return Prediction(costs, rows, others, measured_on)


def _cut(request: SearchRequest) -> SearchRequest:
    """The request, reduced to the jobs per lane of a whole search: slow games have many more, tiny jobs."""
    assert request.simulations is not None
    jobs = plan_search(request, games.load(request.game))
    rounds = jobs.rounds if STRATEGY_CLASSES[request.strategy].by_rounds else MIN_ROUNDS
    return replace(request, simulations=min(request.simulations, rounds * jobs.lanes * jobs.size(0)))


def tables(found: Prediction) -> list[Table]:
    """Tables of predicted rates, and of the use of time."""
    return [_predicted(found.rows), _spent(found.rows)]


def _predicted(rows: Sequence[Predicted]) -> Table:
    first = rows[0]
    lines = [
        {
            "strategy": row.strategy,
            "workers": count(row.workers),
            "rate": rate(row.simulations_per_s),
            "speedup": number(row.speedup, ",.1f"),
            "efficiency": percent(row.efficiency),
            "of ceiling": percent(row.of_ceiling),
            "busy": percent(row.coordinator_busy),
            "job": f"{row.job_s:.3g} s",
        }
        for row in rows
    ]
    title = f"{first.game}: {amounts(rows)}, {counted(first.lanes, 'lane')}; simulated, not run"
    return table_of(lines, title, BASE, words=["strategy"])


def _spent(rows: Sequence[Predicted]) -> Table:
    """A table of the use of the workers' time at the largest number of workers."""
    most = max(row.workers for row in rows)
    shown = [row for row in rows if row.workers == most]
    lines = [
        {"": part} | {row.strategy: number(100 * row.spent[part], ".1f") for row in shown}
        for part in (WORKING, CALLS, WAITING, *COORDINATOR)
    ]
    title = f"In per cent of the time of {counted(most, 'worker')}, then of the coordinator's thread"
    return table_of(lines, title, words=[""])


def sentences(found: Prediction) -> list[str]:
    """Sentences about the saturation of each strategy."""
    by_strategy = {row.strategy: [r for r in found.rows if r.strategy == row.strategy] for row in found.rows}
    return [f"{strategy}: {_limit(rows)}" for strategy, rows in by_strategy.items()]


def _limit(rows: Sequence[Predicted]) -> str:
    most = max(rows, key=lambda row: row.workers)
    best = max(rows, key=lambda row: row.simulations_per_s)
    at = saturation(rows)
    if at is not None:
        return (
            f"from {counted(at, 'worker')} on the coordinator is the bottleneck "
            f"({words.rate(best.simulations_per_s)} at best)"
        )
    if most.lanes < most.workers:
        return f"no more than {counted(most.lanes, 'worker')} can be busy with {counted(most.lanes, 'lane')}"
    return (
        f"the coordinator is {most.coordinator_busy:.0%} busy with {counted(most.workers, 'worker')}; "
        f"their efficiency is {most.efficiency:.0%}"
    )


def write_prediction(found: Prediction, folder: Path, picture: str) -> list[Path]:
    """Write predict.json, .csv and a figure in the format ``picture`` into the folder, which is created if
    missing."""
    records = [
        {name: value for name, value in vars(row).items() if name != "spent"} | row.spent
        for row in found.rows
    ]
    return write_files(folder, "predict", found.to_json(), records, partial(_plot, found), picture)


def _plot(found: Prediction, path: Path) -> None:
    """Two panels over the number of workers (logarithmic): rates, and how busy the coordinator is."""
    rows, figure = found.rows, new_figure(COLUMN, TALL)
    rates, load = figure.subplots(2, 1, sharex=True, height_ratios=(5, 2))
    for strategy in dict.fromkeys(row.strategy for row in rows):
        mine = [row for row in rows if row.strategy == strategy]
        style: dict[str, Any] = {"linestyle": "--", "linewidth": 1.3, "markersize": 4.5, **look(strategy)}
        workers = [row.workers for row in mine]
        one = mine[0].simulations_per_s / mine[0].speedup
        rates.plot(workers, [one * n for n in workers], ":", color=GREY, linewidth=1)
        rates.plot(workers, [row.simulations_per_s for row in mine], label=f"{strategy}, simulated", **style)
        load.plot(workers, [100 * row.coordinator_busy for row in mine], **style)
    first = rows[0]
    dress(rates, "", "simulations per second")
    rates.set_yscale("log")
    label_rates(rates.yaxis)
    dress(load, "workers", "coordinator\nbusy, %", sorted({row.workers for row in rows}))
    load.set_ylim(0, 105)
    rates.plot([], [], ":", color=GREY, label="linear in workers")
    numbers = words.span([row.workers for row in rows], "worker")
    save(
        figure,
        path,
        f"Prediction: {game_name(first.game)} on {numbers}",
        f"{amounts(rows)}, {counted(first.lanes, 'lane')}; simulated with measured costs",
        found.measured_on,
        columns=2,
        warnings=[found.warning] if found.warning else [],
        about=first.game,
    )
