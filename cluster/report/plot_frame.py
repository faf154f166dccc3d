"""The common frame of plots: a title (a sentence), details, a legend, and a line about the machine.

matplotlib, which takes a second to import, is imported when the first figure is made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from cluster.report.machine import provenance
from cluster.system.files import replacing

COLOURS = {"root": "#0072b2", "tree": "#009e73", "leaf": "#d55e00"}
"""Colours of the strategies, here and on the page: of Okabe and Ito (2008), for colour-blind readers, with a
contrast of at least 3 to white and to black. Prints in shades of grey need the markers."""
COLUMN, TALL = 3.4, 4.4
"""Inches: the width of a column of a paper, and the height of a figure of two panels in it."""
FOOT_IN = 0.22
"""Height of the line at the foot, in inches; half of it lies between panels and legend."""
SIZE, SMALL, FINE = 10.0, 8.0, 7.0
"""Size of the title, of texts and axes, and of legend and foot, in points."""
LETTER, LINE = 0.56, 1.3
"""Width of a letter and height of a line, as multiples of the size."""
WARNING = "#a01010"
DPI = 200
APART = 8
"""Least distance between the labels of two ticks, in pixels."""
GREY = "#666666"
"""The colour of what is no measurement: ideals and ceilings."""
MARKERS = "osD^vP*X"
Figure = tuple[float, float, float]
"""A value with the ends of its interval."""


def game_name(spec: str) -> str:
    """The short name of a game: gomoku for gomoku:size=15, slow for ./slow.py:wait_ms=20."""
    return Path(spec.partition(":")[0]).stem


def new_figure(width: float, height: float) -> Any:
    """An empty figure of this size in inches."""
    from matplotlib.figure import Figure as Drawing

    return Drawing((width, height), DPI, layout="constrained")


def dress(panel: Any, across: str = "", up: str = "", doublings: Sequence[float] = ()) -> None:
    """Give a panel labels and a grid; with ``doublings`` an axis to the base 2 across, with these ticks."""
    panel.set_xlabel(across, fontsize=SMALL)
    panel.set_ylabel(up, fontsize=SMALL)
    if doublings:
        panel.set_xscale("log", base=2)
        panel.set_xticks(doublings, [_short(tick) for tick in doublings])
        panel.minorticks_off()
    panel.tick_params(labelsize=SMALL)
    panel.grid(color="#eeeeee")
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def lengths(figures: Sequence[Figure]) -> list[list[float]]:
    """How far the intervals of figures reach below and above them; 0 for an end that is not finite."""
    ends = [[value - low, high - value] for value, low, high in figures]
    return [[max(0.0, pair[side]) if math.isfinite(pair[side]) else 0.0 for pair in ends] for side in (0, 1)]


def points(panel: Any, places: Sequence[float], figures: Sequence[Figure], **look: Any) -> None:
    """Draw figures with their intervals; an end that is not finite is not drawn, nor are intervals of single
    runs."""
    below, above = lengths(figures)
    values = [value for value, *_ in figures]
    ranges = [below, above] if any(below + above) else None
    panel.errorbar(places, values, yerr=ranges, **({"capsize": 3, "elinewidth": 1.2} | look))


def look(strategy: str, among: Iterable[str] = ()) -> dict[str, str]:
    """Colour and marker of a strategy; the marker is another for each of ``among``."""
    place = [*dict.fromkeys([*COLOURS, *among, strategy])].index(strategy)
    return {"color": COLOURS.get(strategy, "#555555"), "marker": MARKERS[place % len(MARKERS)]}


def label_rates(axis: Any) -> None:
    """Label all ticks of an axis in the same unit: millions, thousands, or ones."""

    def text(value: float, _: int) -> str:
        low, high = axis.get_view_interval()
        decisive = 10 * low if axis.get_scale() == "log" else high
        size, sign = next((unit for unit in ((1e6, " M"), (1e3, " k")) if decisive >= unit[0]), (1, ""))
        return f"{value / size:,.7g}{sign if value else ''}"

    axis.set_major_formatter(text)


def _short(number: float) -> str:
    """A short label for a number, such as "320 k"."""
    return f"{number / 1000:,.0f} k" if number >= 10_000 and number % 1000 == 0 else f"{number:,g}"


def save(
    figure: Any,
    path: Path,
    title: str,
    details: str,
    where: str | None = None,
    columns: int = 4,
    warnings: Sequence[str] = (),
    about: str = "",
) -> None:
    """Write a figure after `complete`. In an SVG all letters are outlines: it needs no fonts.

    ``about``: what the file says of the figure in addition to its details.
    """
    from matplotlib import rc_context

    complete(figure, title, details, where or provenance(), columns, warnings)
    with rc_context({"svg.hashsalt": "banyan"}), replacing(path) as beside:
        texts = {"Title": title, "Description": f"{about}; {details}".removeprefix("; ")}
        dated = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(beside, metadata=texts | dated)


def complete(
    figure: Any, title: str, details: str, where: str, columns: int = 4, warnings: Sequence[str] = ()
) -> None:
    """Add title, details, warnings, one legend for all panels and the foot.

    ``title``: a sentence for readers; ``details``: a line with the settings of the measurement; ``where``:
    machine and date of the figures; ``columns``: number of legend columns; ``warnings``: reasons to doubt the
    figures.
    """
    width, height = figure.get_size_inches()
    height += len(warnings) * LINE * SMALL / 72
    figure.set_size_inches(width, height)
    top = 1 - SMALL / 72 / height
    texts = [(title, SIZE, "black"), (details, SMALL, "black")]
    for text, size, colour in texts + [(f"Warning: {line}", SMALL, WARNING) for line in warnings]:
        lines = fill(text, int(72 * width / (LETTER * size)))
        figure.text(0.5, top, lines, fontsize=size, color=colour, ha="center", va="top")
        top -= LINE * size * (1 + lines.count("\n")) / 72 / height
    handles: dict[str, Any] = {}
    for panel in figure.axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    # Strategies first.
    labels = sorted(handles, key=lambda label: label.partition(",")[0] not in COLOURS)
    foot = FOOT_IN / height
    legend = figure.legend(
        [handles[label] for label in labels],
        labels,
        loc="lower center",
        bbox_to_anchor=(0.5, foot),
        ncols=columns,
        fontsize=FINE,
        frameon=False,
    )
    legend.set_in_layout(False)
    figure.text(0.01, 0.05 / height, where, fontsize=FINE - 1, color="#666666")
    # Panels use the space that texts, legend and foot leave.
    bottom = 1.5 * foot + legend.get_window_extent().height / figure.bbox.height
    figure.get_layout_engine().set(rect=(0, bottom, 1, top - bottom))
    figure.draw_without_rendering()
    for panel in figure.axes:
        _thin(panel)


def _thin(panel: Any) -> None:
    """Hide the label of each given tick across that would overlap the next one that is shown.

    All labels count as wide as the widest, so that of doublings every second or every third is shown.
    """
    from matplotlib.ticker import FixedLocator

    if not isinstance(panel.xaxis.get_major_locator(), FixedLocator):
        return
    shown = [(label, label.get_window_extent()) for label in panel.get_xticklabels() if label.get_visible()]
    apart = APART + max((place.width for _, place in shown), default=0)
    last = math.inf
    for label, place in sorted(shown, key=lambda each: -each[1].x0):
        centre = (place.x0 + place.x1) / 2
        if last - centre < apart:
            label.set_visible(False)
        else:
            last = centre
