"""The command `banyan match`: from its options to the standing, as text and as JSON."""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import games
from cluster.launch import Output, launch, warn
from cluster.matches.clock import Clock
from cluster.matches.game import MakePlayer, MatchContext, MatchWorker, start_of
from cluster.matches.match import Match, MatchFolder, Tournament
from cluster.matches.standing import SCORINGS, Shares, Standing, Tally
from cluster.matches.statistics import Interval, Sprt, pentanomial, wilson
from cluster.report.table import Table, count, duration, number, percent, table_of
from cluster.runtime.jobset import Jobset
from cluster.system import terminal
from cluster.workers.placement import Placement
from games.errors import InvalidInput, counted
from games.game import Game
from games.user_games import read_text
from search.players import player_of

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
    clock: str | None = None
    """CPU seconds of each player, as in `Clock.read`; None: no clock."""


def run_match(
    request: MatchRequest,
    place: Placement,
    output: Output,
    out: Path | None,
    make_player: MakePlayer = player_of,
) -> int:
    """Play a match and print its standing; returns the exit status.

    Raises InvalidInput, UnitFailed, ConnectionError.
    """
    with launch(output) as started:
        sprt = None if request.sprt is None else read_sprt(request.sprt)
        context, game = open_match(request, make_player)
        folders = () if out is None else (started.stack.enter_context(closing(MatchFolder(out, context))),)
        played = folders[0].played if folders else ()
        match = Match(context, games_of(request, game), sprt, played, request.scoring)
        jobset = Jobset(Tournament([match], folders))
        progress = started.units_progress(lambda _: in_short(match))
        executor = started.run_units(place, jobset, partial(MatchWorker, make_player), progress)
        elapsed_s, workers = jobset.elapsed_s, executor.num_workers
        ran_on = f"{counted(workers, 'worker')}, {executor.name}, {terminal.duration(elapsed_s)}"
        value = to_json(match, game, workers, executor.name, elapsed_s)
        output.show(value, [*facts(match, game), ("ran on", ran_on)], "", efforts_table(match))
        for line in () if output.json else warnings(match):
            warn(line, output)
    return started.status


