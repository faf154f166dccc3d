"""Pictures of results as SVG: rows beside the source's, curves along an axis, and distributions."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from html import escape
from itertools import compress, cycle, pairwise
from textwrap import wrap
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure

from cluster.lab.sources.estimate import PERCENT, Estimate, SourceFigure
from cluster.lab.sources.report import THEME, Picture
from cluster.lab.sources.table import Row
from cluster.lab.sources.verdict import DIFFERS, Study, TableResult, figure_text

INK, DIM, RULE, PAPER, SHADE, BAD, *COLOURS = THEME
OURS, SOURCE, THIRD, FOURTH, _ = COLOURS
SIDES = {"source": {"color": SOURCE, "marker": "D", "mfc": "none"}, "ours": {"color": OURS, "marker": "o"}}
SERIES = [{"color": colour, "marker": marker} for colour, marker in zip(COLOURS, "os^vP", strict=True)]
"""How source and ours are drawn, and the series of a picture without figures of a source."""
DASHES = ("-", "--", ":", "-.")
MARK = {"markersize": 4.5, "linewidth": 1.4, "elinewidth": 1.4}
WIDTH, LEFT, RIGHT = 8.2, 0.385, 0.735
"""Width of a picture in inches; the ends of a panel of rows as shares of it."""
MARGIN, INDENT, COLUMNS, END = -1.066, -1.033, (1.175, 1.395, 1.42), 1.725
"""Left and right ends of texts, as multiples of the width of a panel of rows."""
LINE, SPACE, AXIS, TOP, PANEL = 0.19, 0.09, 0.62, 0.64, 2.8
"""Heights in inches: of a line, the space above a heading, an axis, title and legend, a panel of curves."""
NAME, HEADING, TITLE = 40, 92, 84
"""Letters in a line: of a row's name, of the heading of a table, and of a title."""
BIN, BESIDE = 10, 0.006
"""Width of a bar of a histogram; distance of points with equal places, as a share of the picture's width."""
STYLE: dict[Any, Any] = {
    **dict.fromkeys(("font.size", "axes.titlesize", "legend.fontsize"), 9.5),
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), INK),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), DIM),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
}
STYLE |= {"svg.fonttype": "none", "svg.hashsalt": "banyan", "axes.axisbelow": True, "figure.facecolor": PAPER}
STYLE |= {"axes.facecolor": "none", "grid.color": RULE, "grid.linewidth": 0.6}
UNUSED = (
    r"(?s)<!--.*?-->|<metadata>.*?</metadata>|<(?=\?|!D).*?>| id=\"(?![mp][0-9a-f]{10}\")[^\"]*\"",
    r" ?font(?:-family|-size: 9.5px|: 9.5px)[^;\"]*;?|text-anchor: start;|; stroke-linejoin: miter",
    r"(?<=\.\d)\d+(?=[^<]*>)| transform=\"rotate\(-0 [^\"]*\"",
)
"""What is left out of an SVG: comments, ids, fonts, what is the default, digits."""


class Line(NamedTuple):
    """A figure of a row: of source and ours the figure and the distances to the ends of its interval."""

    name: str
    row: Row
    series: str
    outcome: str
    unit: str
    marks: dict[str, tuple[float, ...]]


Groups = Sequence[tuple[TableResult, list[Line]]]
Rows = tuple[str, str, list[tuple[str, list[Line]]]]
"""A panel of rows: label and scale of its axis, and its lines by heading."""


def pictures_of(studies: Sequence[Study]) -> dict[str, list[Picture]]:
    """Pictures by the name of the source, or of the first of the tables, that they show.

    There is one of each source, of each table with an axis, and of each distribution.
    """
    found: dict[str, list[Picture]] = {}
    with mpl.rc_context(STYLE):
        for study in studies:
            groups = [(result, list(_lines(result))) for result in study.results]
            joined: dict[str, list[tuple[TableResult, list[Line]]]] = {}
            for result, lines in groups:
                measured = result.verdicts[0].measured
                if measured and measured.histogram:
                    found[result.table.name] = [_histogram(result, measured.histogram)]
                elif lines and result.table.axis:
                    first = result.table.axis.get("beside", result.table.name)
                    joined.setdefault(first, []).append((result, lines))
            for own in joined.values():
                table = own[0][0].table
                found[table.name] = [_curves(own) if "x" in table.axis else _ratios(own)]
            if panels := list(_panels(groups)):
                title = f"The figures of source {study.name} and ours, row by row"
                found[study.name] = [_rows(study.name, title, panels)]
    return found


