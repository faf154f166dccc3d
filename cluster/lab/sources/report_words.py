"""Texts and tables that all reports of experiments share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from cluster.lab.sources.estimate import MARGIN, MARGIN_POINTS, NO, OPEN, YES
from cluster.lab.sources.verdict import (
    NOT_COMPARABLE,
    NOT_RUN,
    OPPOSITE,
    SAME,
    TableResult,
    Verdict,
    agreement_text,
    interval_text,
    ours_text,
    rows_of,
    source_text,
    summary,
)
from cluster.report.table import Table, count, duration, left, right, text, verdict
from cluster.system import terminal
from games.errors import counted

if TYPE_CHECKING:
    from rich.console import Console

TITLE = "The sources' tables, measured again"
AHEAD = {SAME: "the same player ahead", OPPOSITE: "the other player ahead", OPEN: "open who is ahead"}
HOW = (
    f"""Two figures agree if the 95 % interval of their difference contains zero and stays within
    {MARGIN_POINTS:g} points (figures in percent) or {MARGIN:.0%} of the source's figure (others): a test of
    equivalence. They do not agree if it does not contain zero: chance alone then explains the difference
    poorly. Otherwise the result is "open": the interval is too wide, for example because few games were
    played. Our error is the interval that is shown (Wilson's for shares, Student's for means). The source's
    error is computed by the same formulas from its number of games, if it states one, and from half a unit of
    the last digit that it prints. The errors are added as squares (for shares: Newcombe 1998, method 10). A
    row agrees if all its figures agree, and does not agree if one figure does not.""",
    """The number of games is given with each row. Times and rates of another machine cannot agree; for them,
    and for extremes, the ratio ours / source is given. For matches the report also says who is ahead: the
    same player as in the source, the other one, or open, if the interval of our score contains one half.""",
)
SCALES = {
    "quick": """quick: few games; the budget of a move is the source's own in simulations, if it states one.
    Budgets in simulations give the same games on every machine.""",
    "full": "full: as many games, and as much time for a move, as in the sources, on this machine.",
    "smoke": "smoke: minimal budgets, to check that everything runs; the figures mean nothing.",
}


def how() -> list[str]:
    """Paragraphs that explain when two figures agree."""
    return [" ".join(text.split()) for text in HOW]


def of_scale(scale: str) -> str:
    """A sentence that explains a scale."""
    return " ".join(SCALES[scale].split())


def command(results: Sequence[TableResult], scale: str, everything: bool) -> str:
    """The command that makes this report."""
    what = "all" if everything else " ".join(result.table.name for result in results)
    return f"banyan experiment {what} --scale {scale}"


def totals(results: Sequence[TableResult]) -> str:
    """A sentence about the verdicts of all rows."""
    counts = Counter(verdict.agreement for result in results for verdict in result.verdicts)
    ahead = Counter(verdict.conclusion for result in results for verdict in result.verdicts)
    number = f"{counted(sum(counts.values()), 'row')} of {counted(len(results), 'table')}"
    parts = [f"{number}: {counts[YES]} agree, {counts[NO]} do not, {counts[OPEN]} are open"]
    if counts[NOT_COMPARABLE]:
        parts.append(f"{counts[NOT_COMPARABLE]} cannot be compared")
    if counts[NOT_RUN]:
        parts.append(f"{counts[NOT_RUN]} were not run")
    said = ", ".join(parts) + "."
    if ahead[SAME] + ahead[OPPOSITE] + ahead[OPEN]:
        said += (
            " Where two players are compared, the same one is ahead as in the source "
            f"{counted(ahead[SAME], 'time')}, the other one {counted(ahead[OPPOSITE], 'time')}, "
            f"and it is open {counted(ahead[OPEN], 'time')}."
        )
    return said


def effort(results: Sequence[TableResult]) -> str:
    """CPU time of all tables, as text."""
    return terminal.duration(sum(result.cpu_s for result in results))


def figures(result: TableResult) -> Table:
    """A table with a line for each figure of each row: source, ours, interval, agreement."""
    found = Table([*left("row", "figure"), *right("source", "ours", "95 % interval"), *left("agree")])
    before: Verdict | None = None
    for each, figure in rows_of(result):
        name = text(name_of(each) if each is not before else "")
        before = each
        agreement = agreement_text(each, figure)
        good = {YES: True, NO: False}.get(agreement)
        if figure is None:
            found.add(name, "", "", "", "", verdict(agreement, good))
            continue
        ours = figure.ours
        found.add(
            name,
            figure.name,
            text(source_text(figure.source, ours.unit)),
            text(ours_text(ours)),
            text(interval_text(ours)),
            verdict(agreement, good),
        )
    return found


def contents(results: Sequence[TableResult], anchor: Callable[[TableResult], str]) -> Table:
    """A table of contents with verdict counts; ``anchor`` returns the anchor of a table's section."""
    headings = ("rows", "agree", "do not", "open", "CPU")
    found = Table([*left("table", "what it measures"), *right(*headings)])
    for result in results:
        found.add(
            text(result.table.name, link=anchor(result)),
            result.table.title,
            count(len(result.verdicts)),
            *(count(result.count(agreement)) for agreement in (YES, NO, OPEN)),
            duration(result.cpu_s),
        )
    return found


def remarks(result: TableResult) -> Iterator[str]:
    """Remarks about rows, without duplicates."""
    said: dict[str, list[str]] = {}
    for each in result.verdicts:
        for reason in each.reasons:
            said.setdefault(reason, []).append(each.row.name)
    for reason, names in said.items():
        every = len(names) == len(result.verdicts)
        yield reason if every else f"{', '.join(names)}: {reason}"


def name_of(verdict: Verdict) -> str:
    """A row's name with the amount of play, and who is ahead."""
    measured = verdict.measured
    if measured is None:
        return verdict.row.name
    parts = [measured.what] if measured.what != "counted" else []
    if verdict.conclusion:
        parts.append(AHEAD[verdict.conclusion])
    return f"{verdict.row.name} ({'; '.join(parts)})" if parts else verdict.row.name


def print_result(result: TableResult, console: Console) -> None:
    """Print a table on a terminal: its note, the figures, remarks and a summary."""
    from rich.text import Text

    table = result.table
    console.print(Text.assemble((f"{table.name}  ", "bold"), table.title), soft_wrap=True)
    if table.note:
        console.print(Text(table.note, style="dim"))
    console.print(figures(result))
    for remark in remarks(result):
        console.print(Text(remark), soft_wrap=True)
    console.print(Text(f"{summary(result)}, {terminal.duration(result.cpu_s)} of CPU", style="dim"))
    console.print()
