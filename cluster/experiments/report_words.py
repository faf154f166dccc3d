"""What both reports say beside their tables."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from cluster import terminal
from cluster.experiments.verdict import (
    NO,
    NOT_COMPARABLE,
    NOT_RUN,
    OPEN,
    OPPOSITE,
    SAME,
    YES,
    Comparison,
    TableResult,
    Verdict,
    agreement_text,
    interval_text,
    ours_text,
    source_text,
)

TITLE = "The sources' tables, measured again"
HEADINGS = ("row", "figure", "source", "ours", "95 % interval", "agree")
AHEAD = {SAME: "the same player ahead", OPPOSITE: "the other player ahead", OPEN: "open who is ahead"}
HOW = (
    """Two figures agree if their difference could be chance: if it is no larger than the errors of both
    together, at 95 % confidence. Our error is the interval that is shown (Wilson's for shares, Student's
    for means). The source's is that of its own number of games, where it says how many, by the same
    formulas, and half a unit of the last digit that it prints. The errors are added as squares (for shares:
    Newcombe 1998, method 10). A row agrees if each of its figures does.""",
    """Few games make wide intervals, and much agrees with a wide interval: the number of games stands beside
    each row, and "agree" says that nothing was found against the source's figure, not that it was
    confirmed. Times and rates of another machine cannot agree; for those, and for extremes, the ratio ours /
    source is given. For matches there is also who is ahead: the same player as in the source, the other,
    or open, if the interval of our score holds one half.""",
)
SCALES = {
    "quick": """quick: few games, and budgets of a move that are the sources' own in simulations, where they
    say what those were. Budgets in simulations give the same games on every machine.""",
    "paper": "paper: as many games and as much time a move as in the sources, on this machine.",
    "smoke": "smoke: next to nothing, to see that everything runs; the figures mean nothing.",
}


def how() -> list[str]:
    """When two figures agree, in paragraphs."""
    return [" ".join(text.split()) for text in HOW]


def of_scale(scale: str) -> str:
    """What a scale is."""
    return " ".join(SCALES[scale].split())


def command(results: Sequence[TableResult], scale: str, everything: bool) -> str:
    """What makes the report again."""
    what = "all" if everything else " ".join(result.table.name for result in results)
    return f"banyan experiment {what} --scale {scale}"


def machine() -> str:
    """What it was measured on."""
    return f"{_processor()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def totals(results: Sequence[TableResult]) -> str:
    """One sentence on all rows."""
    counts = Counter(verdict.agreement for result in results for verdict in result.verdicts)
    ahead = Counter(verdict.conclusion for result in results for verdict in result.verdicts)
    parts = [
        f"{sum(counts.values())} rows of {len(results)} tables: {counts[YES]} agree, {counts[NO]} do not"
    ]
    if counts[NOT_COMPARABLE]:
        parts.append(f"{counts[NOT_COMPARABLE]} cannot be compared")
    if counts[NOT_RUN]:
        parts.append(f"{counts[NOT_RUN]} were not run")
    text = ", ".join(parts) + "."
    if ahead[SAME] + ahead[OPPOSITE] + ahead[OPEN]:
        text += (
            f" Where two players are compared, the same one is ahead as in the source {ahead[SAME]} times, "
            f"the other one {ahead[OPPOSITE]} times, and it is open {ahead[OPEN]} times."
        )
    return text


def effort(results: Sequence[TableResult]) -> str:
    """CPU time of all that was run."""
    return terminal.duration(sum(result.cpu_s for result in results))


def name_of(verdict: Verdict) -> str:
    """A row's name with how much was played, and who is ahead."""
    measured = verdict.measured
    if measured is None:
        return verdict.row.name
    parts = [measured.what] if measured.what != "counted" else []
    if verdict.conclusion:
        parts.append(AHEAD[verdict.conclusion])
    return f"{verdict.row.name} ({'; '.join(parts)})" if parts else verdict.row.name


def cells(verdict: Verdict, figure: Comparison | None) -> tuple[str, str, str, str, str]:
    """A line of a table, but for the row's name."""
    if figure is None:
        return "", "", "", "", agreement_text(verdict, figure)
    return (
        figure.name,
        source_text(figure.source, figure.ours.unit),
        ours_text(figure.ours),
        interval_text(figure.ours),
        agreement_text(verdict, figure),
    )
