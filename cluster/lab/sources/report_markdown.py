"""The report as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from cluster.lab.sources import report_words as words
from cluster.lab.sources.verdict import TableResult, summary
from cluster.report.machine import machine
from cluster.report.table import markdown
from cluster.system import terminal

PAGE = "cluster/lab/sources/RESULTS.md"
"""Path of the report in the repository; CONCLUSIONS.md has the conclusions."""


def render(results: Sequence[TableResult], scale: str, everything: bool) -> str:
    """The Markdown text: explanation, summary, and all tables."""
    return "\n".join(_lines(results, scale, everything)) + "\n"


def _lines(results: Sequence[TableResult], scale: str, everything: bool) -> Iterator[str]:
    yield f"# {words.TITLE}\n"
    made = words.command(results, scale, everything)
    yield f"Made on {date.today()} by `{made} --report {PAGE}`; {words.of_scale(scale)}\n"
    yield f"{words.totals(results)}\n"
    yield f"Measured on {machine()}; {words.effort(results)} of CPU time in all.\n"
    for text in words.how():
        yield f"{text}\n"
    yield from markdown(words.contents(results, _anchor))
    source = ""
    for result in results:
        if result.table.source != source:
            source = result.table.source
            yield f"\n## {source}"
        yield from _table(result)


def _table(result: TableResult) -> Iterator[str]:
    yield f"\n### {_heading(result)}\n"
    if result.table.note:
        yield f"{result.table.note}\n"
    yield from markdown(words.figures(result))
    yield f"\n{summary(result)}; {terminal.duration(result.cpu_s)} of CPU."
    for text in words.remarks(result):
        yield f"\n- {text}"


def _heading(result: TableResult) -> str:
    return f"{result.table.name} {result.table.title}"


def _anchor(result: TableResult) -> str:
    """The anchor that GitHub makes of a table's heading."""
    kept = "".join(c for c in _heading(result).lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")