def _lines(result: TableResult) -> Iterator[Line]:
    """A line for each figure of each row; one for the score, where wins and losses are compared.

    Rows of ours only in tables of ours.
    """
    for verdict in result.rows(ours=False) or result.verdicts:
        row, figures, measured = verdict.row, verdict.row.figures, verdict.measured
        ours = measured.estimates if measured else {}
        if measured and measured.score and (not figures or {"wins", "losses"} <= figures.keys()):
            score, low, high = (100 * value for value in measured.score)
            ours = {"score": Estimate(score, low, high, PERCENT)}
            if figures:
                half = (figures["wins"].value + 100 - figures["losses"].value) / 2
                figures = {"score": SourceFigure(half, figures["wins"].number)}
        drawn = result.table.axis.get("figure")
        names = [name for name in figures or ours if name in ours and name == (drawn or name)]
        for name in names:
            marks = {"ours": _mark(ours[name].value, ours[name].low, ours[name].high)}
            if source := figures.get(name):
                marks["source"] = _mark(float(source.value), *source.interval(ours[name]))
            several = f"{row.name}: {name}" if name == names[0] else f"... {name}"
            text = _wrapped(several if names[1:] else row.name, NAME)
            tested = name in ("score", *(each.name for each in verdict.tested))
            outcome = verdict.outcome if tested else ""
            yield Line(text, row, row.series, outcome, ours[name].unit, marks)


def _mark(value: float, low: float, high: float) -> tuple[float, ...]:
    return value, *(max(0.0, end) if math.isfinite(end) else 0.0 for end in (value - low, high - value))


def _wrapped(text: str, letters: int, lines: int | None = None) -> str:
    return "\n".join(wrap(text, letters, max_lines=lines, placeholder=" ..."))


def _heading(result: TableResult, letters: int = HEADING, lines: int | None = None) -> str:
    return _wrapped(f"{result.table.name}  {result.table.title}", letters, lines)


def _panels(groups: Groups) -> Iterator[Rows]:
    """Label, scale and lines of a source's panels: percentages, then others relative to the source's."""
    for percent in (True, False):
        panel = []
        for result, lines in groups:
            own = [each for each in lines if "source" in each.marks and not each.row.not_comparable]
            if own := [each for each in own if each.unit.startswith(PERCENT) == percent]:
                panel.append((_heading(result), own))
        if panel and percent:
            yield "score (wins and half the draws) or share, %", "percent", panel
        elif panel and all(line.marks["source"][0] > 0 for _, lines in panel for line in lines):
            yield "as a multiple of the source's figure", "ratio", panel
        elif panel:
            yield "the figure itself", "symlog", panel


def _ratios(groups: Groups) -> Picture:
    """Figures relative to those of the first row of their table."""
    table = groups[0][0].table
    label = f"{table.axis['figure']}, as a multiple of the table's first"
    rows = [(_heading(result), lines) for result, lines in groups]
    return _rows(table.name, table.axis.get("title", table.title), [(label, "log", rows)])


