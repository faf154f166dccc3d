"""The list of runs: what there is, how long it takes, and which have been made."""

from __future__ import annotations

from cluster import terminal
from cluster.scaling.part import load
from cluster.scaling.store import Store


def print_list(store: Store, *, json: bool, colour: bool | None) -> None:
    """On standard output."""
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
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("part", "run", "what it shows", "minutes", "measured"):
        table.add_column(heading, overflow="fold", justify="right" if heading == "minutes" else "left")
    before = ""
    for row in rows:
        part = str(row["part"])
        table.add_row(
            f"[bold]{part}[/bold]" if part != before else "",
            str(row["run"]),
            str(row["title"]),
            f"{row['minutes']:g}",
            str(row["measured"] or "no"),
        )
        before = part
    console = terminal.stdout_console(colour)
    console.print(table)
    console.print(
        f"At the scale {store.scale}. banyan report PART runs what is missing of a part (all: of every one), "
        "and --write SCALING.md makes a page of it.",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
