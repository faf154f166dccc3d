"""The common frame of plots: a title (a sentence), details, a legend, and a line about the machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.patheffects import withStroke

from cluster.report.machine import provenance

mpl.use("Agg")
from matplotlib import pyplot as plt

COLOURS = {"root": "#1b6e9c", "tree": "#2c8c4a", "leaf": "#c26a1b", "subtree": "#8a4fa3"}
"""Colours of the strategies."""
FOOT_IN = 0.22
"""Height of the line at the foot, in inches; half of it lies between panels and legend."""
WIDE = 160
"""Number of letters of the title's size that fit in a figure 14 inches wide."""
SIZE = 11.0
MANY_TICKS = 7
"""Number of ticks above which their labels are turned."""
MARKERS = "osD^vP*X"
Figure = tuple[float, float, float]
"""A value with the ends of its interval."""
CLEAR = (withStroke(linewidth=3, foreground="white"),)
"""Path effects for text inside a panel: a white outline that separates it from lines below."""


def game_name(spec: str) -> str:
    """The short name of a game: gomoku for gomoku:size=15, slow for ./slow.py:wait_ms=20."""
    return Path(spec.partition(":")[0]).stem


def span(numbers: Sequence[int], noun: str) -> str:
    """A range of numbers with a noun, such as "1 to 8 workers"."""
    least, most = min(numbers), max(numbers)
    which = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    return f"{which} {noun}{'s' * (most != 1)}"


def dress(panel: Any, across: str = "", up: str = "", doublings: Sequence[float] = ()) -> None:
    """Give a panel labels and a grid; with ``doublings`` an axis to the base 2 across, with these ticks."""
    panel.set_xlabel(across)
    panel.set_ylabel(up)
    if doublings:
        panel.set_xscale("log", base=2)
        panel.set_xticks(doublings, [_short(tick) for tick in doublings])
        panel.tick_params(axis="x", labelrotation=30 if len(doublings) > MANY_TICKS else 0)
        panel.minorticks_off()
    panel.grid(color="#eeeeee")
    panel.spines[["top", "right"]].set_visible(False)


def points(panel: Any, places: Sequence[float], figures: Sequence[Figure], **look: Any) -> None:
    """Draw figures with their intervals; an end that is not finite is not drawn."""
    ends = [[value - low, high - value] for value, low, high in figures]
    below, above = (
        [max(0.0, pair[side]) if math.isfinite(pair[side]) else 0.0 for pair in ends] for side in (0, 1)
    )
    values = [value for value, *_ in figures]
    panel.errorbar(places, values, yerr=[below, above], **({"capsize": 3} | look))


def _short(number: float) -> str:
    """A short label for a number, such as "320 k"."""
    return f"{number / 1000:,.0f} k" if number >= 10_000 and number % 1000 == 0 else f"{number:,g}"


def save(
    figure: Any, path: Path, title: str, details: str, where: str | None = None, columns: int = 4
) -> None:
    """Add title, details, one legend for all panels and the foot; write the figure and close it.

    ``title``: a sentence for readers; ``details``: a line with the settings of the measurement; ``where``:
    machine and date of the figures (None: this machine, today); ``columns``: number of legend columns.
    """
    width, height = figure.get_size_inches()
    handles: dict[str, Any] = {}
    for panel in figure.axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    foot = FOOT_IN / height
    legend = figure.legend(
        handles.values(),
        handles.keys(),
        loc="lower center",
        bbox_to_anchor=(0.5, foot),
        ncols=columns,
        fontsize=8,
        frameon=False,
    )
    legend.set_in_layout(False)
    letters = max(len(title), len(details))
    figure.suptitle(f"{title}\n{details}", fontsize=min(SIZE, SIZE * WIDE / letters * width / 14))
    figure.text(0.01, 0.05 / height, where or provenance(), fontsize=7, color="#666666")
    # Panels use the space that legend and foot leave.
    bottom = 1.5 * foot + legend.get_window_extent(figure.canvas.get_renderer()).height / figure.bbox.height
    figure.get_layout_engine().set(rect=(0, bottom, 1, 1 - bottom))
    with plt.rc_context({"svg.hashsalt": "banyan"}):
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
