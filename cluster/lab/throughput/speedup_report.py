"""The tables of a speedup measurement, its plot and its other files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from cluster.lab.throughput.losses import PARTS
from cluster.lab.throughput.speedup import MORE_CORES, SpeedupRow, amounts, warnings
from cluster.observe.metrics import Metric, gauge
from cluster.report.machine import provenance
from cluster.report.plot_frame import dress, game_name, label_rates, look, new_figure, points, save
from cluster.report.table import Table, count, number, percent, rate, table_of, write_files
from cluster.system.terminal import span
from games.errors import counted

WIDE, PANEL, TALL = 7.2, 2.6, 6.6
"""Inches: least width of the figure (that of a page of text), width of a panel of rates, height."""
MANY_TIMES = 16
"""From this ratio of the most to the fewest workers on, axes are in doublings."""
GREY = "#777777"
IDEAL: dict[str, Any] = {
    "linestyle": ":", "color": GREY, "zorder": 1.6, "label": "ideal: linear in workers"
}  # fmt: skip
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
            "of\nceiling": percent(row.of_ceiling, 1, row.of_ceiling_spread if row.repeats > 1 else None),
        }
        for row in rows
    ]
    found = [table_of(rates, f"{rows[0].game}: {amounts(rows)}", words=["strategy"])]
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


def plot(rows: Sequence[SpeedupRow], path: Path) -> Any:
    """Plot rates by workers in a panel for each strategy, with its ceiling; below, speedup and efficiency.

    Axes are in doublings if the numbers of workers are, or if they lie far apart. Returns the figure.
    """
    from matplotlib.ticker import LogLocator

    strategies = list(dict.fromkeys(row.strategy for row in rows))
    workers = sorted({row.workers for row in rows})
    doublings = len(workers) > 2 and (
        all(after == 2 * before for before, after in pairwise(workers))
        or workers[-1] >= MANY_TIMES * workers[0]
    )
    figure = new_figure(max(WIDE, PANEL * len(strategies)), TALL)
    upper, lower = figure.subfigures(2, 1)
    panels = upper.subplots(1, len(strategies), sharey=True, squeeze=False)[0]
    speedups, efficiencies = lower.subplots(1, 2)
    ends = [workers[0] if doublings else 0, workers[-1]]
    for place, (panel, strategy) in enumerate(zip(panels, strategies, strict=True)):
        own = [row for row in rows if row.strategy == strategy]
        _rates(panel, own, ends)
        _draw(speedups, own, [row.speedup for row in own], place)
        _draw(efficiencies, own, [100 * row.efficiency for row in own], place)
    speedups.plot(ends, ends, **IDEAL)
    efficiencies.axhline(100, **IDEAL)
    if doublings:
        speedups.set_yscale("log", base=2)
        speedups.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        panels[0].set_yscale("log")
        panels[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    label_rates(panels[0].yaxis)
    for panel in (*panels, speedups, efficiencies):
        dress(panel, "workers", doublings=workers if doublings else ())
        if not doublings:
            panel.set_xticks(workers)
            panel.set_xlim(0, 1.08 * workers[-1])
            panel.set_ylim(bottom=0)
    panels[0].set_ylabel("simulations per second")
    first = counted(workers[0], "worker")
    speedups.set_ylabel("speedup" if workers[0] == 1 else f"speedup ({first} count as {workers[0]})")
    efficiencies.set_ylabel("efficiency, %")
    efficiencies.set_ylim(0, max(110, efficiencies.get_ylim()[1]))
    one = rows[0]
    kind = WORKERS_ARE.get(one.executor, one.executor)
    save(
        figure,
        path,
        f"Speedup of a {game_name(one.game)} search on {span(workers, 'worker')}",
        f"{one.game}: {amounts(rows)}; workers are {kind}",
        columns=3 if len(strategies) > 2 else 4,
        warnings=warnings(rows),
    )
    return figure


def _rates(panel: Any, rows: Sequence[SpeedupRow], ends: Sequence[int]) -> None:
    """The rates of one strategy, their ideal, and the ceiling where it was measured."""
    one = rows[0].simulations_per_s / rows[0].workers
    panel.plot(ends, [one * end for end in ends], **IDEAL)
    title = rows[0].strategy
    if limited := [row for row in rows if row.ceiling_simulations_per_s and row.ceiling_spread]:
        workers = [row.workers for row in limited]
        lows, highs = zip(*(row.ceiling_spread for row in limited), strict=True)
        panel.fill_between(workers, lows, highs, color="#bbbbbb", alpha=0.4, linewidth=0)
        panel.plot(
            workers,
            [row.ceiling_simulations_per_s for row in limited],
            "--.",
            color=GREY,
            label="ceiling: independent processes",
        )
        last = limited[-1]
        title += f": {last.of_ceiling:.0%} of the ceiling\non {counted(last.workers, 'worker')}"
    panel.set_title(title, fontsize=9)
    _draw(panel, rows, [row.simulations_per_s for row in rows])


def _draw(panel: Any, rows: Sequence[SpeedupRow], values: Sequence[float], place: int = 2) -> None:
    """Values that are proportional to the rates of one strategy, with the ranges of the rates.

    Thinner with each ``place`` in the order of strategies, so that equal values do not hide each other.
    """
    figures = []
    for row, value in zip(rows, values, strict=True):
        low, high = row.spread or (row.simulations_per_s, row.simulations_per_s)
        figures.append((value, value * (low / row.simulations_per_s), value * (high / row.simulations_per_s)))
    places = [row.workers for row in rows]
    strategy = rows[0].strategy
    size = 7.5 - 1.2 * place
    points(panel, places, figures, linewidth=size / 3, markersize=size, label=strategy, **look(strategy))
