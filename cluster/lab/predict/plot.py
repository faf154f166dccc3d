"""The plot of a prediction: throughput by workers, measured points, and the load of the coordinator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

from cluster.lab.predict.prediction import Check, Predicted
from cluster.report.plot_frame import dress, game_name, label_rates, look, points, save
from cluster.system.terminal import span

mpl.use("Agg")
from matplotlib import pyplot as plt

from games.errors import counted


def plot(
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
    figure, (rates, load) = plt.subplots(
        2, 1, figsize=(8.0, 8.5), sharex=True, height_ratios=(3, 1), layout="constrained"
    )
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
    numbers = span([row.workers for row in rows], "worker")
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
