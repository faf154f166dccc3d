"""The tables of a speedup measurement, and its files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from cluster.lab.throughput.losses import PARTS
from cluster.lab.throughput.speedup import Row, amounts
from cluster.observe.metrics import Family
from cluster.report.files import write_files
from cluster.report.machine import provenance
from cluster.report.table import Table, count, left, number, percent, rate, right


def tables(rows: Sequence[Row]) -> list[Table]:
    """Rates by strategy and workers, and the use of the cores, if it is known."""
    headings = ("workers", "rate", "speedup", "efficiency", "ceiling", "of\nceiling")
    rates = Table(
        [*left("strategy"), *right(*headings)],
        title=f"{rows[0].game}: {amounts(rows)}",
    )
    for row in rows:
        rates.add(
            row.strategy,
            count(row.workers),
            rate(row.simulations_per_s),
            number(row.speedup, ".2f"),
            percent(row.efficiency),
            rate(row.ceiling_simulations_per_s or 0.0),
            percent(row.of_ceiling, 1, row.of_ceiling_spread if row.repeats > 1 else None),
        )
    if not all(row.spent for row in rows):
        return [rates]
    spent = Table(
        [*left("strategy"), *right("on", *(part.replace(" ", "\n") for part in PARTS))],
        title="Use of the time of this machine's cores, in per cent",
    )
    for row in rows:
        spent.add(row.strategy, count(row.workers), *(number(100 * row.spent[part], ".1f") for part in PARTS))
    return [rates, spent]


def write_rows(rows: Sequence[Row], folder: Path, picture: str = "png") -> list[Path]:
    """Write speedup.json, .csv and a figure in the format ``picture`` into the folder, which is created if
    missing."""
    # Imported here because it takes a second.
    from cluster.lab.throughput.speedup_plot import plot

    records = [asdict(row) for row in rows]
    return write_files(folder, "speedup", rows_json(rows), records, partial(plot, rows), picture)


def rows_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows as plain values, each with a description of its machine."""
    return [asdict(row) | {"measured_on": provenance()} for row in rows]


def metric_families(rows: Sequence[Row]) -> Iterator[Family]:
    """The rows as metrics. Label values are few: a game has its name without options, a file its stem."""
    rows = tuple(rows)
    gauges = {
        "banyan_speedup_simulations_per_second": ("Simulations/s of a search.", "simulations_per_s"),
        "banyan_speedup_ratio": ("Speedup over one worker.", "speedup"),
        "banyan_speedup_efficiency_ratio": ("Speedup / workers.", "efficiency"),
        "banyan_speedup_ceiling_simulations_per_second": (
            "Simulations/s of as many independent processes.",
            "ceiling_simulations_per_s",
        ),
    }
    labels = [
        {
            "game": Path(row.game.partition(":")[0]).stem,
            "strategy": row.strategy,
            "executor": row.executor,
            "workers": str(row.workers),
        }
        for row in rows
    ]
    for name, (text, value) in gauges.items():
        values = [getattr(row, value) for row in rows]
        yield Family(name, "gauge", text, list(zip(labels, values, strict=True)))
