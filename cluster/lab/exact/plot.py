"""The picture of strength by an exact judge."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib as mpl

from cluster.lab.exact.plan import ExactPlan
from cluster.lab.exact.result import ExactResult, Figure, Row
from cluster.report.plot_frame import COLOURS, game_name, save, span

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.ticker import LogLocator

MARKERS = "osD^vP*X"
BESIDE = 0.04
"""Horizontal distance, in doublings, between points with equal simulations: all intervals are visible."""
MANY_TICKS = 7


def plot(plan: ExactPlan, result: ExactResult, details: str, path: Path) -> None:
    """Plot mean losses by simulations beside the sequential curve, and what lanes are worth."""
    figure, (losses, worth) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
    groups: dict[str, list[Row]] = {}
    for row in result.rows:
        groups.setdefault("sequential" if row.cell is None else str(row.cell.strategy), []).append(row)
    for place, (name, rows) in enumerate(groups.items()):
        cell = rows[0].cell
        style = {
            "color": "#333333" if cell is None else COLOURS[cell.strategy.name],
            "marker": MARKERS[place % len(MARKERS)],
            "linestyle": "-" if cell is None else "none",
            "label": name,
        }
        beside = 2 ** (BESIDE * place)
        _points(losses, [beside * row.simulations for row in rows], [row.loss for row in rows], style)
        if cell is not None:
            style["linestyle"] = "-"
            _worth(worth, rows, style, beside)
    lanes = sorted({cell.lanes for cell in plan.cells})
    worth.plot(lanes, lanes, ":", color="#999999", label="a lane is worth a sequential search")
    losses.set_yscale("log")
    losses.set_xlabel("simulations a move")
    losses.set_ylabel("mean loss of a move\n(a draw instead of a win is 1)")
    worth.set_yscale("log", base=2)
    worth.set_xlabel("lanes")
    worth.set_ylabel("strength speedup")
    losses.set_xscale("log", base=2)
    worth.set_xscale("log", base=2)
    for panel, ticks in ((losses, plan.budgets), (worth, lanes)):
        panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        panel.tick_params(axis="x", labelrotation=30 if len(ticks) > MANY_TICKS else 0)
        panel.minorticks_off()
        panel.grid(color="#eeeeee")
        panel.spines[["top", "right"]].set_visible(False)
    worth.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    losses.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
    losses.yaxis.set_major_formatter(lambda value, _: f"{value:.2g}")
    name = game_name(plan.game.spec)
    save(figure, path, f"What {span(lanes, 'lane')} are worth in {name}, by exact values", details)


def _worth(panel: Any, rows: list[Row], style: dict[str, Any], beside: float) -> None:
    shown = [(row.cell.lanes, row.strength) for row in rows if row.cell is not None and row.strength]
    sound = [(lanes, figure) for lanes, figure in shown if 0 < figure.value < math.inf]
    _points(panel, [beside * lanes for lanes, _ in sound], [figure for _, figure in sound], style)


def _points(panel: Any, at: list[float], figures: list[Figure], style: dict[str, Any]) -> None:
    """Points with their intervals; an end that is not finite and positive is not drawn."""
    ends = [[figure.value - figure.interval[0], figure.interval[1] - figure.value] for figure in figures]
    sides = [[side if math.isfinite(side) else 0.0 for side in pair] for pair in ends]
    error = [[pair[0] for pair in sides], [pair[1] for pair in sides]]
    panel.errorbar(at, [figure.value for figure in figures], yerr=error, capsize=3, **style)
