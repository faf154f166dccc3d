"""Reports of a prediction: tables, sentences, and files: JSON, CSV, and a plot of rates and load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from cluster.lab.predict.launch import COSTS_READ, Prediction
from cluster.lab.predict.prediction import Check, Predicted, saturation
from cluster.lab.predict.simulated_executor import PARTS
from cluster.report.plot_frame import dress, game_name, label_rates, look, new_figure, points, save
from cluster.report.table import Table, count, left, number, percent, rate, right, text, write_files
from cluster.system import terminal as words
from games.errors import counted

WORTH_SAYING = 1.02
"""Smallest factor of a change that the sentences mention."""
BASE = (
    "speedup: against one worker of the same strategy, alone on this machine (simulated as well). "
    "efficiency: speedup / workers. of ceiling: against the same number of workers that never wait. "
    "busy: the coordinator's share of the time. A job takes longer while all cores are busy."
)
"""Explanation of the columns of a prediction."""


def tables(found: Prediction) -> list[Table]:
    """Tables of predicted rates, of the use of the workers' time, and of searches that were run here."""
    measured = [_measured(found.checks)] if found.checks else []
    return [_predicted(found.rows), _spent(found.rows), *measured]


def _predicted(rows: Sequence[Predicted]) -> Table:
    first = rows[0]
    same = len({row.simulations for row in rows}) == 1
    work = f"{counted(first.simulations, 'simulation')}, " if same else ""
    columns = ["workers", *([] if same else ["simulations"]), "rate", "speedup", "efficiency"]
    table = Table(
        [*left("strategy"), *right(*columns, "of\nceiling", "busy", "job")],
        title=f"{first.game}: {work}{counted(first.lanes, 'lane')}; simulated, not run",
        caption=BASE,
    )
    for row in rows:
        table.add(
            row.strategy,
            count(row.workers),
            *([] if same else [count(row.simulations)]),
            rate(row.simulations_per_s),
            number(row.speedup, ",.1f"),
            percent(row.efficiency),
            percent(row.of_ceiling),
            percent(row.coordinator_busy),
            text(f"{row.job_s:.3g} s"),
        )
    return table


def _measured(checks: Sequence[Check]) -> Table:
    ran = checks[0]
    headings = ("workers", "measured", "lowest to highest", "predicted", "error")
    table = Table(
        [*left("strategy"), *right(*headings)],
        title=f"Run here, and predicted: {ran.simulations:,} simulations, {counted(ran.lanes, 'lane')}",
    )
    for each in checks:
        table.add(
            each.strategy,
            count(each.workers),
            rate(each.measured_per_s),
            text(f"{words.rate(each.spread[0])} to {words.rate(each.spread[1])}"),
            rate(each.predicted_per_s),
            percent(each.error, 1, signed=True),
        )
    return table


def _spent(rows: Sequence[Predicted]) -> Table:
    """A table of the use of the workers' time at the largest number of workers."""
    most = max(row.workers for row in rows)
    shown = [row for row in rows if row.workers == most]
    table = Table(
        [*left(""), *right(*(row.strategy for row in shown))],
        title=f"The time of {counted(most, 'worker')}, in per cent",
    )
    for part in PARTS:
        table.add(part, *(number(100 * row.spent[part], ".1f") for row in shown))
    return table


def sentences(found: Prediction) -> list[str]:
    """Sentences about the saturation of each strategy, and about helpful changes."""
    lines = []
    for strategy in dict.fromkeys(row.strategy for row in found.rows):
        rows = [row for row in found.rows if row.strategy == strategy]
        lines.append(f"{strategy}: {_limit(rows)}")
        helps = [c for c in found.changes if c.strategy == strategy and c.factor >= WORTH_SAYING]
        lines += [
            f"  with {change.what}: {words.rate(change.simulations_per_s)} on "
            f"{counted(change.workers, 'worker')}, {change.factor:.2f} times as much"
            for change in helps
        ]
    return lines


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
    records = []
    for row in found.rows:
        values = asdict(row)
        spent = values.pop("spent")
        records.append(values | spent)
    where = COSTS_READ if found.costs_read else None
    warnings = [found.warning] if found.warning else []
    draw = partial(_plot, found.rows, found.checks, where=where, warnings=warnings)
    return write_files(folder, "predict", found.to_json(), records, draw, picture)


def _plot(
    rows: Sequence[Predicted],
    checks: Sequence[Check],
    path: Path,
    where: str | None = None,
    warnings: Sequence[str] = (),
) -> None:
    """Two panels over the number of workers (logarithmic): rates, and how busy the coordinator is.

    ``where``: the origin of the costs; None: measured on this machine. ``warnings``: reasons to doubt the
    figures.
    """
    figure = new_figure(8.0, 8.5)
    rates, load = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    for strategy in dict.fromkeys(row.strategy for row in rows):
        mine = [row for row in rows if row.strategy == strategy]
        style = look(strategy)
        colour = style["color"]
        workers = [row.workers for row in mine]
        one = mine[0].simulations_per_s / mine[0].speedup
        rates.plot(workers, [one * n for n in workers], ":", color=colour, linewidth=1)
        rates.plot(
            workers,
            [row.simulations_per_s for row in mine],
            "--",
            markersize=4,
            label=f"{strategy}, simulated",
            **style,
        )
        load.plot(workers, [100 * row.coordinator_busy for row in mine], "--", markersize=4, **style)
        _runs(rates, [each for each in checks if each.strategy == strategy], colour)
    first = rows[0]
    dress(rates, "", "simulations per second")
    rates.set_yscale("log")
    label_rates(rates.yaxis)
    dress(load, "workers", "coordinator busy, %", sorted({row.workers for row in rows}))
    load.set_ylim(0, 105)
    rates.plot([], [], ":", color="#777777", label="linear in workers")
    numbers = words.span([row.workers for row in rows], "worker")
    save(
        figure,
        path,
        f"Simulations per second of a {game_name(first.game)} search on {numbers}, predicted",
        f"{first.game}: {counted(first.simulations, 'simulation')} on {counted(first.lanes, 'lane')}, "
        "simulated with measured costs",
        where,
        columns=3,
        warnings=warnings,
    )


def _runs(panel: Any, checks: Sequence[Check], colour: str) -> None:
    """Plot measured and predicted rates of searches of one strategy that were run here."""
    if not checks:
        return
    workers = [each.workers for each in checks]
    points(
        panel,
        workers,
        [(each.measured_per_s, *each.spread) for each in checks],
        fmt="D",
        color=colour,
        markerfacecolor="white",
        markersize=8,
        label=f"{checks[0].strategy}, run here",
    )
    panel.plot(
        workers,
        [each.predicted_per_s for each in checks],
        "x",
        color=colour,
        markersize=5,
        zorder=3,
        label=f"{checks[0].strategy}, the run here simulated",
    )
