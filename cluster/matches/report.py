"""The standing of a match as text and as JSON."""

from __future__ import annotations

import math
from typing import Any

from cluster.matches.match import Match
from cluster.matches.standing import Shares, Standing, Tally
from cluster.matches.statistics import Interval, pentanomial, wilson
from cluster.report.table import Table, count, duration, left, number, percent, right
from cluster.system import terminal
from games.errors import counted
from games.game import Game

NAME_WIDTH = 13
OPEN = "open"


def in_short(match: Match) -> list[str]:
    """The standing in a few words."""
    if not match.done:
        return ["no game has ended yet"]
    played = f"{terminal.count(match.done)} of {counted(match.games, 'game')}"
    if match.context.seats > 2:
        return [played, f"A won {share_text(match.shares())}"]
    standing = match.standing()
    parts = [played, f"A {_short(standing.all)}"]
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


def efforts_table(match: Match) -> Table:
    """What the moves of both players took."""
    headings = ("moves", "CPU s", "a move", "longest", "simulations a move", "nodes a move")
    table = Table([*left(""), *right(*headings)])
    for name, effort in zip("AB", _standing(match).efforts, strict=True):
        moves = max(1, effort.moves)
        table.add(
            name,
            count(effort.moves),
            number(effort.cpu_s, ".3g"),
            duration(effort.cpu_s / moves),
            duration(effort.longest_s),
            count(effort.simulations / moves),
            count(effort.nodes / moves),
        )
    return table


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
        return f"{OPEN}: {ratio}, elo0 {match.sprt.elo0:g}, elo1 {match.sprt.elo1:g}"
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


def _short(tally: Tally) -> str:
    return f"+{tally.wins} ={tally.draws} -{tally.losses}"


def _named(tally: Tally) -> str:
    if not tally.number:
        return "no games"
    share = 100 / tally.number
    return f"{tally} ({share * tally.wins:.1f} %, {share * tally.draws:.1f} %, {share * tally.losses:.1f} %)"


def _percent(share: float, interval: Interval) -> str:
    return percent(share, 1, interval).text.replace("(", "(95 %: ")
