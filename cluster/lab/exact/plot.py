"""The pictures of strength by an exact judge: for one budget of a lane, or a map of budgets and lanes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

from cluster.lab.exact.plan import ExactPlan
from cluster.lab.exact.result import ExactResult, Row
from cluster.report.plot_frame import COLOURS, MARKERS, dress, game_name, points, save
from cluster.system.terminal import span

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.ticker import LogLocator

from games.errors import counted

BESIDE = 0.04
"""Horizontal distance, in doublings, between points with equal simulations: all intervals are visible."""
SEQUENTIAL = "#333333"
TALL, WIDE = 5, 6
"""Inches of a panel."""


def plot(plan: ExactPlan, result: ExactResult, details: str, path: Path) -> None:
    """Plot mean losses by simulations beside the sequential curve, and what lanes are worth.

    With several budgets of a lane: a panel for each strategy, with a line for each budget.
    """
    lanes = sorted({cell.lanes for cell in plan.cells})
    title = f"What {span(lanes, 'lane')} are worth in {game_name(plan.game.spec)}, by exact values"
    groups: dict[str, list[Row]] = {}
    for row in result.rows:
        groups.setdefault("sequential" if row.cell is None else str(row.cell.strategy), []).append(row)
    is_map = len(plan.request.lane_simulations) > 1
    panels = len(groups) if is_map else 2
    lines = math.ceil(panels / 2)
    figure, grid = plt.subplots(
        lines, 2, figsize=(2 * WIDE, TALL * lines), layout="constrained", squeeze=False
    )
    axes = [*grid.flat]
    for unused in axes[panels:]:
        unused.set_visible(False)
    _losses(axes[0], groups, plan.budgets)
    sequential, *parallel = groups.items()
    assert sequential[1][0].cell is None
    if is_map:
        for panel, (name, rows) in zip(axes[1:], parallel, strict=False):
            _map(panel, name, rows, lanes)
    else:
        for place, (name, rows) in enumerate(parallel):
            style = _style(name, rows, place + 1) | {"linestyle": "-"}
            _worth(axes[1], rows, style, 2 ** (BESIDE * place), each=False)
        axes[1].plot(lanes, lanes, ":", color="#999999", label="a lane is worth a sequential search")
        dress(axes[1], "lanes", "strength speedup", lanes)
        axes[1].set_yscale("log", base=2)
        axes[1].yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    save(figure, path, title, details)


def _losses(panel: Any, groups: dict[str, list[Row]], budgets: Sequence[int]) -> None:
    """Mean losses by simulations, the sequential search as a line."""
    for place, (name, rows) in enumerate(groups.items()):
        beside = 2 ** (BESIDE * place)
        at = [beside * row.simulations for row in rows]
        points(panel, at, [(row.loss.value, *row.loss.interval) for row in rows], **_style(name, rows, place))
    panel.set_yscale("log")
    panel.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:.2g}")
    dress(panel, "simulations a move", "mean loss of a move\n(a draw instead of a win is 1)", budgets)


def _map(panel: Any, name: str, rows: list[Row], lanes: Sequence[int]) -> None:
    """The worth of a lane of one strategy by the number of lanes, with a line for each budget."""
    budgets = sorted({row.cell.lane_simulations for row in rows if row.cell is not None})
    shades = mpl.colormaps["viridis"]
    for place, budget in enumerate(budgets):
        style = {
            "color": shades(0.85 * (1 - place / (len(budgets) - 1))),
            "marker": MARKERS[place % len(MARKERS)],
            "linestyle": "-",
            "label": f"{counted(budget, 'simulation')} a lane",
        }
        own = [row for row in rows if row.cell is not None and row.cell.lane_simulations == budget]
        _worth(panel, own, style, 2 ** (BESIDE * place), each=True)
    panel.axhline(1.0, linestyle=":", color="#999999")
    panel.set_title(name, fontsize=10)
    dress(panel, "lanes", "worth of a lane: strength speedup / lanes", lanes)
    panel.set_ylim(0.0, 1.5)
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")


def _style(name: str, rows: list[Row], place: int) -> dict[str, Any]:
    cell = rows[0].cell
    return {
        "color": SEQUENTIAL if cell is None else COLOURS[cell.strategy.name],
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": "-" if cell is None else "none",
        "label": name,
    }


def _worth(panel: Any, rows: list[Row], style: dict[str, Any], beside: float, *, each: bool) -> None:
    """Strength speedups by lanes; ``each``: divided by the lanes."""
    shown = [(row.cell.lanes, row.strength) for row in rows if row.cell is not None and row.strength]
    sound = [(lanes, figure) for lanes, figure in shown if 0 < figure.value < math.inf]
    shares = [lanes if each else 1 for lanes, _ in sound]
    figures = [
        (figure.value / by, figure.interval[0] / by, figure.interval[1] / by)
        for (_, figure), by in zip(sound, shares, strict=True)
    ]
    points(panel, [beside * lanes for lanes, _ in sound], figures, **style)
