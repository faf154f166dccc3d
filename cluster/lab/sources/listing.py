"""The list of tables, with the number of units that are done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cluster.lab.sources.laboratory import Laboratory
from cluster.lab.sources.store import Store
from cluster.lab.sources.table import load, names
from cluster.launch import Output
from cluster.report.table import Table, left, right, text
from cluster.system import terminal

SCALES = ("quick", "full")


def print_list(out: Path, seed: int, output: Output) -> None:
    """Print all tables with their numbers of done units, as a table or JSON."""
    rows = listing(out, seed)
    if output.json:
        terminal.print_json(rows)
        return
    table = Table([*left("table", "what it measures"), *right(*SCALES)])
    source = ""
    for row in rows:
        if row["source"] != source:
            source = row["source"]
            table.add("", text(source, "dim"))
        done = [text(f"{row[scale]['done']:,} of {row[scale]['units']:,}") for scale in SCALES]
        table.add(text(row["table"], "strong"), row["title"], *done)
    console = terminal.stdout_console(output.colour)
    console.print(table)
    console.print(
        f"Games and counts that are done, in {out}. banyan experiment TABLE --scale quick runs the others.",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def listing(out: Path, seed: int) -> list[dict[str, Any]]:
    """All tables with the numbers of units in a folder."""
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
