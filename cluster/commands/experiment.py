"""`banyan experiment`: the tables of the sources, measured again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cluster.commands.options import (
    OUTPUT,
    PLACE,
    AddressOption,
    ExecutorOption,
    JsonOption,
    NoColorOption,
    WorkersOption,
    colour_wanted,
)


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("experiment")(experiment)


def experiment(
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TABLE]...",
            help="Such as 002/11; 002 for all of that source; all. Without any: the list of tables.",
            show_default=False,
        ),
    ] = None,
    scale: Annotated[
        str,
        typer.Option(
            metavar="quick|paper|smoke",
            help="How much is played: minutes for all tables, what the sources played, or next to nothing.",
        ),
    ] = "quick",
    seed: Annotated[int, typer.Option(metavar="N", help="Of all that is random.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "--output",
            metavar="DIR",
            help="Every game is kept there; started again, only those that are missing are played "
            "(out/experiments).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    report: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE.md|.html",
            help="Write a report; may be given twice, once for Markdown and once for a page with plots.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    workers: WorkersOption = "auto",
    executor: ExecutorOption = "ray",
    address: AddressOption = None,
    job_timeout: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="How long a game may take before its worker counts as hung (14400).",
            rich_help_panel=PLACE,
        ),
    ] = None,
    progress: Annotated[
        bool,
        typer.Option(
            "--progress/--no-progress", help="Show how it goes, on standard error.", rich_help_panel=OUTPUT
        ),
    ] = True,
    json_output: JsonOption = False,
    no_color: NoColorOption = False,
) -> int:
    """Measure tables of the sources again: their figures, ours, intervals, and whether they agree."""
    from cluster.experiments.launch import ExperimentRequest, chosen, run_experiments
    from cluster.experiments.listing import print_list
    from cluster.experiments.store import DEFAULT_OUT
    from cluster.launch import Output, Place
    from cluster.workers import parse_workers

    output = Output(json_output, progress, colour_wanted(no_color))
    folder = DEFAULT_OUT if out is None else out
    if not tables:
        print_list(folder, seed, output)
        return 0
    request = ExperimentRequest(chosen(tables), scale, seed)
    place = Place(executor, parse_workers(workers), address, job_timeout, None, "")
    return run_experiments(request, place, output, folder, report or [])
