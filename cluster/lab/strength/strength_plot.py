"""The plot of a measurement of strength."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib as mpl

from cluster.lab.strength.strength_result import Row, StrengthResult
from cluster.report.plot_frame import COLOURS, game_name, save, span

mpl.use("Agg")
from matplotlib import pyplot as plt

from games.errors import counted

MARKERS = "osD^vP*X"
OUTSIDE = 2.0
"""An interval without an upper end is drawn up to this multiple of the largest number of lanes."""
NO_LOSS = "nothing is lost"
AGAINST_TOTAL = "score against the sequential search\nwith the same total, %"
LEAST = 0.25
"""Lower end of the speedup axis; smaller values are not shown."""
BESIDE = 0.06
"""Horizontal distance, in doublings, between points with equal lanes, so that all intervals are visible."""
MANY = 4
"""With more strategies than this on one number of lanes, each gets a labelled line instead of a legend."""
LINE = 0.24
"""Height of a labelled line, in inches."""
LANES_COLOURS = ("#999999", "#1b6e9c", "#2c8c4a", "#c26a1b", "#8a3d8f", "#b0b02a")


def plot(result: StrengthResult, title: str, path: Path) -> None:
    """Plot strength speedups by lanes, scores at equal totals, and the sequential curve.

    Without a curve, plot the scores only: by the value of an option, if strategies differ in one numeric
    option only; as a list, for many strategies on one number of lanes; otherwise by lanes.
    """
    speedups = result.fit is not None
    swept = None if speedups else _swept(result.rows)
    listed = not speedups and swept is None and _is_list(result.rows)
    height = 2.0 + LINE * len(result.rows) if listed else 5.0
    figure, panels = plt.subplots(
        1, 3 if speedups else 1, figsize=(14 if speedups else 8, height), squeeze=False, layout="constrained"
    )
    if swept is not None:
        _by_option(panels[0][0], result.rows, swept)
    elif listed:
        _list(panels[0][0], result.rows)
    else:
        _by_lanes(panels[0], result)
    for panel in panels[0]:
        panel.grid(color="#eeeeee")
        panel.spines[["top", "right"]].set_visible(False)
    lanes = span([row.cell.lanes for row in result.rows], "lane")
    name = game_name(result.plan.game.spec)
    save(figure, path, f"How well a {name} search on {lanes} plays beside a sequential search", title)


def _swept(rows: Sequence[Row]) -> str | None:
    """The only option in which the strategies differ, if it is numeric; otherwise None."""
    specs = {str(row.cell.strategy): row.cell.strategy for row in rows}.values()
    keys = {key for spec in specs for key in spec.options}
    if len(specs) < 3 or len({spec.name for spec in specs}) > 1 or len(keys) != 1:
        return None
    (key,) = keys
    try:
        values = [float(spec.options[key]) for spec in specs if key in spec.options]
    except ValueError:
        return None
    return key if len(values) == len(specs) and min(values) > 0 else None


def _is_list(rows: Sequence[Row]) -> bool:
    return len({row.cell.lanes for row in rows}) == 1 and len(rows) > MANY


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
        values = [row.strength.value for row in shown if row.strength is not None]
        ends = [row.strength.interval for row in shown if row.strength is not None]
        below = [value - max(low, value / 16) for value, (low, _) in zip(values, ends, strict=True)]
        above = [max(0.0, min(high, top) - value) for value, (_, high) in zip(values, ends, strict=True)]
        _errorbar(panel, shown, values, [below, above], name, styles[name])
        if known := [row for row in rows if row.predicted]:
            panel.plot(
                [row.cell.lanes for row in known],
                [row.predicted for row in known],
                "--",
                color=styles[name]["color"],
                linewidth=1,
                label=f"{name}: throughput, predicted",
            )
    _doublings(panel.xaxis, lanes)
    panel.set_yscale("log", base=2)
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panel.set_ylim(bottom=max(panel.get_ylim()[0], LEAST))
    panel.set_xlabel("lanes")
    panel.set_ylabel("strength speedup")


def _scores(panel: Any, groups: dict[str, list[Row]], styles: dict[str, Any]) -> None:
    panel.axhline(50, linestyle=":", color="#999999", label=NO_LOSS)
    for name, rows in groups.items():
        shown, values, errors = _percents(rows)
        _errorbar(panel, shown, values, errors, name, styles[name])
    _doublings(panel.xaxis, sorted({row.cell.lanes for rows in groups.values() for row in rows}))
    panel.set_xlabel("lanes")
    panel.set_ylabel(AGAINST_TOTAL)
    panel.set_ylim(0, 100)


def _by_option(panel: Any, rows: Sequence[Row], option: str) -> None:
    """Plot scores by the value of an option, with a curve for each number of lanes."""
    panel.axhline(50, linestyle=":", color="#999999", label=NO_LOSS)
    lanes = sorted({row.cell.lanes for row in rows})
    for number, (count, marker, colour) in enumerate(
        zip(lanes, cycle(MARKERS), cycle(LANES_COLOURS), strict=False)
    ):
        shown, values, errors = _percents([row for row in rows if row.cell.lanes == count])
        beside = 2 ** (BESIDE * (number - (len(lanes) - 1) / 2))
        panel.errorbar(
            [float(row.cell.strategy.options[option]) * beside for row in shown],
            values,
            yerr=errors,
            capsize=3,
            linewidth=1.6,
            marker=marker,
            color=colour,
            label=counted(count, "lane"),
        )
    _doublings(panel.xaxis, sorted({float(row.cell.strategy.options[option]) for row in rows}))
    panel.set_xlabel(f"{rows[0].cell.strategy.name}: {option}")
    panel.set_ylabel(AGAINST_TOTAL)
    panel.set_ylim(0, 100)


def _list(panel: Any, rows: Sequence[Row]) -> None:
    """Plot a list of scores, one line per strategy, in the requested order."""
    panel.axvline(50, linestyle=":", color="#999999", label=NO_LOSS)
    shown, values, errors = _percents(rows)
    for number, (row, value) in enumerate(zip(shown, values, strict=True)):
        ends = [[errors[0][number]], [errors[1][number]]]
        colour = COLOURS[row.cell.strategy.name]
        panel.errorbar([value], [number], xerr=ends, capsize=3, linewidth=1.6, marker="o", color=colour)
    panel.set_yticks(range(len(shown)), [str(row.cell.strategy) for row in shown], fontsize=8)
    panel.invert_yaxis()
    panel.set_xlabel(AGAINST_TOTAL.replace("\n", " "))
    panel.set_xlim(0, 100)


def _percents(rows: Sequence[Row]) -> tuple[list[Row], list[float], list[list[float]]]:
    """Rows with a score at equal totals; their scores and the lower and upper errors, in per cent."""
    shown = [(row, row.equal_total) for row in rows if row.equal_total is not None]
    below = [100 * (score.score - score.interval[0]) for _, score in shown]
    above = [100 * (score.interval[1] - score.score) for _, score in shown]
    return [row for row, _ in shown], [100 * score.score for _, score in shown], [below, above]


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
    _doublings(panel.xaxis, budgets)
    panel.set_xlabel("simulations a move")
    panel.set_ylabel("Elo above the smallest budget")


def _doublings(axis: Any, values: Sequence[float]) -> None:
    """Make an axis logarithmic, with the values as tick labels."""
    axis.axes.set_xscale("log", base=2)
    axis.set_ticks(values, [_short(value) for value in values])
    axis.set_ticks([], minor=True)


def _errorbar(
    panel: Any, rows: Sequence[Row], values: Sequence[float], errors: Any, name: str, style: dict[str, Any]
) -> None:
    if rows:
        beside, look = style["beside"], {key: value for key, value in style.items() if key != "beside"}
        lanes = [row.cell.lanes * beside for row in rows]
        panel.errorbar(lanes, values, yerr=errors, capsize=3, linewidth=1.6, label=name, **look)


def _short(number: float) -> str:
    """A short label for a number, such as "320 k"."""
    return f"{number / 1000:,.0f} k" if number >= 10_000 and number % 1000 == 0 else f"{number:,g}"
