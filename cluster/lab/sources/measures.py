"""Measures: functions from a row and its finished units to estimates by figure name."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from cluster.lab.sources import counts
from cluster.lab.sources.estimate import Estimate
from cluster.lab.sources.table import OUTCOMES, PublishedRow
from cluster.lab.sources.units import Done, Need
from cluster.matches.game import MatchContext
from cluster.matches.record import GameRecord
from cluster.matches.standing import Standing
from cluster.matches.statistics import mean, score_interval
from games.errors import counted
from games.game import Game

Estimates = dict[str, Estimate]
RESULTS = "results"
OF_MATCHES = (RESULTS, "plies", "branching", "accuracy", "margins")
TALLIES = {"pairs": "pair_tally", "games": "all", "first": "as_first", "second": "as_second"}
"""Attributes of a standing by the unit of a row."""


@dataclass(frozen=True)
class Measured:
    """The measured figures of one row."""

    estimates: Estimates
    cpu_s: float
    """CPU seconds of all its units, including those of earlier runs."""
    what: str
    """The amount of play, in words."""
    score: tuple[float, float, float] | None = None
    """A's mean score in a match, with its 95 % interval; None for counts."""
    histogram: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """How often each number was observed, by name of the series; empty for most measures."""


def measure(row: PublishedRow, need: Need, done: Mapping[int, Done]) -> Measured:
    """Measure one row, whose units are all done."""
    units = [done[number][0] for number in range(need.units)]
    if need.match is not None:
        return _of_match(row, need.match, units)
    cpu_s = sum(each_s for _, each_s in done.values())
    if row.measure in counts.SAMPLES:
        return _of_samples(units, cpu_s)
    exact = {name: Estimate.exact(value) for name, value in units[0].items()}
    return Measured(exact, cpu_s, "counted")


def names() -> list[str]:
    """Names of all measures."""
    return [*OF_MATCHES, *counts.COUNTS, *counts.SAMPLES]


def _of_match(row: PublishedRow, context: MatchContext, records: Sequence[GameRecord]) -> Measured:
    """The unit of results is a pair (by the sum of both results), a game, or a game of A on one side."""
    unit = row.details.get("unit", "pairs") if row.measure == RESULTS else "games"
    standing = Standing(dict(enumerate(records)), "margins" if unit == "pairs" else "wins")
    tally, scores = getattr(standing, TALLIES[unit]), standing.pair_scores
    if unit in ("first", "second"):
        scores = [1.0] * tally.wins + [0.5] * tally.draws + [0.0] * tally.losses
    what = f"{tally.number} {'pair' if unit == 'pairs' else 'game'}{'s' * (tally.number != 1)}"
    cpu_s = sum(effort.cpu_s for effort in standing.efforts)
    if row.measure == RESULTS:
        shares = {name: Estimate.share(getattr(tally, name), tally.number) for name in OUTCOMES}
        return Measured(shares, cpu_s, what, (mean(scores), *score_interval(scores)))
    game = context.load_game()
    if row.measure == "branching":
        return _branching(game, records, cpu_s, what)
    return Measured(_FIGURES[row.measure](game, records), cpu_s, what)


def _of_samples(games: Sequence[counts.Samples], cpu_s: float) -> Measured:
    """Means of all observations, with intervals over games, whose observations are not independent."""
    estimates = {}
    for name in games[0]:
        groups = [list(map(float, game[name])) for game in games]
        values = [value for group in groups for value in group]
        estimates[f"{name}, mean"] = Estimate.of_groups(groups, name)
        for what, of in _OF_SAMPLES.items():
            estimates[f"{name}, {what}"] = Estimate.alone(of(values or [math.nan]), name, len(values))
    return Measured(estimates, cpu_s, counted(len(games), "game"))


def _branching(game: Game, records: Sequence[GameRecord], cpu_s: float, what: str) -> Measured:
    """Numbers of legal moves: the mean over all positions of all games, and the maximum of each player.

    The histogram says how many positions have each number: of both players, and of each.
    """
    moves: list[tuple[list[int], list[int]]] = []
    for record in records:
        moves.append(([], []))
        state = record.start_state(game)
        for text in record.moves:
            moves[-1][int(game.calls.current_player(state))].append(len(game.legal_moves(state)))
            game.play_text(state, [text])
    first, second = (Counter(chain(*sides)) for sides in zip(*moves, strict=True))
    estimates = {
        "mean": Estimate.of_groups([[*one, *other] for one, other in moves], "moves"),
        "first player's maximum": Estimate.alone(max(first, default=0), "moves", len(records)),
        "second player's maximum": Estimate.alone(max(second, default=0), "moves", len(records)),
    }
    histogram = {"both players": first + second, "first player": first, "second player": second}
    return Measured(estimates, cpu_s, what, histogram=histogram)


def _plies(game: Game, records: Sequence[GameRecord]) -> Estimates:
    """The mean length of games in plies, which is twice the number of moves of one player."""
    return {"plies": Estimate.mean([float(len(record.moves)) for record in records], "plies")}


def _accuracy(game: Game, records: Sequence[GameRecord]) -> Estimates:
    """Battleship with one shooter: fleet cells / shots of each game, and the number of shots."""
    # The fleet's answers are moves too.
    answers = ("hit", "miss", "sunk")
    shots = [sum(not move.startswith(answers) for move in record.moves) for record in records]
    cells = sum(int(length) for length in str(game.options["fleet"]).split("-"))
    shares = [100.0 * cells / number for number in shots]
    return {
        "mean": Estimate.mean(shares, "%, mean"),
        "best": Estimate.alone(max(shares), "%, best", len(shares)),
        "worst": Estimate.alone(min(shares), "%, worst", len(shares)),
        "shots": Estimate.mean([float(number) for number in shots], "shots"),
    }


def _margins(game: Game, records: Sequence[GameRecord]) -> Estimates:
    """By how many points games are won, and how many pairs the same side of the board won twice by as much.

    Such a pair is a draw by the sum of both results, although no game was drawn.
    """
    results = [record.result or 0.0 for record in records]
    alike = [one == other != 0.0 for one, other in zip(results[::2], results[1::2], strict=False)]
    return {
        "points": Estimate.mean([abs(result) * game.points for result in results], "points, mean"),
        "alike": Estimate.share(sum(alike), len(alike)),
    }


_FIGURES: dict[str, Callable[[Game, Sequence[GameRecord]], Estimates]] = {
    "plies": _plies,
    "accuracy": _accuracy,
    "margins": _margins,
}
_OF_SAMPLES: dict[str, Callable[[Sequence[float]], float]] = {
    "median": statistics.median,
    "deviation": statistics.pstdev,
    "least": min,
    "most": max,
}
