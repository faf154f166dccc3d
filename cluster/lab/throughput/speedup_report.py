"""The tables of a speedup measurement, its plot and its other files."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from cluster.lab.throughput.losses import PARTS
from cluster.lab.throughput.speedup import MORE_CORES, SpeedupRow, amounts, settings, warnings
from cluster.observe.metrics import Metric, gauge
from cluster.report.machine import provenance
from cluster.report.plot_frame import (
    COLUMN,
    GREY,
    MARKERS,
    TALL,
    dress,
    game_name,
    label_rates,
    lengths,
    look,
    new_figure,
    points,
    save,
)
from cluster.report.table import Table, count, number, percent, rate, table_of, write_files
from cluster.system.terminal import span
from games.errors import counted, in_words

CURVE = 3
"""Numbers of workers that a curve has at least."""
BARS = 0.8
"""Width of the bars of one number of workers; neighbours are 1 apart."""
MANY_TIMES = 16
"""From this ratio of the most to the fewest workers on, axes are in doublings."""
IDEAL: dict[str, Any] = {"linestyle": ":", "color": GREY, "linewidth": 1, "label": "ideal: linear in workers"}
CEILING: dict[str, Any] = {
    "linestyle": "--", "color": GREY, "linewidth": 1, "marker": "o", "markersize": 4.5,
    "markerfacecolor": "white", "label": "ceiling: independent processes"
}  # fmt: skip
LEVEL: dict[str, Any] = {"linestyle": "none", "marker": "_", "markersize": 16}
"""How the ideal is drawn across bars."""
HATCHES = dict(zip(MARKERS, ("", "////", "...", "xx", "++", "oo", "--", "||"), strict=True))
"""The fill of bars by the marker of their strategy."""
WORKERS_ARE = {"ray": "processes of Ray"}


def tables(rows: Sequence[SpeedupRow]) -> list[Table]:
    """Rates by strategy and workers; the use of the cores, and what rounds cost, if that is known."""
    rates = [
        {
            "strategy": row.strategy,
            "workers": count(row.workers),
            "rate": rate(row.simulations_per_s),
            "speedup": number(row.speedup, ".2f"),
            "efficiency": percent(row.efficiency),
            "ceiling": rate(row.ceiling_simulations_per_s or 0.0),
            "of ceiling": percent(row.of_ceiling, 0, row.of_ceiling_spread if row.repeats > 1 else None),
        }
        for row in rows
    ]
    found = [table_of(rates, f"{rows[0].game}: {amounts(rows)}, {settings(rows)}", words=["strategy"])]
    if rounds := [row for row in rows if row.round_costs.rounds]:
        found.append(_rounds(rounds))
    if all(row.spent for row in rows):
        spent = [
            {"strategy": row.strategy, "on": count(row.workers)}
            | {part.replace(" ", "\n"): number(100 * row.spent[part], ".1f") for part in PARTS}
            for row in rows
        ]
        title = "Use of the time of this machine's cores, in per cent"
        caption = (
            "workers run jobs, the coordinator plans them and takes in results; raylet, GCS and agents are "
            "processes of Ray."
        )
        found.append(table_of(spent, title, caption, ["strategy"]))
    return found


def _rounds(rows: Sequence[SpeedupRow]) -> Table:
    """What a round costs, and how much of more cores' time jobs would have by that."""
    cores = [number for number in MORE_CORES if any(number in row.used for row in rows)]
    cells = []
    for row in rows:
        costs = row.round_costs
        times = {"job": costs.jobs_s / row.lanes, "longest": costs.longest_s}
        times |= {step: getattr(costs, f"{step}_s") for step in ("merge", "snapshot", "plan", "send")}
        cells.append(
            {"strategy": row.strategy, "on": count(row.workers), "rounds": count(costs.rounds)}
            | {name: number(1000 * seconds / costs.rounds, ".2f") for name, seconds in times.items()}
            | {f"of {n}\ncores": percent(row.used.get(n)) for n in cores}
        )
    title = "A round (one job of each lane) in ms, and the share of more cores' time that jobs would have"
    caption = (
        "job: mean CPU time of a job; longest: that of the longest. Between two rounds one thread takes in "
        "results (merge), copies the top of the tree for workers (snapshot), plans jobs, and sends them. "
        "Shares are arithmetic, not measured: with tree all wait for the longest job, then for these steps; "
        "with others only for what the coordinator is late with."
    )
    return table_of(cells, title, caption, ["strategy"])


def write_rows(rows: Sequence[SpeedupRow], folder: Path, picture: str = "png") -> list[Path]:
    """Write speedup.json, .csv and a figure in the format ``picture`` into the folder, which is created if
    missing."""
    records = [asdict(row) for row in rows]
    return write_files(folder, "speedup", rows_json(rows), records, partial(plot, rows), picture)


def rows_json(rows: Sequence[SpeedupRow]) -> list[dict[str, Any]]:
    """Rows as plain values, each with a description of its machine."""
    return [asdict(row) | {"measured_on": provenance()} for row in rows]


