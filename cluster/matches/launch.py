"""The command `banyan match`: from its options to the standing on the screen."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import games
from cluster.front_door.placement import Placement
from cluster.launch import Output, launch
from cluster.matches import report as match_report
from cluster.matches.game import MakePlayer, MatchContext, MatchWorker, start_of
from cluster.matches.match import Match, MatchFolder, Tournament
from cluster.matches.standing import SCORINGS
from cluster.matches.statistics import Sprt
from cluster.runtime.jobset import Jobset
from cluster.system import terminal
from games.errors import InvalidInput, counted
from games.game import Game
from games.user_games import read_text
from search.players import player_of

BEFORE_THE_MATCH = "banyan: interrupted before the match began"
DEFAULT_GAMES = 100
MAX_GAMES = 1_000_000
MAX_ELO = 1000.0


@dataclass(frozen=True)
class MatchRequest:
    """The options of a match. They determine its games completely."""

    game: str
    a: str
    b: str
    games: int | None
    """None: DEFAULT_GAMES, or a few more where a pair is three games or more."""
    seed: int = 0
    opening_plies: int | None = None
    """Random plies at the beginning of each pair; None: `Game.opening_plies`."""
    openings: Path | None = None
    sprt: str | None = None
    """The hypotheses of a sequential test as ``elo0,elo1``; None: no test."""
    scoring: str = "wins"


def run_match(
    request: MatchRequest,
    place: Placement,
    output: Output,
    out: Path | None,
    make_player: MakePlayer = player_of,
) -> int:
    """Play and print the standing; the exit status. Raises InvalidInput, UnitFailed, ConnectionError."""
    with launch(output, BEFORE_THE_MATCH) as started:
        sprt = None if request.sprt is None else read_sprt(request.sprt)
        context, game = open_match(request, make_player)
        folders = () if out is None else (started.stack.enter_context(closing(MatchFolder(out, context))),)
        played = folders[0].played if folders else ()
        match = Match(context, games_of(request, game), sprt, played, request.scoring)
        jobset = Jobset(Tournament([match], folders))
        progress = started.units_progress(lambda _: match_report.in_short(match))
        executor = started.run_units(place, jobset, partial(MatchWorker, make_player), progress)
        elapsed_s, workers = jobset.elapsed_s, executor.num_workers
        ran_on = f"{counted(workers, 'worker')}, {executor.name}, {terminal.duration(elapsed_s)}"
        if output.json:
            terminal.print_json(match_report.to_json(match, game, workers, executor.name, elapsed_s))
        else:
            print_standing(match, game, ran_on, output)
    return started.status


def open_match(request: MatchRequest, make_player: MakePlayer = player_of) -> tuple[MatchContext, Game]:
    """Load the game and check all options, including the players and the openings.

    Raises InvalidInput (fields ``game``, ``player``, ``games``, ``seed``, ``scoring``, ``opening_plies``,
    ``openings``).
    """
    source = games.source_of_spec(request.game)
    game = games.load(request.game, source)
    _check_seats(request, game)
    seats, number = game.num_players, games_of(request, game)
    if not seats <= number <= MAX_GAMES or number % seats:
        accepted = f"an even number from 2 to {MAX_GAMES}: two games per pair"
        if seats > 2:
            accepted = f"a multiple of {seats} up to {MAX_GAMES}: A takes each of {seats} seats once"
        raise InvalidInput("games", request.games, accepted)
    if not 0 <= request.seed < 2**63:
        raise InvalidInput("seed", request.seed, "a whole number from 0 to 2**63 - 1")
    if request.scoring not in SCORINGS:
        raise InvalidInput("scoring", request.scoring, " or ".join(SCORINGS))
    plies = game.opening_plies if request.opening_plies is None else request.opening_plies
    if not 0 <= plies <= game.max_plies:
        raise InvalidInput("opening_plies", plies, f"a whole number from 0 to {game.max_plies}")
    specs = tuple(make_player(spec, game).spec for spec in (request.a, request.b))
    openings = () if request.openings is None else read_openings(request.openings)
    context = MatchContext(game.spec, source, (specs[0], specs[1]), request.seed, plies, openings, seats)
    pairs = number // seats
    for pair in range(pairs if game.hidden_information and openings else min(pairs, max(1, len(openings)))):
        start_of(context, game, pair)
    return context, game


def games_of(request: MatchRequest, game: Game) -> int:
    """The number of games of a match."""
    if request.games is not None:
        return request.games
    return -(-DEFAULT_GAMES // game.num_players) * game.num_players


def _check_seats(request: MatchRequest, game: Game) -> None:
    """Raise InvalidInput for what the number of players excludes (``game``, ``sprt``, ``scoring``)."""
    if game.num_players == 1:
        accepted = "a game of two or more players (banyan plan measures players of a problem of one player)"
        raise InvalidInput("game", game.spec, accepted)
    if game.num_players > 2:
        for name, value, plain in (("sprt", request.sprt, None), ("scoring", request.scoring, "wins")):
            if value != plain:
                raise InvalidInput(name, value, f"{plain or 'nothing'} with {game.name}, {game.form}")


def read_openings(path: Path) -> tuple[tuple[str, ...], ...]:
    """The openings of a file, one per line; ``#`` begins a comment. Raises InvalidInput (``openings``)."""
    text = read_text(path, "openings", "a file with lines of moves")
    lines = [line.partition("#")[0].split() for line in text.splitlines()]
    openings = tuple(tuple(line) for line in lines if line)
    if not openings:
        raise InvalidInput("openings", str(path), "a file with lines of moves (it has none)")
    return openings


def read_sprt(text: str) -> Sprt:
    """Parse ``elo0,elo1``; raises InvalidInput (field ``sprt``)."""
    try:
        elo0, elo1 = map(float, text.split(","))
        if not -MAX_ELO <= elo0 < elo1 <= MAX_ELO:
            raise ValueError(text)
    except ValueError:
        accepted = f"elo0,elo1: two numbers from {-MAX_ELO:g} to {MAX_ELO:g}, the smaller one first"
        raise InvalidInput("sprt", text, accepted) from None
    return Sprt(elo0, elo1)


def print_standing(match: Match, game: Game, ran_on: str, output: Output) -> None:
    """Print the standing on standard output and warnings on standard error."""
    from rich.text import Text

    console = terminal.stdout_console(output.colour)
    for name, text in match_report.facts(match, game):
        console.print(Text.assemble((name.ljust(match_report.NAME_WIDTH), "dim"), text), soft_wrap=True)
    console.print(Text.assemble(("ran on".ljust(match_report.NAME_WIDTH), "dim"), ran_on), soft_wrap=True)
    console.print()
    console.print(match_report.efforts_table(match))
    for line in match_report.warnings(match):
        terminal.stderr_console(output.colour).print(
            f"banyan: warning: {line}", style="yellow", soft_wrap=True
        )
