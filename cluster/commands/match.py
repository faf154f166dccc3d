"""`banyan match` and `banyan players`: players against each other."""

# ruff: noqa: B008, RUF009
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cluster.commands.options import (
    OUTPUT,
    GameArgument,
    GamePlace,
    ResultOptions,
    option,
    request_option,
)
from cluster.system.terminal import Output

MATCH = "Match"


def list_players(output: ResultOptions) -> None:
    """List the players."""
    from cluster.report.table import Table, left, text
    from search.players import describe, names

    rows = [{"name": name, "description": describe(name)} for name in names()]
    table = Table(left("player", "what it does"))
    for row in rows:
        table.add(text(row["name"], "strong"), row["description"])
    output.show(rows, table, "Options follow the name: name:key=value,key=value")


@dataclass(frozen=True)
class MatchOptions:
    """How a match is played."""

    games: int | None = option(
        None, "N", "Number of games, two for each opening; with more players, one for each seat (100).", MATCH
    )
    opening_plies: int | None = option(
        None, "N", "Random moves that begin each pair (2; 0 where sides differ or fleets are dealt).", MATCH
    )
    openings: Path | None = option(
        None, "FILE", "Read the openings from a file instead: one line of moves for each pair.", MATCH
    )
    sprt: str | None = option(
        None,
        "ELO0,ELO1",
        "Sequential test: stop as soon as one of the two Elo differences is rejected (5 % error each).",
        MATCH,
    )
    scoring: str = option(
        "wins",
        "wins|margins",
        "Score a pair by its games won (wins), or as one game decided by the sum of both results (margins).",
        MATCH,
    )
    seed: int = request_option(0, "seed", panel=MATCH)


def match(
    game: GameArgument,
    a: Annotated[
        str, typer.Argument(metavar="A", help="A player, such as uct:seconds=1 (see banyan players).")
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="Its opponent.")],
    asked: MatchOptions,
    place: GamePlace,
    output: Output,
    out: Path | None = option(
        None,
        "DIR",
        "Write every game there; a match that is started again plays only the missing games.",
        OUTPUT,
    ),
) -> int:
    """Play two players against each other: pairs of games from one opening with sides swapped.

    In a game of three or more, A takes each seat in turn, and B all the others.
    """
    from cluster.matches.launch import MatchRequest, run_match

    return run_match(MatchRequest(game, a, b, **vars(asked)), place.placement(), output, out)