def _rows(name: str, title: str, panels: Sequence[Rows]) -> Picture:
    """Rows below the titles of their tables: source above ours; figures and outcome at the right."""
    depths = []
    for *_, groups in panels:
        spaces = [
            _depth(heading) + SPACE + sum(_depth(each.name) for each in lines) for heading, lines in groups
        ]
        depths.append(sum(spaces))
    height = TOP + sum(depths) + AXIS * len(panels)
    figure, top = Figure((WIDTH, height)), height - TOP
    for (label, scale, groups), depth in zip(panels, depths, strict=True):
        panel = figure.add_axes((LEFT, (top - depth) / height, RIGHT - LEFT, depth / height))
        panel.set(ylim=(depth, 0), yticks=())
        panel.spines["left"].set_visible(False)
        y, top = 0.0, top - depth - AXIS
        for heading, lines in groups:
            y += _depth(heading) + SPACE
            across = panel.get_yaxis_transform()
            panel.text(MARGIN, y, heading, transform=across, va="bottom", weight="bold")
            for line in lines:
                _row(panel, y, line, scale, lines[0])
                y += _depth(line.name)
        _axis(panel.xaxis, label, scale)
        for artist in (*panel.lines, *panel.patches):
            artist.set_clip_on(False)
    return _svg(figure, name, title)


def _depth(text: str) -> float:
    return LINE * (text.count("\n") + 1) + 0.03


def _row(panel: Any, y: float, line: Line, scale: str, first: Line) -> None:
    """Draw a row whose upper end is at ``y``; ``first``: the first one below its heading."""
    middle, bottom, bad = y + _depth(line.name) / 2, y + _depth(line.name), line.outcome == DIFFERS
    write = partial(panel.text, transform=panel.get_yaxis_transform(), va="center")
    if bad:
        panel.axhspan(y, bottom, MARGIN, END, color=SHADE)
    write(INDENT, middle, line.name)
    write(COLUMNS[2], middle, line.outcome, color=BAD if bad else DIM, weight="bold" if bad else "normal")
    for side, right, shift in zip(SIDES, COLUMNS, (-0.035, 0.035), strict=False):
        base = {"log": first.marks[side], "ratio": line.marks["source"]}.get(scale, (1.0,))[0]
        value, below, above = (number / base for number in line.marks[side])
        look = {"label": f"{side}, 95 % interval", "ls": "none", **SIDES[side], **MARK}
        panel.errorbar(value, middle + shift, xerr=[[below], [above]], **look)
        shown = value if scale == "log" else line.marks[side][0]
        text = f"{shown:.2g}" if 0 < shown < 0.01 else figure_text(shown)
        write(right, middle, text, color=SIDES[side]["color"], ha="right")