def metric_families(rows: Sequence[SpeedupRow]) -> Iterator[Metric]:
    """The rows as metrics. Label values are few: a game has its name without options, a file its stem."""
    rows = tuple(rows)
    gauges = {
        "banyan_speedup_simulations_per_second": ("Simulations/s of a search.", "simulations_per_s"),
        "banyan_speedup_ratio": ("Speedup over one worker.", "speedup"),
        "banyan_speedup_efficiency_ratio": ("Speedup / workers.", "efficiency"),
        "banyan_speedup_ceiling_simulations_per_second": (
            "Simulations/s of as many independent processes.",
            "ceiling_simulations_per_s",
        ),
    }
    keys = [
        (Path(row.game.partition(":")[0]).stem, row.strategy, row.executor, str(row.workers)) for row in rows
    ]
    for name, (text, value) in gauges.items():
        values = {key: getattr(row, value) for key, row in zip(keys, rows, strict=True)}
        yield gauge(name, text, values, "game", "strategy", "executor", "workers")


def plot(rows: Sequence[SpeedupRow], path: Path, where: str | None = None) -> Any:
    """Plot rates by workers, each strategy with its ideal and its ceiling; below, the efficiencies.

    Fewer than three numbers of workers have bars. Axes are in doublings if the numbers of workers are, or if
    they lie far apart. ``where``: the machine, if it is not this one. Returns the figure.
    """
    from matplotlib.ticker import LogLocator, MultipleLocator

    strategies = list(dict.fromkeys(row.strategy for row in rows))
    workers = sorted({row.workers for row in rows})
    bars = len(workers) < CURVE
    doublings = not bars and (
        all(after == 2 * before for before, after in pairwise(workers))
        or workers[-1] >= MANY_TIMES * workers[0]
    )
    figure = new_figure(COLUMN, TALL)
    rates, efficiencies = figure.subplots(2, 1, sharex=True, height_ratios=(5, 2))
    alone = {"linestyle": "none"} if bars else {}
    common = len({(row.workers, row.ceiling_simulations_per_s) for row in rows}) == len(workers)
    shares = []
    for place, strategy in enumerate(strategies):
        own = [row for row in rows if row.strategy == strategy]
        one, style = own[0].simulations_per_s / own[0].workers, look(strategy, strategies)
        beside = (place + 0.5) / len(strategies) - 0.5
        at = [workers.index(row.workers) + BARS * beside if bars else row.workers for row in own]
        width = BARS / len(strategies) if bars else 0
        _draw(rates, own, at, [row.simulations_per_s for row in own], width, style)
        _draw(efficiencies, own, at, [100 * row.efficiency for row in own], width, style)
        rates.plot(at, [one * row.workers for row in own], **(IDEAL | (LEVEL if bars else {})))
        ceilings = [(x, row.ceiling_simulations_per_s) for x, row in zip(at, own, strict=True)]
        if known := [each for each in ceilings if each[1]]:
            rates.plot([], [], **(CEILING | alone))
            whose = {} if common else style
            rates.plot(*zip(*known, strict=True), **(CEILING | whose | alone | {"label": ""}))
            shares.append(f"{strategy} {percent(own[-1].of_ceiling)}")
    efficiencies.axhline(100, **IDEAL)
    dress(rates, "", "simulations per second")
    dress(efficiencies, "workers", "efficiency, %", workers if doublings else ())
    if doublings:
        rates.set_yscale("log")
        rates.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    else:
        rates.set_ylim(bottom=0)
        efficiencies.set_xticks(range(len(workers)) if bars else workers, workers)
    label_rates(rates.yaxis)
    efficiencies.set_ylim(0, max(110, efficiencies.get_ylim()[1]))
    efficiencies.yaxis.set_major_locator(MultipleLocator(50))
    kind = WORKERS_ARE.get(rows[0].executor, rows[0].executor)
    details = f"{settings(rows)}; workers are {kind}"
    if shares:
        details += f"; on {counted(workers[-1], 'worker')}, of the ceiling: {in_words(shares)}"
    title = f"Speedup of {game_name(rows[0].game)} on {span(workers, 'worker')}"
    save(figure, path, title, details, where, columns=2, warnings=warnings(rows), about=rows[0].game)
    return figure


def _draw(
    panel: Any,
    rows: Sequence[SpeedupRow],
    at: Sequence[float],
    values: Sequence[float],
    width: float,
    style: dict[str, str],
) -> None:
    """Values that are proportional to the rates of one strategy, with the ranges of the rates: bars of a
    ``width``, or a curve if that is 0."""
    figures = []
    for row, value in zip(rows, values, strict=True):
        low, high = row.spread or (row.simulations_per_s, row.simulations_per_s)
        figures.append((value, value * (low / row.simulations_per_s), value * (high / row.simulations_per_s)))
    if width:
        fill = {"color": style["color"], "hatch": HATCHES[style["marker"]], "edgecolor": "white"}
        panel.bar(at, values, width, yerr=lengths(figures), capsize=4, label=rows[0].strategy, **fill)
    else:
        points(panel, at, figures, label=rows[0].strategy, markersize=4.5, linewidth=1.3, **style)


def draw_file(file: Path, picture: Path) -> Any:
    """Plot the rows of a speedup.json, with the machine that it names. Returns the figure."""
    records = json.loads(file.read_text(encoding="utf-8"))
    (where,) = {record.pop("measured_on") for record in records}
    return plot([SpeedupRow(**record) for record in records], picture, where)


if __name__ == "__main__":
    draw_file(Path(sys.argv[1]), Path(sys.argv[2]))
