"""Pictures of results as SVG: rows beside the source's, curves along an axis, and distributions."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import cycle
from textwrap import wrap
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure

from cluster.lab.sources.estimate import PERCENT, Estimate, SourceFigure
from cluster.lab.sources.report import Picture
from cluster.lab.sources.table import PublishedRow
from cluster.lab.sources.verdict import DIFFERS, Study, TableResult, figure_text
from cluster.report import plot_frame

DIM, RULE, PAPER, SHADE, BAD = "#65695f", "#d9dbd3", "#fdfdfb", "#f7e4de", "#a3341f"
OURS, SOURCE, THIRD, FOURTH, _ = COLOURS = "#1b6e9c", "#b0581a", "#3f8f55", "#9a5fb3", "#a08a10"
SIDES = {"source": {"color": SOURCE, "marker": "D", "mfc": "none"}, "ours": {"color": OURS, "marker": "o"}}
SERIES = [{"color": colour, "marker": marker} for colour, marker in zip(COLOURS, "os^vP", strict=True)]
"""How source and ours are drawn, and the series of a picture without figures of a source."""
DASHES = ("-", "--", ":", "-.")
MARK = {"markersize": 4.5, "linewidth": 1.4, "elinewidth": 1.4}
WIDTH, LINE, AXIS, FRAME, PANEL = 8.2, 0.2, 0.7, 0.9, 3.4
"""Inches: width of a picture; heights of a line, an axis, title and legend, and a panel of curves."""
COLUMNS = (1.15, 1.32, 1.35)
"""Where the figures and the outcome of a row are written, as multiples of the width of a panel of rows."""
HEADINGS = ("figure fraction", "data")
"""What the place of a heading is measured in: across the picture, and down the rows."""
NAME, HEADING, TITLE = 40, 92, 84
"""Letters in a line: of a row's name, of the heading of a table, and of the titles of panels side by side."""
BIN, BESIDE = 10, 0.006
"""Width of a bar of a histogram; distance of points with equal places, as a share of the picture's width."""
STYLE: dict[Any, Any] = {
    "font.size": 9.5,
    "font.sans-serif": ["DejaVu Sans"],
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "svg.fonttype": "none",
    "svg.hashsalt": "banyan",
}
"""Letters stay letters in an SVG: that is small, and can be searched."""


class PlottedFigure(NamedTuple):
    """A figure of a row: by side, source or ours, the value with the ends of its interval."""

    name: str
    row: PublishedRow
    series: str
    outcome: str
    unit: str
    sides: dict[str, plot_frame.Figure]


Groups = Sequence[tuple[TableResult, list[PlottedFigure]]]
Rows = tuple[str, str, list[tuple[str, list[PlottedFigure]]]]
"""A panel of rows: label and scale of its axis, and its figures by heading."""


def pictures_of(studies: Sequence[Study]) -> dict[str, list[Picture]]:
    """Pictures by the name of the source, or of the first of the tables, that they show.

    There is one of each source, of each table with an axis, and of each distribution.
    """
    found: dict[str, list[Picture]] = {}
    with mpl.rc_context(STYLE):
        for study in studies:
            groups = [(result, list(_plotted(result))) for result in study.results]
            joined: dict[str, list[tuple[TableResult, list[PlottedFigure]]]] = {}
            for result, figures in groups:
                measured = result.verdicts[0].measured
                if measured and measured.histogram:
                    found[result.table.name] = [_histogram(result, measured.histogram)]
                elif figures and result.table.axis:
                    first = result.table.axis.get("beside", result.table.name)
                    joined.setdefault(first, []).append((result, figures))
            for own in joined.values():
                table = own[0][0].table
                found[table.name] = [_curves(own) if "x" in table.axis else _ratios(own)]
            if panels := list(_panels(groups)):
                title = f"The figures of source {study.name} and ours, row by row"
                found[study.name] = [_rows(study.name, title, panels)]
    return found


def _plotted(result: TableResult) -> Iterator[PlottedFigure]:
    """The figures of each row; only the score, where wins and losses are compared.

    Rows of ours only in tables of ours.
    """
    for verdict in result.rows(ours=False) or result.verdicts:
        row, figures, measured = verdict.row, verdict.row.figures, verdict.measured
        ours = measured.estimates if measured else {}
        if measured and measured.score and (not figures or row.score is not None):
            score, low, high = (100 * value for value in measured.score)
            ours = {"score": Estimate(score, low, high, PERCENT)}
            if row.score is not None:
                figures = {"score": SourceFigure(row.score, figures["wins"].number)}
        drawn = result.table.axis.get("figure")
        names = [name for name in figures or ours if name in ours and name == (drawn or name)]
        for name in names:
            sides = {"ours": (ours[name].value, ours[name].low, ours[name].high)}
            if source := figures.get(name):
                sides["source"] = (float(source.value), *source.interval(ours[name]))
            several = f"{row.name}: {name}" if name == names[0] else f"... {name}"
            text = _wrapped(several if names[1:] else row.name, NAME)
            tested = name in ("score", *(each.name for each in verdict.tested))
            outcome = verdict.outcome if tested else ""
            yield PlottedFigure(text, row, row.series, outcome, ours[name].unit, sides)


