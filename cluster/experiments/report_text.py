"""A table's result on a terminal: the source's figure, ours, its interval, and whether they agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cluster import terminal
from cluster.experiments.report_words import HEADINGS, cells, name_of
from cluster.experiments.verdict import (
    NO,
    TableResult,
    Verdict,
    rows_of,
    summary,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def print_result(result: TableResult, console: Console) -> None:
    """On standard output."""
    from rich.text import Text

    table = result.table
    console.print(Text.assemble((f"{table.name}  ", "bold"), table.title), soft_wrap=True)
    if table.note:
        console.print(Text(table.note, style="dim"))
    console.print(_grid(result))
    for text in remarks(result):
        console.print(Text(text), soft_wrap=True)
    console.print(Text(f"{summary(result)}, {terminal.duration(result.cpu_s)} of CPU", style="dim"))
    console.print()


def remarks(result: TableResult) -> Iterator[str]:
    """What is to be said about rows, each once."""
    said: dict[str, list[str]] = {}
    for verdict in result.verdicts:
        for reason in verdict.reasons:
            said.setdefault(reason, []).append(verdict.row.name)
    for reason, names in said.items():
        every = len(names) == len(result.verdicts)
        yield reason if every else f"{', '.join(names)}: {reason}"


def _grid(result: TableResult) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in HEADINGS:
        grid.add_column(heading, justify="right" if heading in HEADINGS[2:5] else "left", overflow="fold")
    before: Verdict | None = None
    for verdict, figure in rows_of(result):
        name = name_of(verdict) if verdict is not before else ""
        before = verdict
        *values, agreement = cells(verdict, figure)
        grid.add_row(name, *values, Text(agreement, style="yellow" if agreement == NO else ""))
    return grid
