"""A prediction as people read it, and as files: JSON and CSV for programs, a picture for people."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING

from cluster.measuring.predict_launch import Prediction
from cluster.measuring.prediction import Predicted, saturation
from cluster.measuring.worker_time import PARTS

if TYPE_CHECKING:
    from rich.table import Table

WORTH_SAYING = 1.02
"""A change that brings less than this factor is left out of the sentences."""


def tables(found: Prediction) -> list[Table]:
    """Predicted rows, and what was measured beside it."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    first = found.rows[0]
    predicted = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        title=f"{first.game}: {first.simulations:,} simulations, {first.lanes} lanes; simulated, not run",
        title_justify="left",
    )
    predicted.add_column("strategy", no_wrap=True)
    for name in ("workers", "rate/s", "speedup", "efficiency", "coordinator busy", "job"):
        predicted.add_column(name, justify="right", no_wrap=True)
    for row in found.rows:
        predicted.add_row(
            row.strategy,
            f"{row.workers:,}",
            rate_text(row.simulations_per_s),
            f"{row.speedup:,.1f}",
            f"{row.efficiency:.0%}",
            f"{row.coordinator_busy:.0%}",
            f"{row.job_s:.3g} s",
        )
    if not found.checks:
        return [predicted, _spent(found.rows)]
    measured = Table(
        box=SIMPLE_HEAD, pad_edge=False, title="Run on this machine, and predicted", title_justify="left"
    )
    measured.add_column("strategy", no_wrap=True)
    for name in ("workers", "measured/s", "lowest to highest", "predicted/s", "error"):
        measured.add_column(name, justify="right", no_wrap=True)
    for each in found.checks:
        measured.add_row(
            each.strategy,
            str(each.workers),
            rate_text(each.measured_per_s),
            f"{rate_text(each.spread[0])} to {rate_text(each.spread[1])}",
            rate_text(each.predicted_per_s),
            f"{each.error:+.1%}",
        )
    return [predicted, _spent(found.rows), measured]


def _spent(rows: list[Predicted]) -> Table:
    """Where the workers' time goes at the largest number of them."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    most = max(row.workers for row in rows)
    table = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        title=f"{most:,} workers' time, in per cent",
        title_justify="left",
    )
    shown = [row for row in rows if row.workers == most]
    table.add_column("", no_wrap=True)
    for row in shown:
        table.add_column(row.strategy, justify="right", no_wrap=True)
    for part in PARTS:
        table.add_row(part, *(f"{100 * row.spent[part]:.1f}" for row in shown))
    return table


def sentences(found: Prediction) -> list[str]:
    """Where each strategy saturates, and what would help."""
    lines = []
    for strategy in dict.fromkeys(row.strategy for row in found.rows):
        rows = [row for row in found.rows if row.strategy == strategy]
        lines.append(f"{strategy}: {_limit(rows)}")
        helps = [c for c in found.changes if c.strategy == strategy and c.factor >= WORTH_SAYING]
        lines += [
            f"  with {change.what}: {rate_text(change.simulations_per_s)} a second on {change.workers:,} "
            f"workers, {change.factor:.2f} times as much"
            for change in helps
        ]
    return lines


def _limit(rows: list[Predicted]) -> str:
    most = max(rows, key=lambda row: row.workers)
    best = max(rows, key=lambda row: row.simulations_per_s)
    at = saturation(rows)
    if at is not None:
        return (
            f"from {at:,} workers on the coordinator is what it waits for "
            f"({rate_text(best.simulations_per_s)} a second at best)"
        )
    if most.lanes < most.workers:
        return f"{most.lanes:,} lanes keep no more than {most.lanes:,} workers busy"
    return (
        f"the coordinator is {most.coordinator_busy:.0%} busy with {most.workers:,} workers; "
        f"their efficiency is {most.efficiency:.0%}"
    )


def write_prediction(found: Prediction, folder: Path) -> list[Path]:
    """predict.json, predict.csv and predict.png in the folder, which is made if need be."""
    from cluster.measuring.predict_plot import plot

    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"predict.{ending}" for ending in ("json", "csv", "png")]
    paths[0].write_text(json.dumps(found.to_json(), indent=2) + "\n")
    with paths[1].open("w", newline="") as file:
        writer = csv.writer(file)
        names = [field.name for field in fields(Predicted) if field.name != "spent"]
        writer.writerow([*names, *PARTS])
        for row in found.rows:
            values = asdict(row)
            writer.writerow([*(values[name] for name in names), *(row.spent[part] for part in PARTS)])
    plot(found.rows, found.checks, paths[2])
    return paths


def rate_text(per_s: float) -> str:
    """Three digits and a unit."""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if per_s >= size:
            return f"{per_s / size:.3g}{unit}"
    return f"{per_s:.3g}"