def _wrapped(text: str, letters: int, lines: int | None = None) -> str:
    return "\n".join(wrap(text, letters, max_lines=lines, placeholder=" ..."))


def _heading(result: TableResult, letters: int = HEADING, lines: int | None = None) -> str:
    return _wrapped(f"{result.table.name}  {result.table.title}", letters, lines)


def _panels(groups: Groups) -> Iterator[Rows]:
    """Label, scale and figures of a source's panels: percentages, then others relative to the source's."""
    for percent in (True, False):
        panel = []
        for result, figures in groups:
            own = [each for each in figures if "source" in each.sides and not each.row.not_comparable]
            if own := [each for each in own if each.unit.startswith(PERCENT) == percent]:
                panel.append((_heading(result), own))
        if panel and percent:
            yield "score (wins and half the draws) or share, %", "percent", panel
        elif panel and all(each.sides["source"][0] > 0 for _, figures in panel for each in figures):
            yield "as a multiple of the source's figure", "ratio", panel
        elif panel:
            yield "the figure itself", "symlog", panel


def _ratios(groups: Groups) -> Picture:
    """Figures relative to those of the first row of their table."""
    table = groups[0][0].table
    label = f"{table.axis['figure']}, as a multiple of the table's first"
    rows = [(_heading(result), figures) for result, figures in groups]
    return _rows(table.name, table.axis.get("title", table.title), [(label, "log", rows)])


def _rows(name: str, title: str, panels: Sequence[Rows]) -> Picture:
    """Rows below the titles of their tables: source above ours; figures and outcome at the right."""
    depths = [
        sum(_lines(heading) + 0.5 + sum(_lines(each.name) for each in figures) for heading, figures in groups)
        for *_, groups in panels
    ]
    figure = plot_frame.new_figure(WIDTH, FRAME + LINE * sum(depths) + AXIS * len(panels))
    figure.get_layout_engine().set(w_pad=0.1)
    axes = figure.subplots(len(panels), squeeze=False, height_ratios=depths)[:, 0]
    for panel, depth, (label, scale, groups) in zip(axes, depths, panels, strict=True):
        names, y = {}, 0.0
        for heading, figures in groups:
            y += _lines(heading) + 0.5
            text = panel.annotate(heading, (0.012, y), xycoords=HEADINGS, va="bottom", weight="bold")
            text.set_in_layout(False)
            for each in figures:
                middle = y + _lines(each.name) / 2
                names[middle] = each.name
                _row(panel, middle, each, scale, figures[0])
                y += _lines(each.name)
        plot_frame.dress(panel, label)
        _scale(panel.xaxis, scale)
        panel.set(ylim=(depth, 0), yticks=[*names], yticklabels=names.values())
        panel.tick_params("y", length=0)
        panel.grid(visible=False, axis="y")
        panel.spines["left"].set_visible(False)
    return _picture(figure, name, title)


def _lines(text: str) -> int:
    return text.count("\n") + 1


def _row(panel: Any, y: float, row: PlottedFigure, scale: str, first: PlottedFigure) -> None:
    """Draw a row with its middle at ``y``; ``first``: the first one below its heading."""
    bad, half = row.outcome == DIFFERS, _lines(row.name) / 2
    write = partial(panel.text, transform=panel.get_yaxis_transform(), va="center")
    if bad:
        panel.axhspan(y - half, y + half, color=SHADE)
    write(COLUMNS[2], y, row.outcome, color=BAD if bad else DIM, weight="bold" if bad else "normal")
    for side, right, shift in zip(SIDES, COLUMNS, (-0.18, 0.18), strict=False):
        base = {"log": first.sides[side], "ratio": row.sides["source"]}.get(scale, (1.0,))[0]
        value, low, high = (number / base for number in row.sides[side])
        look = {"label": f"{side}, 95 % interval", "ls": "none", **SIDES[side], **MARK}
        panel.errorbar(value, y + shift, xerr=plot_frame.lengths([(value, low, high)]), **look)
        shown = value if scale == "log" else row.sides[side][0]
        text = f"{shown:.2g}" if 0 < shown < 0.01 else figure_text(shown)
        write(right, y, text, color=SIDES[side]["color"], ha="right")


