"""The plot of a speedup report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

from cluster.lab.throughput.speedup import Row
from cluster.report.plot_frame import CLEAR, COLOURS, dress, game_name, points, save, span

mpl.use("Agg")
from matplotlib import pyplot as plt

from games.errors import counted

NEAR = 0.1
"""Distance as a share of the axes; points closer than this in both directions share one label."""


def plot(rows: Sequence[Row], path: Path) -> None:
    """Plot a panel per strategy: throughput by workers with its range, the ceiling, and the ideal line."""
    strategies = list(dict.fromkeys(row.strategy for row in rows))
    figure, panels = plt.subplots(
        1,
        len(strategies),
        figsize=(max(6.5, 4.2 * len(strategies)), 4.9),
        squeeze=False,
        layout="constrained",
    )
    for panel, strategy in zip(panels[0], strategies, strict=True):
        _panel(panel, [row for row in rows if row.strategy == strategy])
    panels[0][0].set_ylabel("simulations per second")
    first = rows[0]
    workers = span([row.workers for row in rows], "worker")
    save(
        figure,
        path,
        f"Simulations per second of a {game_name(first.game)} search on {workers}",
        f"{first.game}: {counted(first.simulations, 'simulation')} on {counted(first.lanes, 'lane')}, "
        f"median and range of {counted(first.repeats, 'repeat')}; at the points: share of the ceiling",
    )


def _panel(panel: Any, rows: Sequence[Row]) -> None:
    workers = [row.workers for row in rows]
    colour = COLOURS.get(rows[0].strategy, "#555555")
    one = rows[0].simulations_per_s / workers[0]
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
    figures = [(row.simulations_per_s, *row.spread) for row in rows]
    points(panel, workers, figures, fmt="-o", color=colour, linewidth=2, label=rows[0].strategy)
    _label_shares(panel, rows, colour)
    panel.set_title(rows[0].strategy)
    dress(panel, "workers")
    panel.set_xticks(workers)
    panel.set_xlim(0, workers[-1] * 1.35)
    panel.set_ylim(bottom=0)
    panel.yaxis.set_major_formatter(lambda value, _: f"{value / 1e6:g} M" if value >= 1e5 else f"{value:g}")


def _label_shares(panel: Any, rows: Sequence[Row], colour: str) -> None:
    """Write the share of the ceiling at each point; once where two points lie close together."""
    for row, after in zip(rows, [*rows[1:], None], strict=True):
        falls = after is not None and after.simulations_per_s < row.simulations_per_s
        if after is not None and _beside(row, after, rows):
            continue
        panel.annotate(
            f"{row.of_ceiling:.0%}",
            (row.workers, row.simulations_per_s),
            textcoords="offset points",
            # On the side of the point where the curve does not continue.
            xytext=(8, 6 if falls else -13),
            ha="left",
            fontsize=8,
            color=colour,
            path_effects=CLEAR,
        )


def _beside(row: Row, after: Row, rows: Sequence[Row]) -> bool:
    """Whether the labels of two points would overlap."""
    apart = (after.workers - row.workers) / rows[-1].workers
    top = max(each.ceiling_simulations_per_s for each in rows)
    return apart < NEAR and abs(after.simulations_per_s - row.simulations_per_s) / top < NEAR
