"""Verdicts: comparisons of a source's rows with our figures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cluster.lab.sources.estimate import NO, OPEN, YES, Estimate, SourceFigure
from cluster.lab.sources.measures import Measured
from cluster.lab.sources.table import Row, Table

NOT_COMPARABLE, NOT_RUN = "not comparable", "not run"
SAME, OPPOSITE = "same", "opposite"


@dataclass(frozen=True)
class Comparison:
    """The comparison of one figure."""

    name: str
    source: SourceFigure
    ours: Estimate
    agrees: str | None
    """YES, NO or OPEN; None if our figure has no interval (an extreme, for example), so that no test is
    possible."""


@dataclass(frozen=True)
class Verdict:
    """A row with its measured figures, or the reason why there are none."""

    row: Row
    measured: Measured | None = None
    failure: str = ""
    """Why the row was not run; empty if it was."""

    @property
    def comparisons(self) -> list[Comparison]:
        """Comparisons of the figures that both the source and we have."""
        if self.measured is None:
            return []
        ours = self.measured.estimates
        return [
            Comparison(
                name, figure, ours[name], figure.agreement(ours[name]) if ours[name].has_interval else None
            )
            for name, figure in self.row.figures.items()
            if name in ours
        ]

    @property
    def agreement(self) -> str:
        """YES if all figures agree, NO if one does not, otherwise OPEN; or why there is no comparison."""
        if self.measured is None:
            return NOT_RUN
        if self.row.not_comparable or not self.comparisons:
            return NOT_COMPARABLE
        told = [each.agrees for each in self.comparisons if each.agrees is not None]
        if not told:
            return NOT_COMPARABLE
        return NO if NO in told else OPEN if OPEN in told else YES

    @property
    def conclusion(self) -> str:
        """Whether the player ahead in a match is that of the source; open if our score may be 1/2."""
        figures = self.row.figures
        if self.measured is None or self.measured.score is None or not {"wins", "losses"} <= figures.keys():
            return ""
        ahead = figures["wins"].value - figures["losses"].value
        _, low, high = self.measured.score
        if ahead == 0 or low <= 0.5 <= high:
            return OPEN
        return SAME if (ahead > 0) == (low > 0.5) else OPPOSITE

    @property
    def reasons(self) -> list[str]:
        """Remarks about the row."""
        return [part for part in (self.failure, self.row.not_comparable, self.row.remark) if part]

    def to_json(self) -> dict[str, Any]:
        measured = self.measured
        return {
            "row": self.row.name,
            "agreement": self.agreement,
            "conclusion": self.conclusion or None,
            "remarks": self.reasons,
            "played": measured.what if measured else None,
            "cpu_s": round(measured.cpu_s, 3) if measured else None,
            "figures": [
                {
                    "name": each.name,
                    "source": float(each.source.value),
                    "source_number": each.source.number,
                    "ours": each.ours.value,
                    "low": _finite(each.ours.low),
                    "high": _finite(each.ours.high),
                    "unit": each.ours.unit,
                    "agrees": {YES: True, NO: False}.get(each.agrees or ""),
                    "agreement": each.agrees,
                }
                for each in self.comparisons
            ],
            "also": dict(measured.also) if measured else {},
        }


@dataclass(frozen=True)
class TableResult:
    """A table with the verdicts of its rows."""

    table: Table
    scale: str
    verdicts: tuple[Verdict, ...]

    @property
    def cpu_s(self) -> float:
        return sum(each.measured.cpu_s for each in self.verdicts if each.measured is not None)

    def count(self, agreement: str) -> int:
        """Number of rows with this agreement."""
        return sum(each.agreement == agreement for each in self.verdicts)

    def to_json(self) -> dict[str, Any]:
        return {
            "table": self.table.name,
            "title": self.table.title,
            "source": self.table.source,
            "scale": self.scale,
            "cpu_s": round(self.cpu_s, 3),
            "rows": [each.to_json() for each in self.verdicts],
        }


def figure_text(value: float, unit: str = "") -> str:
    """A figure with its significant digits."""
    if value != value or abs(value) == float("inf"):
        return "?"
    if value == int(value) and abs(value) < 1e7:
        text = f"{int(value):,}"
    elif abs(value) >= 1e7:
        text = f"{value:.4g}"
    else:
        text = f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"
    return f"{text} %" if unit.startswith("%") else text


def source_text(figure: SourceFigure, unit: str) -> str:
    """The source's figure as it prints it."""
    text = f"{figure.value:,f}" if abs(figure.value) < 10**7 else f"{float(figure.value):.6g}"
    return f"{text} %" if unit.startswith("%") else text


def ours_text(ours: Estimate) -> str:
    """Our figure as text."""
    return figure_text(ours.value, ours.unit)


def interval_text(ours: Estimate) -> str:
    """Our interval without its unit; empty without an interval."""
    if ours.is_exact:
        return "exact"
    if not ours.has_interval or abs(ours.low) == float("inf"):
        return ""
    return f"{figure_text(ours.low)} to {figure_text(ours.high)}"


def agreement_text(verdict: Verdict, figure: Comparison | None) -> str:
    """yes, no or open for a figure; without a test, the ratio ours / source."""
    if figure is None:
        return verdict.agreement
    if verdict.row.not_comparable or figure.agrees is None:
        return f"x {_ratio(figure)}" if figure.source.value else "-"
    return figure.agrees


def _ratio(figure: Comparison) -> str:
    ratio = figure.ours.value / float(figure.source.value)
    return f"{ratio:.3g}" if ratio < 1000 else f"{ratio:,.0f}"


def summary(result: TableResult) -> str:
    """A summary of the numbers of rows by agreement."""
    counted = [(name, result.count(name)) for name in (YES, NO, OPEN, NOT_COMPARABLE, NOT_RUN)]
    words = {YES: "agree", NO: "do not", OPEN: "open", NOT_COMPARABLE: "not comparable", NOT_RUN: "not run"}
    number = len(result.verdicts)
    parts = [f"{count} {words[name]}" for name, count in counted if count]
    return f"{number} row{'s' * (number != 1)}: {', '.join(parts)}"


def rows_of(result: TableResult) -> Iterator[tuple[Verdict, Comparison | None]]:
    """The lines of a report: each row with each of its figures, or with None if it has none."""
    for verdict in result.verdicts:
        comparisons: list[Comparison | None] = [*verdict.comparisons] or [None]
        for comparison in comparisons:
            yield verdict, comparison


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
