"""The pictures of a measurement of strength, by either judge."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from cluster.lab.strength.exact import ByValues
from cluster.lab.strength.exact import Row as MovesRow
from cluster.lab.strength.fit import Figure
from cluster.lab.strength.games import ByGames
from cluster.report.plot_frame import COLOURS, MARKERS, dress, game_name, new_figure, points, save
from cluster.system.terminal import span
from games.errors import counted

OUTSIDE = 2.0
"""An interval without an upper end is drawn up to this multiple of the largest number of lanes."""
LEAST = 0.25
"""Lower end of the speedup axis; smaller values are not shown."""
BESIDE = 0.05
"""Horizontal distance, in doublings, between points with equal lanes, so that all intervals are visible."""
SEQUENTIAL, LEVEL = "#333333", "#999999"
TALL, WIDE = 5, 6
"""Inches of a panel."""
Points = Sequence[tuple[float, Figure | None]]
"""Figures by lanes or by simulations; those that are None or not finite are not drawn."""


def plot_games(result: ByGames, path: Path) -> None:
    """Plot scores at equal totals by lanes; if there is a curve, also strength speedups and the curve."""
    lanes = sorted({row.cell.lanes for row in result.rows})
    has_curve = result.fit is not None
    figure = new_figure(14 if has_curve else 8, 5)
    panels = figure.subplots(1, 3 if has_curve else 1, squeeze=False)[0]
    scores = panels[-2 if has_curve else 0]
    scores.axhline(50, linestyle=":", color=LEVEL, label="nothing is lost")
    for place, (name, rows) in enumerate(_by_strategy(result.rows).items()):
        look = _look(name, place)
        _draw(scores, [(row.cell.lanes, row.equal_total) for row in rows], look, place, scale=100)
        if has_curve:
            _draw(panels[0], [(row.cell.lanes, row.strength) for row in rows], look, place)
    dress(scores, "lanes", "score against the sequential search\nwith the same total, %", lanes)
    scores.set_ylim(0, 100)
    if has_curve:
        _dress_speedups(panels[0], lanes)
        _curve(panels[2], result)
    who = f"a {game_name(result.searches.game.spec)} search on {span(lanes, 'lane')}"
    title = f"How well {who} plays beside a sequential search"
    save(figure, path, title, result.title, warnings=result.warnings())


def plot_losses(result: ByValues, path: Path) -> None:
    """Plot mean losses by simulations beside the sequential curve, and what lanes are worth.

    With several budgets of a lane: a panel for each strategy, with a line for each budget.
    """
    from matplotlib.ticker import LogLocator

    searches = result.searches
    lanes = sorted({cell.lanes for cell in result.cells})
    groups = _by_strategy(result.rows)
    looks = {name: _look(name, place - 1) for place, name in enumerate(groups)}
    panels = len(groups) if searches.is_map else 2
    lines = math.ceil(panels / 2)
    figure = new_figure(2 * WIDE, TALL * lines)
    losses, *others = figure.subplots(lines, 2, squeeze=False).flat
    for unused in others[panels - 1 :]:
        unused.set_visible(False)
    for place, (name, rows) in enumerate(groups.items()):
        look = looks[name] | {"linestyle": "-" if name == "sequential" else "none"}
        _draw(losses, [(row.cell.total_simulations, row.loss) for row in rows], look, place)
    losses.set_yscale("log")
    losses.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
    losses.yaxis.set_major_formatter(lambda value, _: f"{value:.2g}")
    up = "mean loss of a move\n(a draw instead of a win is 1)"
    dress(losses, "simulations a move", up, result.budgets)
    del groups["sequential"]
    if searches.is_map:
        for panel, (name, rows) in zip(others, groups.items(), strict=False):
            _map(panel, name, rows, lanes)
    else:
        for place, (name, rows) in enumerate(groups.items()):
            _draw(others[0], [(row.cell.lanes, row.strength) for row in rows], looks[name], place)
        _dress_speedups(others[0], lanes)
    title = f"What {span(lanes, 'lane')} are worth in {game_name(searches.game.spec)}, by exact values"
    save(figure, path, title, result.title)


def _by_strategy(rows: Iterable[Any]) -> dict[str, list[Any]]:
    """The rows, which are ordered by strategy, of each strategy."""
    return {name: list(own) for name, own in groupby(rows, lambda row: str(row.cell.strategy))}


def _map(panel: Any, name: str, rows: Sequence[MovesRow], lanes: Sequence[int]) -> None:
    """The worth of a lane of one strategy by the number of lanes, with a line for each budget."""
    from matplotlib import colormaps

    budgets = sorted({row.cell.lane_simulations for row in rows})
    for place, budget in enumerate(budgets):
        look = {
            "color": colormaps["viridis"](0.85 * (1 - place / (len(budgets) - 1))),
            "marker": MARKERS[place % len(MARKERS)],
            "label": f"{counted(budget, 'simulation')} a lane",
        }
        own = [(row.cell.lanes, row.strength) for row in rows if row.cell.lane_simulations == budget]
        each = [(lanes, figure and figure.scaled(1 / lanes)) for lanes, figure in own]
        _draw(panel, each, look, place)
    panel.axhline(1.0, linestyle=":", color=LEVEL)
    panel.set_title(name, fontsize=10)
    dress(panel, "lanes", "worth of a lane: strength speedup / lanes", lanes)
    panel.set_ylim(0.0, 1.5)
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")


def _dress_speedups(panel: Any, lanes: Sequence[int]) -> None:
    panel.plot(lanes, lanes, ":", color=LEVEL, label="a lane is worth a sequential search")
    dress(panel, "lanes", "strength speedup", lanes)
    panel.set_yscale("log", base=2)
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    low, high = panel.get_ylim()
    panel.set_ylim(max(low, LEAST), min(high, OUTSIDE * lanes[-1]))


def _curve(panel: Any, result: ByGames) -> None:
    """Elo of the sequential search by its budget."""
    budgets = [point.simulations for point in result.curve]
    low, high = zip(*(point.elo.interval for point in result.curve), strict=True)
    panel.fill_between(budgets, low, high, color="#bbbbbb", alpha=0.4, linewidth=0, label="95 %")
    elo = [point.elo.value for point in result.curve]
    panel.plot(budgets, elo, "-o", color="#555555", label="sequential search")
    dress(panel, "simulations a move", "Elo above the smallest budget", budgets)


def _look(name: str, place: int) -> dict[str, Any]:
    """Colour, marker and label of a search: of the sequential one, or of a strategy with its options."""
    colour = COLOURS.get(name.partition(":")[0], SEQUENTIAL)
    return {"color": colour, "marker": MARKERS[place % len(MARKERS)], "label": name}


def _draw(panel: Any, figures: Points, look: Mapping[str, Any], place: int, scale: float = 1.0) -> None:
    """Draw finite figures with their intervals; ``place`` moves them a little to the right."""
    sound = [
        (at, each.scaled(scale)) for at, each in figures if each is not None and 0 <= each.value < math.inf
    ]
    values = [(each.value, *each.interval) for _, each in sound]
    if sound:
        points(panel, [at * 2 ** (BESIDE * place) for at, _ in sound], values, linewidth=1.6, **look)
