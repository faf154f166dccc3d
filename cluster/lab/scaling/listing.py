"""The list of runs: what each shows, how long it takes, and when it was made."""

from __future__ import annotations

from cluster.lab.scaling.part import load
from cluster.lab.scaling.store import Store
from cluster.report.table import Table, left, number, right, text
from cluster.system import terminal


def print_list(store: Store, *, json: bool, colour: bool | None) -> None:
    """Print all runs with how long they take and when they were made, as JSON if asked."""
    rows = [
        {
            "part": part.name,
            "run": run.name,
            "title": run.title,
            "command": " ".join(run.command(store.scale)),
            "minutes": run.minutes_of(store.scale),
            "measured": None if (note := store.note(run)) is None else note.date,
        }
        for part in load()
        for run in part.runs
    ]
    if json:
        terminal.print_json(rows)
        return
    table = Table([*left("part", "run", "what it shows"), *right("minutes"), *left("measured")])
    before = ""
    for row in rows:
        part = str(row["part"])
        name = text(part if part != before else "", "strong")
        minutes = number(float(str(row["minutes"])), "g")
        table.add(name, str(row["run"]), str(row["title"]), minutes, str(row["measured"] or "no"))
        before = part
    console = terminal.stdout_console(colour)
    console.print(table)
    console.print(
        f"Scale: {store.scale}. banyan report PART runs the missing runs of a part (all: of all parts), and "
        "--write FILE.md writes the page.",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
