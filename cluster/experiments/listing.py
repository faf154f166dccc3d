"""The list of tables: what there is, and how much of it has been run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cluster import terminal
from cluster.experiments.laboratory import Laboratory
from cluster.experiments.store import Store
from cluster.experiments.table import load, names
from cluster.launch import Output

SCALES = ("quick", "paper")


def print_list(out: Path, seed: int, output: Output) -> None:
    """On standard output."""
    rows = listing(out, seed)
    if output.json:
        terminal.print_json(rows)
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("table", "what it measures", *SCALES):
        table.add_column(heading, overflow="fold", justify="right" if heading in SCALES else "left")
    source = ""
    for row in rows:
        if row["source"] != source:
            source = row["source"]
            table.add_row("", f"[dim]{source}[/dim]")
        done = [f"{row[scale]['done']:,} of {row[scale]['units']:,}" for scale in SCALES]
        table.add_row(f"[bold]{row['table']}[/bold]", row["title"], *done)
    console = terminal.stdout_console(output.colour)
    console.print(table)
    console.print(
        f"Games and counts that are done, in {out}. banyan experiment TABLE --scale quick runs the others.",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def listing(out: Path, seed: int) -> list[dict[str, Any]]:
    """All tables, with what a folder has of them."""
    store = Store(out)
    laboratories = {scale: Laboratory(map(load, names()), scale, seed) for scale in SCALES}
    kept = {scale: laboratory.keep_from(store) for scale, laboratory in laboratories.items()}
    rows = []
    for table in laboratories["quick"].tables:
        row: dict[str, Any] = {"table": table.name, "title": table.title, "source": table.source}
        for scale in SCALES:
            done, units = laboratories[scale].units(table.name, kept[scale])
            row[scale] = {"done": done, "units": units}
        rows.append(row)
    return rows