def _scale(axis: Any, scale: str) -> None:
    """Scale an axis: percent, linear, log, symlog, or ratio (log)."""
    if scale == "percent":
        axis.axes.set(**{f"{axis.axis_name}lim": (-3, 103)})
        axis.set_ticks(range(0, 101, 25))
    elif scale != "linear":
        axis.axes.set(**{f"{axis.axis_name}scale": "symlog" if scale == "symlog" else "log"})
        low, high = axis.get_view_interval()
        if scale == "symlog":
            axis.axes.set(**{f"{axis.axis_name}lim": (min(low, -1), max(high, 1))})
        elif high < 100 * low:
            axis.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5)))
        axis.set_minor_formatter("")
    axis.set_major_formatter(lambda value, _: f"{value:,g}")


def _curves(groups: Groups) -> Picture:
    """A panel for each table: figures along its axis, a curve for each series of source and ours.

    Many series of one table are drawn in panels by the first words of their names, up to a comma.
    """
    table, many = groups[0][0].table, {each.series for each in groups[0][1]}
    shown = [(_heading(result, TITLE // len(groups), 4), figures) for result, figures in groups]
    if len(groups) == 1 and len(many) > len(SERIES):
        parted = [(*each.series.partition(", ")[::2], each) for each in groups[0][1]]
        shown = [
            (panel, [each._replace(series=rest) for first, rest, each in parted if first == panel])
            for panel in dict.fromkeys(first for first, *_ in parted)
        ]
    every = [each for _, figures in shown for each in figures]
    series = sorted(dict.fromkeys(each.series for each in every), key=bool)
    sides = [side for side in SIDES if any(side in each.sides for each in every)]
    log = table.axis.get("log", "")
    figure = plot_frame.new_figure(WIDTH, FRAME + PANEL)
    panels = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    for panel, (head, figures) in zip(panels, shown, strict=True):
        panel.set_title(head if len(shown) > 1 else "", loc="left", weight="bold", size=9.5)
        places = sorted(set(map(_x, figures)))
        first, last = places[0], places[-1]
        width = last / first if "x" in log else last - first
        there = [name for name in series if any(name == each.series for each in figures)]
        curves = [(side, name) for name in there for side in sides]
        for number, (side, name) in enumerate(curves):
            place = series.index(name)
            look: dict[str, Any] = SIDES[side] if sides[1:] else SERIES[place % len(SERIES)]
            label = ", ".join(filter(None, [side if sides[1:] or not name else "", name]))
            shift = BESIDE * len(shown) * (number - (len(curves) - 1) / 2)
            own = sorted((each for each in figures if each.series == name and side in each.sides), key=_x)
            plot_frame.points(
                panel,
                [x * width**shift if "x" in log else x + width * shift for x in map(_x, own)],
                [each.sides[side] for each in own],
                label=label,
                ls=DASHES[place % len(DASHES)],
                capsize=2,
                **look,
                **MARK,
            )
        plot_frame.dress(panel, table.axis["x"])
        _scale(panel.xaxis, "log" if "x" in log else "linear")
        if "x" in log or len(places) < 4:
            panel.set_xticks(places)
            panel.set_xticks([], minor=True)
        percent = "percent" if every[0].unit.startswith(PERCENT) else "linear"
        _scale(panel.yaxis, "log" if "y" in log else percent)
    panels[0].set_ylabel(table.axis.get("y", "score, %"))
    return _picture(figure, table.name, table.axis.get("title", table.title))


def _x(figure: PlottedFigure) -> float:
    """The place on the axis across."""
    return figure.row.x or 0.0


def _histogram(result: TableResult, histogram: Mapping[str, Mapping[int, int]]) -> Picture:
    """How often each number was observed, by series, with the compared figures as lines."""
    figure = plot_frame.new_figure(WIDTH, FRAME + PANEL)
    panel = figure.subplots()
    for (series, counts), colour in zip(histogram.items(), cycle((RULE, THIRD, FOURTH)), strict=False):
        weights = [100 * count / sum(counts.values()) for count in counts.values()]
        look = {"color": colour, "histtype": "stepfilled" if colour == RULE else "step", "label": series}
        panel.hist([*counts], range(0, max(counts) + 2 * BIN, BIN), weights=weights, **look)
    for each, dash in zip(result.verdicts[0].comparisons, cycle(DASHES), strict=False):
        for side, value in (("source", float(each.source.value)), ("ours", each.ours.value)):
            label = f"{side}: {each.name} {figure_text(value)}"
            panel.axvline(value, color=SIDES[side]["color"], ls=dash, linewidth=1.4, label=label)
    plot_frame.dress(panel, result.table.axis.get("x", "number"), f"share, % in each {BIN}")
    return _picture(figure, result.table.name, result.table.title, "lines: the figures that are compared")


def _picture(figure: Figure, name: str, title: str, details: str = "with intervals of 95 %") -> Picture:
    """The picture of a figure, with title, details and legend."""
    plot_frame.complete(figure, title, details, "", columns=3)
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Title": title, "Date": None})
    return Picture(name.replace("/", "-"), file.getvalue())
