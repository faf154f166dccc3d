"""`banyan experiment`: the tables of the sources, measured again."""

# ruff: noqa: B008
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cluster.commands.options import (
    OUTPUT,
    GamePlace,
    option,
    request_option,
    timeout_option,
)
from cluster.system.terminal import Output


@dataclass(frozen=True)
class TablePlace(GamePlace):
    """Where the games of tables are played."""

    job_timeout: float | None = timeout_option("a game", "the game is played", 14400)


def experiment(
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TABLE]...",
            help="A table such as 002/11, a source such as 002, or all; without any, tables are listed.",
            show_default=False,
        ),
    ] = None,
    scale: str = option(
        "quick",
        "quick|full|smoke",
        "How many games are played: what decides most rows, an hour and a half of two cores for all "
        "sources (quick), as many as in the sources, days (full), or a few (smoke).",
    ),
    seed: int = request_option(0, "seed"),
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "--output",
            metavar="DIR",
            help="Write every game there; an experiment that is started again plays only the missing games "
            "(out/experiments).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    report: list[Path] | None = option(
        None,
        "FILE.md|.html",
        "Write a report with pictures (of Markdown, pictures/FILE-*.svg beside it); may be given twice.",
        OUTPUT,
    ),
    *,
    place: TablePlace,
    output: Output,
) -> int:
    """Repeat published tables of results: the source's figures, ours, a verdict on each row and each source.

    Without a table, the tables are listed: how much of each is done, and the CPU time that is left.

    The verdict "differs": p is below 0.05, after Holm's correction for all rows of the source.

    "agrees": the 95 % interval of the difference stays within 20 points, or a fifth of the figure.

    "not excluded": the games of the source itself are too few to show more.

    "open": more games of ours will decide.
    """
    from cluster.lab.sources.launch import chosen, print_list, run_experiments
    from cluster.lab.sources.units import DEFAULT_OUT

    folder = DEFAULT_OUT if out is None else out
    if not tables:
        print_list(folder, seed, output)
        return 0
    return run_experiments(chosen(tables), scale, seed, place.placement(), output, folder, report or [])
