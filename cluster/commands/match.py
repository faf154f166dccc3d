"""`banyan match` and `banyan players`: players against each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cluster.commands.options import (
    OUTPUT,
    GameArgument,
    GamePlace,
    JsonOption,
    NoColorOption,
    OutputOptions,
    colour_wanted,
    option,
    request_option,
    with_groups,
)

MATCH = "Match"


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("players")(list_players)
    app.command("match")(with_groups(match))


def list_players(json_output: JsonOption = False, no_color: NoColorOption = False) -> None:
    """List the players."""
    from cluster.report.table import Table, left, text
    from cluster.system.terminal import print_json, stdout_console
    from search.players import describe, names

    rows = [{"name": name, "description": describe(name)} for name in names()]
    if json_output:
        print_json(rows)
        return
    table = Table(left("player", "what it does"))
    for row in rows:
        table.add(text(row["name"], "strong"), row["description"])
    console = stdout_console(colour_wanted(no_color))
    console.print(table)
    console.print("Options follow the name: name:key=value,key=value", markup=False, highlight=False)


@dataclass(frozen=True)
class MatchOptions:
    """How a match is played."""

    games: Annotated[
        int | None,
        option(
            "N", "Number of games, two for each opening; with more players, one for each seat (100).", MATCH
        ),
    ] = None
    opening_plies: Annotated[
        int | None,
        option(
            "N", "Random moves that begin each pair (2; 0 where sides differ or fleets are dealt).", MATCH
        ),
    ] = None
    openings: Annotated[
        Path | None,
        option("FILE", "Read the openings from a file instead: one line of moves for each pair.", MATCH),
    ] = None
    sprt: Annotated[
        str | None,
        option(
            "ELO0,ELO1",
            "Sequential test: stop as soon as one of the two Elo differences is rejected (5 % error each).",
            MATCH,
        ),
    ] = None
    scoring: Annotated[
        str,
        option(
            "wins|margins",
            "Score a pair by its games won (wins), or as one game decided by the sum of both results "
            "(margins).",
            MATCH,
        ),
    ] = "wins"
    seed: Annotated[int, request_option("seed", panel=MATCH)] = 0


def match(
    game: GameArgument,
    a: Annotated[
        str, typer.Argument(metavar="A", help="A player, such as uct:seconds=1 (see banyan players).")
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="Its opponent.")],
    asked: MatchOptions,
    place: GamePlace,
    output: OutputOptions,
    out: Annotated[
        Path | None,
        option(
            "DIR",
            "Write every game there; a match that is started again plays only the missing games.",
            OUTPUT,
        ),
    ] = None,
) -> int:
    """Play two players against each other: pairs of games from one opening with sides swapped.

    In a game of three or more, A takes each seat in turn, and B all the others.
    """
    from cluster.matches.launch import MatchRequest, run_match

    return run_match(MatchRequest(game, a, b, **vars(asked)), place.placement(), output.output(), out)