def _axis(axis: Any, label: str, scale: str) -> None:
    """Label and scale an axis: percent, linear, log, symlog, or ratio (log)."""
    axis.set_label_text(label)
    axis.grid()
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
    table, many = groups[0][0].table, {line.row.series for line in groups[0][1]}
    shown = [(_heading(result, TITLE // len(groups), 4), lines) for result, lines in groups]
    if len(groups) == 1 and len(many) > len(SERIES):
        parted = [(*line.series.partition(", ")[::2], line) for line in groups[0][1]]
        shown = [
            (each, [line._replace(series=rest) for first, rest, line in parted if first == each])
            for each in dict.fromkeys(first for first, *_ in parted)
        ]
    every = [line for _, lines in shown for line in lines]
    series = sorted(dict.fromkeys(line.series for line in every), key=bool)
    sides = [side for side in SIDES if any(side in line.marks for line in every)]
    curves = [
        (f"{side}, {name}" if sides[1:] and name else name or side, side, name)
        for name in series
        for side in sides
    ]
    log, heads = table.axis.get("log", ""), max(head.count("\n") + 1 for head, _ in shown)
    figure, panels = _figure(len(shown), LINE * ((len(curves) - 1) // 2 + heads * (len(shown) > 1)))
    for panel, (head, lines) in zip(panels, shown, strict=True):
        panel.set_title(head if len(shown) > 1 else "", loc="left", weight="bold")
        places = sorted({line.row.x or 0.0 for line in lines})
        first, last = places[0], places[-1]
        there = [each for each in curves if any(each[2] == line.series for line in lines)]
        for number, (label, side, name) in enumerate(there):
            shift = BESIDE * len(shown) * (number - (len(there) - 1) / 2)
            factor, step = ((last / first) ** shift, 0.0) if "x" in log else (1.0, (last - first) * shift)
            own = [line for line in lines if line.series == name and side in line.marks]
            if points := sorted(((line.row.x or 0.0) * factor + step, *line.marks[side]) for line in own):
                x, values, *ends = zip(*points, strict=True)
                place = series.index(name)
                look: dict[str, Any] = {**(SIDES[side] if sides[1:] else SERIES[place % len(SERIES)]), **MARK}
                look |= {"ls": DASHES[place % len(DASHES)], "capsize": 2, "label": label}
                panel.errorbar(x, values, ends, **look)
        _axis(panel.xaxis, table.axis["x"], "log" if "x" in log else "linear")
        if "x" in log or len(places) < 4:
            apart = [b / a > (last / first) ** (0.05 * len(shown) ** 1.5) for a, b in pairwise(places)]
            panel.set_xticks([*compress(places, [*apart, True])])
            panel.set_xticks([], minor=True)
        percent = "percent" if every[0].unit.startswith(PERCENT) else "linear"
        _axis(panel.yaxis, "", "log" if "y" in log else percent)
    panels[0].set_ylabel(table.axis.get("y", "score, %"))
    return _svg(figure, table.name, table.axis.get("title", table.title))


def _figure(number: int, space: float = 0.0) -> tuple[Figure, Any]:
    """A figure with panels side by side, below a title, a legend and some space."""
    height = TOP + space + PANEL + AXIS
    figure = Figure((WIDTH, height))
    figure.subplots_adjust(0.085, AXIS / height, 0.985, (PANEL + AXIS) / height, wspace=0.08)
    return figure, figure.subplots(1, number, sharey=True, squeeze=False)[0]


def _histogram(result: TableResult, histogram: Mapping[str, Mapping[int, int]]) -> Picture:
    """How often each number was observed, by series, with the compared figures as lines."""
    figure, (panel,) = _figure(1)
    for (series, counts), colour in zip(histogram.items(), cycle((RULE, THIRD, FOURTH)), strict=False):
        weights = [100 * count / sum(counts.values()) for count in counts.values()]
        look = {"color": colour, "histtype": "stepfilled" if colour == RULE else "step", "label": series}
        panel.hist([*counts], range(0, max(counts) + 2 * BIN, BIN), weights=weights, **look)
    (_, right), (_, top) = panel.get_xlim(), panel.get_ylim()
    y = top
    for each in result.verdicts[0].comparisons:
        for side, value in (("source", float(each.source.value)), ("ours", each.ours.value)):
            colour, y = SIDES[side]["color"], y - 0.08 * top
            panel.axvline(value, color=colour, linewidth=1)
            end = "right" if value > right / 2 else "left"
            panel.text(value, y, f" {side}: {each.name} {figure_text(value)} ", color=colour, ha=end)
    _axis(panel.xaxis, result.table.axis.get("x", "number"), "linear")
    _axis(panel.yaxis, f"share, % in each {BIN}", "linear")
    return _svg(figure, result.table.name, result.table.title)


def _svg(figure: Figure, name: str, title: str) -> Picture:
    """The picture of a figure, with title and legend, and without what is not needed in an SVG."""
    height = figure.get_figheight()
    figure.text(0.012, 1 - 0.08 / height, _wrapped(title, TITLE, 1), size=11, weight="bold", va="top")
    shown: dict[str, Any] = {}
    for panel in figure.axes:
        shown |= zip(*reversed(panel.get_legend_handles_labels()), strict=True)
    place = (0, 1 - 0.28 / height)
    look: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": place, "ncols": 2}
    figure.legend(shown.values(), shown.keys(), **look)
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Type", "Format")))
    svg = re.sub(r"\s*\n\s*", " ", re.sub("|".join(UNUSED), "", file.getvalue())).strip()
    svg = svg if "<g " in svg else re.sub(" ?</?g/?>", "", svg)
    style = f'style="font: 9.5px system-ui, sans-serif" role="img"> <title>{escape(title)}</title>'
    svg = svg.replace(">", f" {style}", 1).replace("> <", ">\n<") + "\n"
    return Picture(name.replace("/", "-"), svg)
