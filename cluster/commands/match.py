"""`banyan match` and `banyan players`: players against each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cluster.commands.options import (
    OUTPUT,
    AddressOption,
    ExecutorOption,
    GameArgument,
    GameTimeoutOption,
    JsonOption,
    NoColorOption,
    WorkersOption,
    colour_wanted,
)

MATCH = "Match"


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("players")(list_players)
    app.command("match")(match)


def list_players(json_output: JsonOption = False, no_color: NoColorOption = False) -> None:
    """The players, by name."""
    from cluster.terminal import print_json, stdout_console
    from search.players import describe, names

    rows = [{"name": name, "description": describe(name)} for name in names()]
    if json_output:
        print_json(rows)
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("player", "what it does"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(f"[bold]{row['name']}[/bold]", row["description"])
    console = stdout_console(colour_wanted(no_color))
    console.print(table)
    console.print("Options follow the name: name:key=value,key=value", markup=False, highlight=False)


def match(
    game: GameArgument,
    a: Annotated[str, typer.Argument(metavar="A", help="A player (see banyan players).")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another, or the same.")],
    games: Annotated[
        int, typer.Option("--games", metavar="N", help="Two for each pair.", rich_help_panel=MATCH)
    ] = 100,
    opening_plies: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Random moves that a pair begins with (2; 0 where sides differ or fleets are dealt).",
            rich_help_panel=MATCH,
        ),
    ] = None,
    openings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Openings instead: a line of moves for each pair.", rich_help_panel=MATCH
        ),
    ] = None,
    sprt: Annotated[
        str | None,
        typer.Option(
            metavar="ELO0,ELO1",
            help="Stop as soon as one of two Elo differences can be rejected (5 % error each).",
            rich_help_panel=MATCH,
        ),
    ] = None,
    scoring: Annotated[
        str,
        typer.Option(
            metavar="wins|margins",
            help="A pair counts by games won, or as one game that the sum of both results decides.",
            rich_help_panel=MATCH,
        ),
    ] = "wins",
    seed: Annotated[int, typer.Option(metavar="N", help="Of all that is random.", rich_help_panel=MATCH)] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep every game there; started again, only those that are missing are played.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    workers: WorkersOption = "auto",
    executor: ExecutorOption = "ray",
    address: AddressOption = None,
    job_timeout: GameTimeoutOption = None,
    progress: Annotated[
        bool,
        typer.Option(
            "--progress/--no-progress",
            help="Show the standing, on standard error, while games are played.",
            rich_help_panel=OUTPUT,
        ),
    ] = True,
    json_output: JsonOption = False,
    no_color: NoColorOption = False,
) -> int:
    """Play two players against each other: pairs of games from one opening with sides swapped."""
    from cluster.launch import Output, Place
    from cluster.matches.launch import MatchRequest, run_match
    from cluster.workers import parse_workers

    request = MatchRequest(game, a, b, games, seed, opening_plies, openings, sprt, scoring)
    place = Place(executor, parse_workers(workers), address, job_timeout, None, "")
    return run_match(request, place, Output(json_output, progress, colour_wanted(no_color)), out)
