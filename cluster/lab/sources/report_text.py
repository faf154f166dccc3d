"""A table's result on a terminal: the source's figure, ours, its interval, and whether they agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cluster.lab.sources.report_words import figures, remarks
from cluster.lab.sources.verdict import TableResult, summary
from cluster.system.terminal import duration

if TYPE_CHECKING:
    from rich.console import Console


def print_result(result: TableResult, console: Console) -> None:
    """Print a table's note, the table, remarks and a summary."""
    from rich.text import Text

    table = result.table
    console.print(Text.assemble((f"{table.name}  ", "bold"), table.title), soft_wrap=True)
    if table.note:
        console.print(Text(table.note, style="dim"))
    console.print(figures(result))
    for text in remarks(result):
        console.print(Text(text), soft_wrap=True)
    console.print(Text(f"{summary(result)}, {duration(result.cpu_s)} of CPU", style="dim"))
    console.print()