def open_match(request: MatchRequest, make_player: MakePlayer = player_of) -> tuple[MatchContext, Game]:
    """Load the game and check all options, including the players and the openings.

    Raises InvalidInput (fields ``game``, ``player``, ``games``, ``seed``, ``sprt``, ``scoring``,
    ``opening_plies``, ``openings``, ``clock``).
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
    clock = None if request.clock is None else Clock.read(request.clock)
    context = MatchContext(
        game.spec, source, (specs[0], specs[1]), request.seed, plies, openings, seats, clock
    )
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
    """Raise InvalidInput for what the number of players excludes (``game``, ``clock``, ``sprt``,
    ``scoring``)."""
    if game.num_players == 1:
        accepted = "a game of two or more players (banyan plan measures players of a problem of one player)"
        raise InvalidInput("game", game.spec, accepted)
    if game.num_players > 2:
        for name, value, plain in (
            ("clock", request.clock, None),
            ("sprt", request.sprt, None),
            ("scoring", request.scoring, "wins"),
        ):
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


def in_short(match: Match) -> list[str]:
    """The standing in a few words."""
    if not match.done:
        return ["no game has ended yet"]
    played = f"{terminal.count(match.done)} of {counted(match.games, 'game')}"
    if match.context.seats > 2:
        return [played, f"A won {share_text(match.shares())}"]
    standing = match.standing()
    parts = [played, "A +{} ={} -{}".format(*astuple(standing.all))]
    if standing.pairs:
        parts.append(f"Elo {elo_text(standing)}")
    if match.sprt is not None:
        parts.append(f"LLR {_ratio(match, standing):+.2f}")
    return parts


def facts(match: Match, game: Game) -> list[tuple[str, str]]:
    """[(name, text)] of all facts about a match."""
    if match.context.seats > 2:
        return _facts_of_many(match, game)
    context, standing = match.context, match.standing()
    low, high = standing.score_interval
    rows = [
        ("game", context.game),
        ("A", context.players[0]),
        ("B", context.players[1]),
        ("", ""),
        *([] if context.clock is None else [("clock", _overtimes(match))]),
        ("games", _games(match, standing.number, standing.mean_plies)),
        ("A", _named(standing.all)),
        ("A as first", _named(standing.as_first)),
        ("A as second", _named(standing.as_second)),
        ("first player", _named(standing.first_player)),
        (
            "win rate",
            _percent(standing.all.wins / max(1, standing.number), wilson(standing.all.wins, standing.number)),
        ),
        ("", ""),
        ("pairs", _named(standing.pair_tally)),
        ("pair scores", _scores(standing)),
    ]
    if standing.has_margins:
        rows.append(("margin", _margin(standing, game.points)))
    rows += [
        ("score of A", f"{_percent(standing.score, (low, high))}, pairs scored by {match.scoring}"),
        ("Elo of A", elo_text(standing)),
    ]
    if match.sprt is not None:
        rows.append(("SPRT", _sprt(match, standing)))
    return rows


def _overtimes(match: Match) -> str:
    lost = [record.overtime == record.leg for record in match.records if record.overtime is not None]
    a, b = lost.count(True), lost.count(False)
    return f"{match.context.clock} s of CPU time; lost by it: A {counted(a, 'game')}, B {counted(b, 'game')}"


def efforts_table(match: Match) -> Table:
    """The costs of the moves of both players: CPU time, simulations and nodes."""
    lines = [
        {
            "": name,
            "moves": count(effort.moves),
            "CPU s": number(effort.cpu_s, ".3g"),
            "a move": duration(effort.cpu_s / max(1, effort.moves)),
            "longest": duration(effort.longest_s),
            "simulations a move": count(effort.simulations / max(1, effort.moves)),
            "nodes a move": count(effort.nodes / max(1, effort.moves)),
        }
        for name, effort in zip("AB", _standing(match).efforts, strict=True)
    ]
    return table_of(lines, words=[""])


def warnings(match: Match) -> list[str]:
    """Warnings about the reliability of the results."""
    standing, lines = _standing(match), []
    if standing.different_games < standing.number:
        different = f"{standing.different_games} of {standing.number}"
        lines.append(f"different games: only {different}; the others repeat one of them move by move")
    if match.retried:
        lines.append(f"games that were lost with a worker and played again: {match.retried}")
    return lines


def to_json(match: Match, game: Game, workers: int, executor: str, elapsed_s: float) -> dict[str, Any]:
    """The output of `banyan match --json`."""
    context = match.context
    sprt = None
    if match.sprt is not None:
        sprt = {
            "elo0": match.sprt.elo0,
            "elo1": match.sprt.elo1,
            "ratio": _ratio(match, match.standing()),
            "bounds": list(match.sprt.bounds),
            "accepted": None if match.decision is None else match.decision.accepted,
        }
    return {
        "game": context.game,
        "a": context.players[0],
        "b": context.players[1],
        "seed": context.seed,
        "opening_plies": None if context.openings else context.opening_plies,
        "openings": [" ".join(moves) for moves in context.openings] or None,
        "scoring": match.scoring,
        "clock": None if context.clock is None else str(context.clock),
        **_standing(match).to_json(game.points),
        "sprt": sprt,
        "games_asked": match.games,
        "games_played": match.done,
        "games_retried": match.retried,
        "stopped_by": match.stopped_by,
        "workers": workers,
        "executor": executor,
        "elapsed_s": round(elapsed_s, 6),
    }


def share_text(shares: Shares) -> str:
    """A's share of wins with its 95 % interval."""
    if not shares.pairs:
        return "unknown: no seat was taken in turn yet"
    return _percent(shares.share, shares.interval)


