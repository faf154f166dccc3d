"""`banyan players`, `match`, `play` and `plan`: games and episodes that are played."""

# ruff: noqa: B008
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cluster.commands.options import (
    OUTPUT,
    PLACE,
    POSITION,
    GameArgument,
    GamePlace,
    MovesOption,
    ResultOptions,
    option,
    request_option,
    timeout_option,
)
from cluster.planning.defaults import DEFAULT_EPISODES, MoveSearch
from cluster.system.interruption import INTERRUPTED
from cluster.system.terminal import Output
from search.options import option_of

MATCH = "Match"


def list_players(output: ResultOptions) -> None:
    """List the players."""
    from cluster.lab.sources.table import described_players
    from cluster.report.table import Table, left, text

    rows = described_players()
    table = Table(left("player", "what it does"))
    for row in rows:
        table.add(text(row["name"], "strong"), row["description"])
    output.show(rows, table, "Options follow the name: name:key=value,key=value")


def match(
    game: GameArgument,
    a: Annotated[
        str, typer.Argument(metavar="A", help="A player, such as uct:seconds=1 (see banyan players).")
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="Its opponent.")],
    *,
    games: int | None = option(
        None, "N", "Number of games, two for each opening; with more players, one for each seat (100).", MATCH
    ),
    opening_plies: int | None = option(
        None, "N", "Random moves that begin each pair (2; 0 where sides differ or fleets are dealt).", MATCH
    ),
    openings: Path | None = option(
        None, "FILE", "Read the openings from a file instead: one line of moves for each pair.", MATCH
    ),
    sprt: str | None = option(
        None,
        "ELO0,ELO1",
        "Sequential test: stop as soon as one of the two Elo differences is rejected (5 % error each).",
        MATCH,
    ),
    scoring: str = option(
        "wins",
        "wins|margins",
        "Score a pair by its games won (wins), or as one game decided by the sum of both results (margins).",
        MATCH,
    ),
    clock: str | None = option(
        None,
        "S+I",
        "CPU seconds that each player has for a game, and I more after each move: uct, flat and alphabeta "
        "with seconds share them out; whose time is used up has lost.",
        MATCH,
    ),
    seed: int = request_option(0, "seed", panel=MATCH),
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

    request = MatchRequest(
        game,
        a,
        b,
        games,
        seed=seed,
        opening_plies=opening_plies,
        openings=openings,
        sprt=sprt,
        scoring=scoring,
        clock=clock,
    )
    return run_match(request, place.placement(), output, out)


def play(
    game: GameArgument,
    opponent: str | None = option(
        None, "PLAYER", "Who plays against you: name:key=value,... (see banyan players), instead of a preset."
    ),
    preset: str | None = option(
        None,
        "best|plain|...",
        "Settings of the opponent, with 1 s of CPU time a move: best, the strongest known for the "
        "game (the default); plain, UCT with random playouts; or a preset of the player uct.",
    ),
    side: str = option(
        "first",
        "first|second|both|none",
        "The side that you play; with more than two players also third and so on, or all.",
    ),
    fleet: str | None = option(
        None,
        "'A1 right,J7J10,...'",
        "Battleship: where your ships lie, in order, each by its first cell and right, left, up or "
        "down, or by both ends; random at the end places the rest. Without it you are asked at a "
        "terminal; otherwise your fleet is dealt.",
        POSITION,
    ),
    moves: MovesOption = None,
    load: Path | None = option(
        None, "FILE", "Continue a game that was saved, or recorded by banyan match --out.", POSITION
    ),
    number: int = option(1, "N", "Number of the game in the file.", POSITION),
    clock: str | None = option(
        None,
        "S+I",
        "CPU seconds that the opponent has for the game, and I more after each move, which it shares out; "
        "when they are used up, it moves at once.",
    ),
    seed: int = option(0, "N", "Seed of all random numbers."),
    no_color: bool = option_of(Output, "no_color", False),
) -> int:
    """Play a game against a player or another person, or watch one. Type help for the commands."""
    import games
    from cluster.play.call import converse, opponent_line, table_of
    from cluster.play.loop import reader
    from cluster.play.position import read_record, split_moves
    from games.errors import InvalidInput
    from search.players.presets import STRONGEST, opponent_of

    if opponent is not None and preset is not None:
        raise InvalidInput("preset", preset, "no preset beside --opponent")
    if load is not None and moves is not None:
        raise InvalidInput("moves", moves, "no moves beside --load")
    record = None
    if load is None:
        loaded = games.load(game)
    else:
        loaded, record, _ = read_record(game, load, number)
    spec = opponent or opponent_of(preset or STRONGEST, loaded, whole_game=True)
    table = table_of(loaded, spec, side, seed, split_moves(moves), record, fleet, clock)
    opening = None if opponent else opponent_line(spec, preset or STRONGEST, "--preset plain")
    try:
        converse(table, opening, reader(), colour=False if no_color else None)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


@dataclass(frozen=True)
class EpisodePlace(GamePlace):
    """Where episodes are played."""

    executor: str = option(
        "auto",
        "auto|ray|inline",
        "Play episodes in this process alone (inline), on workers of Ray (ray), or, if there are "
        "several, on workers (auto).",
        PLACE,
    )
    job_timeout: float | None = timeout_option("an episode", "the episode is played", 3600)


def plan(
    search: MoveSearch,
    place: EpisodePlace,
    output: Output,
    episodes: int = option(DEFAULT_EPISODES, "N", "Number of episodes."),
    steps: int | None = option(None, "N", "The most moves of an episode; without it, its own end."),
    out: Path | None = option(
        None,
        "DIR",
        "Keep every episode there, and the result as JSON, CSV and a picture; a plan that is "
        "started again plays only the missing episodes.",
        OUTPUT,
    ),
) -> int:
    """Play a problem of one player: search, act, observe, and go on in the same tree, to the end."""
    from cluster.planning.plan import run_plan

    return run_plan(search, episodes, steps, place.placement(), output, out)
