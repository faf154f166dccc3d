"""`banyan strength`: what parallel lanes are worth in playing strength."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cluster.commands.options import (
    BUDGET,
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

GAMES = "Games"
DEFAULT_SIMULATIONS = 200


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("strength")(strength)


def strength(
    game: GameArgument,
    lanes: Annotated[str, typer.Option(metavar="N,N,...", help="Numbers of lanes to measure.")] = "2,4,8,16",
    strategies: Annotated[
        str,
        typer.Option(
            metavar="S,S,...",
            help="root, tree and leaf, each with options of uct if it has any: tree,tree:rounds=8,root.",
        ),
    ] = "root,tree,leaf",
    simulations: Annotated[
        int | None,
        typer.Option(
            metavar="N", help=f"A move, for each lane ({DEFAULT_SIMULATIONS}).", rich_help_panel=BUDGET
        ),
    ] = None,
    total: Annotated[
        int | None,
        typer.Option(metavar="N", help="Or for all lanes, however many they are.", rich_help_panel=BUDGET),
    ] = None,
    options: Annotated[
        str,
        typer.Option(metavar="K=V,...", help="Options of uct for all searches, such as c=0.5."),
    ] = "",
    scores_only: Annotated[
        bool,
        typer.Option(
            "--scores-only",
            help="Only scores at equal totals: quicker, and no speedups.",
            rich_help_panel=GAMES,
        ),
    ] = False,
    pairs: Annotated[
        int, typer.Option(metavar="N", help="Of games, in each match.", rich_help_panel=GAMES)
    ] = 100,
    total_pairs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="In each match against the total, which decides the speedup; as many as --pairs.",
            rich_help_panel=GAMES,
        ),
    ] = None,
    opening_plies: Annotated[
        int | None,
        typer.Option(metavar="N", help="Random moves that a pair begins with.", rich_help_panel=GAMES),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of all that is random.", rich_help_panel=GAMES)] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write strength.json, .csv, .png and .svg, and keep every game there; started again, only "
            "games that are missing are played.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    costs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Of banyan predict --save-costs: predicts the throughput, with a worker for each lane.",
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
            help="Say how far it is, on standard error, while games are played.",
            rich_help_panel=OUTPUT,
        ),
    ] = True,
    json_output: JsonOption = False,
    no_color: NoColorOption = False,
) -> int:
    """Play parallel searches against the sequential one: strength speedup, and score at equal totals.

    The strength speedup is how many times the budget of one lane a sequential search needs to play as
    well (Chaslot et al. 2008). Its interval is 95 %.
    """
    from cluster.launch import Output, Place
    from cluster.measuring.strength import StrengthRequest
    from cluster.measuring.strength_launch import run_strength
    from cluster.workers import parse_workers

    if simulations is None and total is None:
        simulations = DEFAULT_SIMULATIONS
    request = StrengthRequest(
        game,
        strategies,
        _counts(lanes),
        simulations,
        total,
        pairs,
        total_pairs,
        options,
        seed,
        opening_plies,
        scores_only,
    )
    place = Place(executor, parse_workers(workers), address, job_timeout, None, "")
    return run_strength(request, place, Output(json_output, progress, colour_wanted(no_color)), out, costs)


def _counts(text: str) -> tuple[int, ...]:
    from games.errors import InvalidInput

    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
        raise InvalidInput("lanes", text, "whole numbers of at least 1, such as 1,4,16")
    return tuple(map(int, parts))