def _standing(match: Match) -> Standing | Shares:
    return match.shares() if match.context.seats > 2 else match.standing()


def _facts_of_many(match: Match, game: Game) -> list[tuple[str, str]]:
    context, shares = match.context, match.shares()
    seats = zip(game.player_names, shares.by_seat, strict=True)
    return [
        ("game", context.game),
        ("A", context.players[0]),
        ("B", f"{context.players[1]} in {shares.seats - 1} of {shares.seats} seats"),
        ("", ""),
        ("games", _games(match, shares.number, shares.mean_plies)),
        *((f"A as {name}", f"{100 * share:.1f} % of {games}") for name, (games, share) in seats if games),
        ("wins of A", f"{share_text(shares)}; {100 / shares.seats:.1f} % if equally strong"),
        ("scores", "A {:+.4g}, B {:+.4g} in the mean".format(*shares.mean_scores)),
    ]


def elo_text(standing: Standing) -> str:
    """The Elo difference with its 95 % interval."""
    if not standing.pairs:
        return "unknown: no pair is complete"
    low, high = standing.elo_interval
    if math.isinf(low) and math.isinf(high):
        return f"unknown: {counted(len(standing.pairs), 'pair')} of games bound it on no side"
    bounds = f"at least {low:+.0f}" if math.isinf(high) else f"at most {high:+.0f}"
    if math.isinf(standing.elo):
        return f"{bounds} (95 %: all that {counted(standing.number, 'such game')} can show)"
    return f"{standing.elo:+.0f} (95 %: {bounds if math.isinf(high - low) else f'{low:+.0f} to {high:+.0f}'})"


def _ratio(match: Match, standing: Standing) -> float:
    assert match.sprt is not None
    return match.sprt.ratio(pentanomial(standing.pair_scores))


def _sprt(match: Match, standing: Standing) -> str:
    assert match.sprt is not None
    low, high = match.sprt.bounds
    ratio = f"LLR {_ratio(match, standing):+.2f} in ({low:.2f}, {high:.2f})"
    if match.decision is None:
        return f"open: {ratio}, elo0 {match.sprt.elo0:g}, elo1 {match.sprt.elo1:g}"
    accepted, rejected = ("elo1", "elo0") if match.decision.accepted == "elo1" else ("elo0", "elo1")
    value = {"elo0": match.sprt.elo0, "elo1": match.sprt.elo1}[accepted]
    pairs = f"after {counted(match.decision.pairs, 'pair')}"
    return f"{accepted} = {value:g} accepted, {rejected} rejected, {pairs}: {ratio}"


def _games(match: Match, number: int, mean_plies: float) -> str:
    context = match.context
    opening = (
        counted(len(context.openings), "opening")
        if context.openings
        else counted(context.opening_plies, "random ply", "random plies")
    )
    played = f"{number} of {match.games}, stopped by {match.stopped_by}"
    return f"{played}; opening {opening}, seed {context.seed}, {mean_plies:.1f} plies in the mean"


def _margin(standing: Standing, points: int) -> str:
    mean, error = standing.mean_pair_return
    unit = "points" if points > 1 else "in returns"
    known = f" +- {error * points:.2f}" if math.isfinite(error) else ""
    return f"{mean * points:+.2f}{known} {unit} in the mean of pairs"


def _scores(standing: Standing) -> str:
    counts = pentanomial(standing.pair_scores)
    return ", ".join(f"{name}: {n}" for name, n in zip(("0", "1/4", "1/2", "3/4", "1"), counts, strict=True))


def _named(tally: Tally) -> str:
    if not tally.number:
        return "no games"
    share = 100 / tally.number
    return f"{tally} ({share * tally.wins:.1f} %, {share * tally.draws:.1f} %, {share * tally.losses:.1f} %)"


def _percent(share: float, interval: Interval) -> str:
    return percent(share, 1, interval).replace("(", "(95 %: ")
