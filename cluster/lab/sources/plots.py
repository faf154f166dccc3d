"""The plot of a table for an HTML page: the source's figures and ours with intervals, as one SVG.

Colours are CSS variables of the page, so that they follow its light or dark theme.
"""

from __future__ import annotations

import io
import math
import re
from html import escape
from typing import Any

import matplotlib as mpl

from cluster.lab.sources.verdict import Comparison, TableResult

mpl.use("Agg")
from matplotlib import pyplot as plt

INK, RULE, OURS, SOURCE = "#010203", "#040506", "#070809", "#0a0b0c"
VARIABLES = {INK: "var(--ink)", RULE: "var(--rule)", OURS: "var(--ours)", SOURCE: "var(--source)"}
"""Placeholder colours, and the CSS variables that replace them in the SVG."""
MOST_PANELS = 3
WIDE = 50.0
"""Ratio of the largest to the smallest figure above which the scale is logarithmic."""


def picture(result: TableResult) -> str:
    """The SVG with a panel for each figure and a line for each row; empty if there is nothing to show."""
    names = list(dict.fromkeys(each.name for v in result.verdicts for each in v.comparisons))[:MOST_PANELS]
    verdicts = [verdict for verdict in result.verdicts if verdict.comparisons]
    if not names or (len(verdicts) == 1 and len(names) == 1 and verdicts[0].comparisons[0].ours.is_exact):
        return ""
    height = 0.75 + 0.42 * len(verdicts)
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": result.table.name,
        "font.size": 9,
        "text.color": INK,
        "axes.edgecolor": RULE,
        "axes.labelcolor": INK,
        "xtick.color": RULE,
        "ytick.color": RULE,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
    }
    with mpl.rc_context(settings):
        figure, panels = plt.subplots(
            1, len(names), figsize=(9.5, height), sharey=True, squeeze=False, layout="constrained"
        )
        figure.patch.set_alpha(0)
        for panel, name in zip(panels[0], names, strict=True):
            shown = [
                (y, each)
                for y, verdict in enumerate(verdicts)
                for each in verdict.comparisons
                if each.name == name
            ]
            _panel(panel, name, shown)
        panels[0][0].set_yticks(range(len(verdicts)), [_short(verdict.row.name) for verdict in verdicts])
        panels[0][0].set_ylim(len(verdicts) - 0.4, -0.6)
        file = io.StringIO()
        figure.savefig(
            file, format="svg", metadata={"Date": None, "Creator": None, "Type": None, "Format": None}
        )
        plt.close(figure)
    return _embedded(file.getvalue(), f"{result.table.name}: {result.table.title}")


def _panel(panel: Any, name: str, shown: list[tuple[int, Comparison]]) -> None:
    panel.patch.set_alpha(0)
    panel.set_title(name, fontsize=9)
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.tick_params(axis="y", length=0)
    panel.grid(axis="x", color=RULE, linewidth=0.5)
    panel.set_axisbelow(True)
    values: list[float] = []
    for y, each in shown:
        source = float(each.source.value)
        low, high = each.source.interval(each.ours)
        panel.plot([low, high], [y - 0.13] * 2, color=SOURCE, linewidth=1.5)
        panel.plot([source], [y - 0.13], "D", color=SOURCE, markersize=5, fillstyle="none")
        ours = each.ours
        if math.isfinite(ours.low) and math.isfinite(ours.high):
            panel.plot([ours.low, ours.high], [y + 0.13] * 2, color=OURS, linewidth=1.5)
        panel.plot([ours.value], [y + 0.13], "o", color=OURS, markersize=5)
        values += [source, ours.value]
    if all(each.ours.unit == "%" for _, each in shown):
        panel.set_xlim(-4, 104)
        panel.set_xticks(range(0, 101, 50), [f"{tick} %" for tick in range(0, 101, 50)])
        panel.set_xticks(range(25, 101, 50), minor=True)
        panel.grid(axis="x", which="minor", color=RULE, linewidth=0.5)
    elif values and min(values) > 0 and max(values) > WIDE * min(values):
        panel.set_xscale("log")


def _short(name: str) -> str:
    return name if len(name) <= 42 else name[:40].rstrip() + " …"


def _embedded(svg: str, title: str) -> str:
    """The SVG element with the page's colours and font, and with ids that are unique on the page."""
    svg = svg[svg.index("<svg") :]
    used = set(re.findall(r"url\(#([^)]+)\)|href=\"#([^\"]+)\"", svg))
    kept = {name for pair in used for name in pair if name}
    svg = re.sub(r' id="([^"]+)"', lambda found: found[0] if found[1] in kept else "", svg)
    for stand_in, variable in VARIABLES.items():
        svg = svg.replace(stand_in, variable)
    svg = re.sub(r"font: ([0-9.]+)px [^;\"]*", r"font-size: \1px; font-family: inherit", svg)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    label = f'role="img" aria-label="{escape(title)}"'
    return re.sub(r'(<svg[^>]*?) width="[^"]*"', lambda found: f"{found[1]} {label}", svg, count=1)
