"""The plot of a measurement of strength."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib as mpl

from cluster.lab.strength.strength_result import Row, StrengthResult
from cluster.report.plot_frame import COLOURS, MARKERS, Figure, dress, game_name, points, save
from cluster.system.terminal import span

mpl.use("Agg")
from matplotlib import pyplot as plt

OUTSIDE = 2.0
"""An interval without an upper end is drawn up to this multiple of the largest number of lanes."""
NO_LOSS = "nothing is lost"
AGAINST_TOTAL = "score against the sequential search\nwith the same total, %"
LEAST = 0.25
"""Lower end of the speedup axis; smaller values are not shown."""
BESIDE = 0.06
"""Horizontal distance, in doublings, between points with equal lanes, so that all intervals are visible."""


def plot(result: StrengthResult, title: str, path: Path, warnings: Sequence[str] = ()) -> None:
    """Plot scores at equal totals by lanes; if there is a curve, also strength speedups and the curve."""
    panels = 1 if result.fit is None else 3
    figure, axes = plt.subplots(
        1, panels, figsize=(14 if panels > 1 else 8, 5), layout="constrained", squeeze=False
    )
    _by_lanes(axes[0], result)
    lanes = span([row.cell.lanes for row in result.rows], "lane")
    name = game_name(result.plan.game.spec)
    sentence = f"How well a {name} search on {lanes} plays beside a sequential search"
    save(figure, path, sentence, title, warnings=warnings)


def _by_lanes(panels: Any, result: StrengthResult) -> None:
    speedups = result.fit is not None
    groups: dict[str, list[Row]] = {}
    for row in result.rows:
        groups.setdefault(str(row.cell.strategy), []).append(row)
    styles = {
        name: {
            "color": COLOURS[rows[0].cell.strategy.name],
            "marker": marker,
            "beside": 2 ** (BESIDE * (number - (len(groups) - 1) / 2)),
        }
        for number, ((name, rows), marker) in enumerate(zip(groups.items(), cycle(MARKERS), strict=False))
    }
    _scores(panels[-2 if speedups else 0], groups, styles)
    if speedups:
        _speedups(panels[0], groups, styles)
        _curve(panels[2], result)


def _speedups(panel: Any, groups: dict[str, list[Row]], styles: dict[str, Any]) -> None:
    lanes = sorted({row.cell.lanes for rows in groups.values() for row in rows})
    top = OUTSIDE * lanes[-1]
    panel.plot(lanes, lanes, ":", color="#999999", label="a lane is worth a sequential search")
    for name, rows in groups.items():
        shown = [row for row in rows if row.strength is not None and 0 < row.strength.value < math.inf]
        found = [(each.value, *each.interval) for each in (row.strength for row in shown) if each is not None]
        figures = [(value, max(low, value / 16), min(high, top)) for value, low, high in found]
        _points(panel, shown, figures, name, styles[name])
        if known := [row for row in rows if row.predicted]:
            panel.plot(
                [row.cell.lanes for row in known],
                [row.predicted for row in known],
                "--",
                color=styles[name]["color"],
                linewidth=1,
                label=f"{name}: throughput, predicted",
            )
    dress(panel, "lanes", "strength speedup", lanes)
    panel.set_yscale("log", base=2)
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panel.set_ylim(bottom=max(panel.get_ylim()[0], LEAST))


def _scores(panel: Any, groups: dict[str, list[Row]], styles: dict[str, Any]) -> None:
    panel.axhline(50, linestyle=":", color="#999999", label=NO_LOSS)
    for name, rows in groups.items():
        _points(panel, *_percents(rows), name, styles[name])
    lanes = sorted({row.cell.lanes for rows in groups.values() for row in rows})
    dress(panel, "lanes", AGAINST_TOTAL, lanes)
    panel.set_ylim(0, 100)


def _percents(rows: Sequence[Row]) -> tuple[list[Row], list[Figure]]:
    """Rows with a score at equal totals, and their scores in per cent."""
    shown = [(row, row.equal_total) for row in rows if row.equal_total is not None]
    figures = [(100 * score.score, 100 * score.interval[0], 100 * score.interval[1]) for _, score in shown]
    return [row for row, _ in shown], figures


def _curve(panel: Any, result: StrengthResult) -> None:
    points = result.curve
    budgets = [point.simulations for point in points]
    panel.fill_between(
        budgets,
        [point.interval[0] for point in points],
        [point.interval[1] for point in points],
        color="#bbbbbb",
        alpha=0.4,
        linewidth=0,
        label="95 %",
    )
    panel.plot(budgets, [point.elo for point in points], "-o", color="#555555", label="sequential search")
    dress(panel, "simulations a move", "Elo above the smallest budget", budgets)


def _points(
    panel: Any, rows: Sequence[Row], figures: Sequence[Figure], name: str, style: dict[str, Any]
) -> None:
    if rows:
        beside, look = style["beside"], {key: value for key, value in style.items() if key != "beside"}
        points(panel, [row.cell.lanes * beside for row in rows], figures, linewidth=1.6, label=name, **look)
