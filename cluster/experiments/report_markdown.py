"""The report as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cluster import terminal
from cluster.experiments import report_words as words
from cluster.experiments.report_text import remarks
from cluster.experiments.verdict import NO, YES, TableResult, Verdict, rows_of, summary


def render(results: Sequence[TableResult], scale: str, everything: bool) -> str:
    """All tables, after what they mean and a summary."""
    return "\n".join(_lines(results, scale, everything)) + "\n"


def _lines(results: Sequence[TableResult], scale: str, everything: bool) -> Iterator[str]:
    yield f"# {words.TITLE}\n"
    made = words.command(results, scale, everything)
    yield f"Made by `{made} --report RESULTS.md`; {words.of_scale(scale)}\n"
    yield f"{words.totals(results)}\n"
    yield f"Measured on {words.machine()}; {words.effort(results)} of CPU time in all.\n"
    for text in words.how():
        yield f"{text}\n"
    yield "| table | what it measures | rows | agree | do not | CPU |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for result in results:
        name = result.table.name
        yield (
            f"| [{name}](#{_anchor(result)}) | {_cell(result.table.title)} | {len(result.verdicts)} "
            f"| {result.count(YES)} | {result.count(NO)} | {terminal.duration(result.cpu_s)} |"
        )
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
    yield f"| {' | '.join(words.HEADINGS)} |"
    yield "| --- | --- | ---: | ---: | ---: | --- |"
    before: Verdict | None = None
    for verdict, figure in rows_of(result):
        name = words.name_of(verdict) if verdict is not before else ""
        before = verdict
        values = list(words.cells(verdict, figure))
        if values[-1] == NO:
            values[-1] = f"**{NO}**"
        yield "| " + " | ".join(_cell(text) for text in (name, *values)) + " |"
    yield f"\n{summary(result)}; {terminal.duration(result.cpu_s)} of CPU."
    for text in remarks(result):
        yield f"\n- {text}"


def _heading(result: TableResult) -> str:
    return f"{result.table.name} {result.table.title}"


def _anchor(result: TableResult) -> str:
    """As GitHub makes them."""
    kept = "".join(c for c in _heading(result).lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
