"""One row of a table beside ours, and what to make of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cluster.experiments.estimate import Estimate, SourceFigure
from cluster.experiments.measures import Measured
from cluster.experiments.table import Row, Table

YES, NO, NOT_COMPARABLE, NOT_RUN = "yes", "no", "not comparable", "not run"
SAME, OPPOSITE, OPEN = "same", "opposite", "open"


@dataclass(frozen=True)
class Comparison:
    """One figure."""

    name: str
    source: SourceFigure
    ours: Estimate
    agrees: bool | None
    """None where ours has no interval, such as an extreme: then nothing can be said."""


@dataclass(frozen=True)
class Verdict:
    """A row with what was measured, or why nothing was."""

    row: Row
    measured: Measured | None = None
    failure: str = ""
    """Why it was not run."""

    @property
    def comparisons(self) -> list[Comparison]:
        """The source's figures that we have too."""
        if self.measured is None:
            return []
        ours = self.measured.estimates
        return [
            Comparison(
                name, figure, ours[name], figure.agrees(ours[name]) if ours[name].has_interval else None
            )
            for name, figure in self.row.figures.items()
            if name in ours
        ]

    @property
    def agreement(self) -> str:
        """Whether all figures agree."""
        if self.measured is None:
            return NOT_RUN
        if self.row.not_comparable or not self.comparisons:
            return NOT_COMPARABLE
        told = [each.agrees for each in self.comparisons if each.agrees is not None]
        if not told:
            return NOT_COMPARABLE
        return YES if all(told) else NO

    @property
    def conclusion(self) -> str:
        """Of a match: whether the same player is ahead as in the source; open if ours could be level."""
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
        """What is to be said about the row."""
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
                    "agrees": each.agrees,
                }
                for each in self.comparisons
            ],
            "also": dict(measured.also) if measured else {},
        }


@dataclass(frozen=True)
class TableResult:
    """A table, measured."""

    table: Table
    scale: str
    verdicts: tuple[Verdict, ...]

    @property
    def cpu_s(self) -> float:
        return sum(each.measured.cpu_s for each in self.verdicts if each.measured is not None)

    def count(self, agreement: str) -> int:
        """How many rows came out so."""
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
    """A figure with the digits that matter."""
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
    """As the source prints it."""
    text = f"{figure.value:,f}" if abs(figure.value) < 10**7 else f"{float(figure.value):.6g}"
    return f"{text} %" if unit.startswith("%") else text


def ours_text(ours: Estimate) -> str:
    """Our figure."""
    return figure_text(ours.value, ours.unit)


def interval_text(ours: Estimate) -> str:
    """The interval, without its unit; nothing where there is none."""
    if ours.is_exact:
        return "exact"
    if not ours.has_interval or abs(ours.low) == float("inf"):
        return ""
    return f"{figure_text(ours.low)} to {figure_text(ours.high)}"


def agreement_text(verdict: Verdict, figure: Comparison | None) -> str:
    """yes or no for a figure; where the two cannot agree, how many times the source's ours is."""
    if figure is None:
        return verdict.agreement
    if verdict.row.not_comparable or figure.agrees is None:
        return f"x {_ratio(figure)}" if figure.source.value else "-"
    return YES if figure.agrees else NO


def _ratio(figure: Comparison) -> str:
    ratio = figure.ours.value / float(figure.source.value)
    return f"{ratio:.3g}" if ratio < 1000 else f"{ratio:,.0f}"


def summary(result: TableResult) -> str:
    """How many rows came out how."""
    counted = [(name, result.count(name)) for name in (YES, NO, NOT_COMPARABLE, NOT_RUN)]
    words = {YES: "agree", NO: "do not", NOT_COMPARABLE: "not comparable", NOT_RUN: "not run"}
    number = len(result.verdicts)
    parts = [f"{count} {words[name]}" for name, count in counted if count]
    return f"{number} row{'s' * (number != 1)}: {', '.join(parts)}"


def rows_of(result: TableResult) -> Iterator[tuple[Verdict, Comparison | None]]:
    """Every line that a report has: the figures of each row, or the row alone."""
    for verdict in result.verdicts:
        comparisons: list[Comparison | None] = [*verdict.comparisons] or [None]
        for comparison in comparisons:
            yield verdict, comparison


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
