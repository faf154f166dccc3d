"""The picture of a speedup report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

from cluster.measuring.speedup import Row

mpl.use("Agg")
from matplotlib import pyplot as plt

COLOURS = {"root": "#1b6e9c", "tree": "#2c8c4a", "leaf": "#c26a1b"}


def plot(rows: Sequence[Row], path: Path) -> None:
    """One panel a strategy: throughput by workers with its spread, the ceiling, and the ideal line."""
    strategies = list(dict.fromkeys(row.strategy for row in rows))
    figure, panels = plt.subplots(
        1, len(strategies), figsize=(4.2 * len(strategies), 4.2), squeeze=False, layout="constrained"
    )
    for panel, strategy in zip(panels[0], strategies, strict=True):
        _panel(panel, [row for row in rows if row.strategy == strategy])
    panels[0][0].set_ylabel("simulations per second")
    first = rows[0]
    figure.suptitle(
        f"{first.game}: {first.simulations:,} simulations on {first.lanes} lanes, "
        f"median and range of {first.repeats} repeats",
        fontsize=11,
    )
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _panel(panel: Any, rows: Sequence[Row]) -> None:
    workers = [row.workers for row in rows]
    rates = [row.simulations_per_s for row in rows]
    colour = COLOURS.get(rows[0].strategy, "#555555")
    one = rates[0] / workers[0]
    panel.plot(
        [0, workers[-1]], [0, one * workers[-1]], ":", color="#999999", label="ideal: linear in workers"
    )
    panel.fill_between(
        workers,
        [row.ceiling_spread[0] for row in rows],
        [row.ceiling_spread[1] for row in rows],
        color="#bbbbbb",
        alpha=0.4,
        linewidth=0,
    )
    panel.plot(
        workers,
        [row.ceiling_simulations_per_s for row in rows],
        "--s",
        color="#777777",
        markersize=4,
        label="ceiling: independent processes",
    )
    panel.errorbar(
        workers,
        rates,
        yerr=[
            [row.simulations_per_s - row.spread[0] for row in rows],
            [row.spread[1] - row.simulations_per_s for row in rows],
        ],
        fmt="-o",
        color=colour,
        capsize=4,
        linewidth=2,
        label=rows[0].strategy,
    )
    for row in rows:
        panel.annotate(
            f"{row.of_ceiling:.0%} of ceiling",
            (row.workers, row.simulations_per_s),
            textcoords="offset points",
            xytext=(9, -4),
            ha="left",
            fontsize=8,
            color=colour,
        )
    panel.set_title(rows[0].strategy)
    panel.set_xlabel("workers")
    panel.set_xticks(workers)
    panel.set_xlim(0, workers[-1] * 1.35)
    panel.set_ylim(bottom=0)
    panel.yaxis.set_major_formatter(lambda value, _: f"{value / 1e6:g} M" if value >= 1e5 else f"{value:g}")
    panel.grid(axis="y", color="#eeeeee")
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(fontsize=8, loc="upper left", frameon=False)
