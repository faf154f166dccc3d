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

from games.errors import counted

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


def plot(result: StrengthResult, title: str, path: Path, warnings: Sequence[str] = ()) -> None:
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
    lanes = span([row.cell.lanes for row in result.rows], "lane")
    name = game_name(result.plan.game.spec)
    sentence = f"How well a {name} search on {lanes} plays beside a sequential search"
    save(figure, path, sentence, title, warnings=warnings)


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


def _by_option(panel: Any, rows: Sequence[Row], option: str) -> None:
    """Plot scores by the value of an option, with a curve for each number of lanes."""
    panel.axhline(50, linestyle=":", color="#999999", label=NO_LOSS)
    lanes = sorted({row.cell.lanes for row in rows})
    for number, (count, marker, colour) in enumerate(
        zip(lanes, cycle(MARKERS), cycle(LANES_COLOURS), strict=False)
    ):
        shown, figures = _percents([row for row in rows if row.cell.lanes == count])
        beside = 2 ** (BESIDE * (number - (len(lanes) - 1) / 2))
        points(
            panel,
            [float(row.cell.strategy.options[option]) * beside for row in shown],
            figures,
            linewidth=1.6,
            marker=marker,
            color=colour,
            label=counted(count, "lane"),
        )
    ticks = sorted({float(row.cell.strategy.options[option]) for row in rows})
    dress(panel, f"{rows[0].cell.strategy.name}: {option}", AGAINST_TOTAL, ticks)
    panel.set_ylim(0, 100)


def _list(panel: Any, rows: Sequence[Row]) -> None:
    """Plot a list of scores, one line per strategy, in the requested order."""
    panel.axvline(50, linestyle=":", color="#999999", label=NO_LOSS)
    shown, figures = _percents(rows)
    for number, (row, (value, low, high)) in enumerate(zip(shown, figures, strict=True)):
        ends = [[value - low], [high - value]]
        colour = COLOURS[row.cell.strategy.name]
        panel.errorbar([value], [number], xerr=ends, capsize=3, linewidth=1.6, marker="o", color=colour)
    panel.set_yticks(range(len(shown)), [str(row.cell.strategy) for row in shown], fontsize=8)
    panel.invert_yaxis()
    dress(panel, AGAINST_TOTAL.replace("\n", " "))
    panel.set_xlim(0, 100)


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
