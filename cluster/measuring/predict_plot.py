"""The picture of a prediction: throughput by workers, what was measured on it, and the coordinator's load."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

from cluster.measuring.prediction import Check, Predicted
from cluster.measuring.speedup_plot import COLOURS

mpl.use("Agg")
from matplotlib import pyplot as plt


def plot(rows: Sequence[Predicted], checks: Sequence[Check], path: Path) -> None:
    """Two panels over the number of workers (logarithmic): rates, and how busy the coordinator is."""
    figure, (rates, load) = plt.subplots(
        2, 1, figsize=(8.0, 7.5), sharex=True, height_ratios=(3, 1), layout="constrained"
    )
    for strategy in dict.fromkeys(row.strategy for row in rows):
        mine = [row for row in rows if row.strategy == strategy]
        colour = COLOURS.get(strategy, "#555555")
        workers = [row.workers for row in mine]
        one = mine[0].simulations_per_s / mine[0].speedup
        rates.plot(workers, [one * n for n in workers], ":", color=colour, linewidth=1)
        rates.plot(
            workers,
            [row.simulations_per_s for row in mine],
            "--o",
            color=colour,
            markersize=4,
            label=f"{strategy}, simulated",
        )
        load.plot(workers, [100 * row.coordinator_busy for row in mine], "--o", color=colour, markersize=4)
        run = [each for each in checks if each.strategy == strategy]
        if run:
            rates.errorbar(
                [each.workers for each in run],
                [each.measured_per_s for each in run],
                yerr=[
                    [each.measured_per_s - each.spread[0] for each in run],
                    [each.spread[1] - each.measured_per_s for each in run],
                ],
                fmt="D",
                color=colour,
                markerfacecolor="white",
                markersize=8,
                capsize=4,
                label=f"{strategy}, run here",
            )
            rates.plot(
                [each.workers for each in run],
                [each.predicted_per_s for each in run],
                "x",
                color=colour,
                markersize=5,
                zorder=3,
                label=f"{strategy}, what was run simulated",
            )
    first = rows[0]
    rates.set_title(
        f"{first.game}: {first.simulations:,} simulations on {first.lanes:,} lanes\n"
        "dashed: simulated with the costs of this machine; dotted: linear in workers",
        fontsize=10,
    )
    rates.set_xscale("log", base=2)
    rates.set_yscale("log")
    rates.set_ylabel("simulations per second")
    load.set_ylabel("coordinator busy, %")
    load.set_ylim(0, 105)
    load.set_xlabel("workers")
    ticks = sorted({row.workers for row in rows})
    load.set_xticks(ticks, [f"{n:,}" for n in ticks])
    load.minorticks_off()
    for panel in (rates, load):
        panel.grid(color="#eeeeee")
        panel.spines[["top", "right"]].set_visible(False)
    rates.legend(fontsize=9, frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)
