"""The standing of a match as people read it, and as JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from cluster import terminal
from cluster.matches.match import Match
from cluster.matches.record import Effort
from cluster.matches.standing import Standing, Tally
from cluster.matches.statistics import Interval, pentanomial, wilson
from games.game import Game

if TYPE_CHECKING:
    from rich.table import Table

NAME_WIDTH = 13
OPEN = "open"


def line(match: Match, elapsed_s: float) -> str:
    """The standing as one plain line."""
    if not match.done:
        return (
            f"no game has ended yet (kernels are compiled once on a machine), {terminal.duration(elapsed_s)}"
        )
    standing = match.standing()
    parts = [
        f"{terminal.count(match.done)} of {terminal.count(match.games)} games",
        f"A {_short(standing.all)}",
    ]
    if standing.pairs:
        parts.append(f"Elo {elo_text(standing)}")
    if match.sprt is not None:
        parts.append(f"LLR {_ratio(match, standing):+.2f}")
    if match.retried:
        parts.append(f"{match.retried} played again")
    return ", ".join([*parts, terminal.duration(elapsed_s)])


def facts(match: Match, game: Game) -> list[tuple[str, str]]:
    """Name and text of what is known."""
    context, standing = match.context, match.standing()
    low, high = standing.score_interval
    rows = [
        ("game", context.game),
        ("A", context.players[0]),
        ("B", context.players[1]),
        ("", ""),
        ("games", _games(match, standing)),
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
    """What the moves of both took."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    for heading in ("moves", "CPU s", "a move", "longest", "simulations a move", "nodes a move"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, effort in zip("AB", match.standing().efforts, strict=True):
        table.add_row(name, *_effort(effort))
    return table


def warnings(match: Match) -> list[str]:
    """What somebody who trusts the figures should know."""
    standing, lines = match.standing(), []
    if standing.different_games < standing.number:
        different = f"{standing.different_games} of {standing.number}"
        lines.append(f"only {different} games differ: the others repeat one of them, move by move")
    if match.retried:
        lines.append(f"games that were lost with a worker and played again: {match.retried}")
    return lines


def to_json(match: Match, game: Game, workers: int, executor: str, elapsed_s: float) -> dict[str, Any]:
    """What `banyan match --json` prints."""
    context, standing = match.context, match.standing()
    sprt = None
    if match.sprt is not None:
        sprt = {
            "elo0": match.sprt.elo0,
            "elo1": match.sprt.elo1,
            "ratio": _ratio(match, standing),
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
        **standing.to_json(game.points),
        "sprt": sprt,
        "games_asked": match.games,
        "games_played": match.done,
        "games_retried": match.retried,
        "stopped_by": match.stopped_by,
        "workers": workers,
        "executor": executor,
        "elapsed_s": round(elapsed_s, 6),
    }


def elo_text(standing: Standing) -> str:
    """The difference and its interval."""
    if not standing.pairs:
        return "unknown: no pair is complete"
    low, high = standing.elo_interval
    return f"{_elo(standing.elo)} (95 %: {_elo(low)} to {_elo(high)})"


def _elo(value: float) -> str:
    return f"{value:+.0f}" if math.isfinite(value) else ("+inf" if value > 0 else "-inf")


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
    pairs = f"after {match.decision.pairs} pairs"
    return f"{accepted} = {value:g} accepted, {rejected} rejected, {pairs}: {ratio}"


def _games(match: Match, standing: Standing) -> str:
    context = match.context
    opening = (
        f"{len(context.openings)} openings" if context.openings else f"{context.opening_plies} random plies"
    )
    counted = f"{standing.number} of {match.games}, stopped by {match.stopped_by}"
    return f"{counted}; opening {opening}, seed {context.seed}, {standing.mean_plies:.1f} plies in the mean"


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
    low, high = interval
    return f"{100 * share:.1f} % (95 %: {100 * low:.1f} to {100 * high:.1f})"


def _effort(effort: Effort) -> tuple[str, ...]:
    moves = max(1, effort.moves)
    return (
        terminal.count(effort.moves),
        f"{effort.cpu_s:.3g}",
        _seconds(effort.cpu_s / moves),
        _seconds(effort.longest_s),
        terminal.count(effort.simulations / moves),
        terminal.count(effort.nodes / moves),
    )


def _seconds(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{1e6 * seconds:.0f} us"
    return f"{1e3 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"
