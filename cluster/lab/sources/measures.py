"""Measures: functions from a row and its finished units to estimates by figure name."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from cluster.lab.sources import counts
from cluster.lab.sources.estimate import Estimate
from cluster.lab.sources.table import OUTCOMES, Row
from cluster.lab.sources.units import CountNeed, Kept, MatchNeed, Need
from cluster.matches.game import MatchContext
from cluster.matches.record import GameRecord
from cluster.matches.standing import Standing, Tally
from cluster.matches.statistics import mean, score_interval
from games.errors import InvalidInput, counted
from games.game import Game

Estimates = dict[str, Estimate]
RESULTS, PAIRS = "results", "pairs"


@dataclass(frozen=True)
class Played:
    """A finished match."""

    context: MatchContext
    tally: Tally
    """A's wins, draws and losses, in the row's unit."""
    records: Mapping[int, GameRecord]

    @property
    def game(self) -> Game:
        return self.context.load_game()

    @cached_property
    def branching(self) -> list[tuple[list[int], list[int]]]:
        """The numbers of legal moves in the positions of each game, by player to move."""
        game, found = self.game, []
        for record in self.records.values():
            numbers: tuple[list[int], list[int]] = [], []
            state = record.start_state(game)
            for text in record.moves:
                numbers[int(game.calls.current_player(state))].append(len(game.legal_moves(state)))
                game.play_text(state, [text])
            found.append(numbers)
        return found

    @property
    def histogram(self) -> dict[str, Counter[int]]:
        """How many positions have each number of legal moves: of both players, and of each."""
        first, second = (Counter(chain(*sides)) for sides in zip(*self.branching, strict=True))
        return {"both players": first + second, "first player": first, "second player": second}


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


def measure(row: Row, need: Need, kept: Kept) -> Measured:
    """Measure one row, whose units are all done."""
    if isinstance(need, MatchNeed):
        return _of_match(row, need, kept)
    return _of_samples(need, kept) if row.measure in counts.SAMPLES else _of_count(kept)


def names() -> list[str]:
    """Names of all measures."""
    return [*_OF_MATCHES, *counts.COUNTS, *counts.SAMPLES]


def _of_match(row: Row, need: MatchNeed, kept: Kept) -> Measured:
    """The unit of results is a pair (by the sum of both results), a game, or a game of A on one side."""
    records = {number: kept.units[number] for number in range(need.units)}
    unit = row.details.get("unit", PAIRS) if row.measure == RESULTS else "games"
    standing = Standing(records, "margins" if unit == PAIRS else "wins")
    tallies = {
        PAIRS: standing.pair_tally,
        "games": standing.all,
        "first": standing.as_first,
        "second": standing.as_second,
    }
    if unit not in tallies:
        raise InvalidInput("table", f"{row.name}: unit={unit}", "one of " + ", ".join(tallies))
    tally, scores = tallies[unit], standing.pair_scores
    if unit in ("first", "second"):
        scores = [1.0] * tally.wins + [0.5] * tally.draws + [0.0] * tally.losses
    what = f"{tally.number} {'pair' if unit == PAIRS else 'game'}{'s' * (tally.number != 1)}"
    played = Played(need.context, tally, records)
    return Measured(
        _OF_MATCHES[row.measure](played),
        sum(effort.cpu_s for effort in standing.efforts),
        what,
        (mean(scores), *score_interval(scores)) if row.measure == RESULTS else None,
        played.histogram if row.measure == "branching" else {},
    )


def _of_count(kept: Kept) -> Measured:
    """Exact figures; a counted standard deviation gives the error of the source's sample."""
    found = kept.units[0]
    exact = {
        name: replace(Estimate.exact(value), spread=found.get(f"{name}, deviation", 0.0))
        for name, value in found.items()
    }
    return Measured(exact, kept.cpu_s, "counted")


def _of_samples(need: CountNeed, kept: Kept) -> Measured:
    """Means of all observations, with intervals over units: observations of one game are not independent."""
    estimates = {}
    for name in kept.units[0]:
        units = [list(map(float, kept.units[number][name])) for number in range(need.units)]
        values = [value for unit in units for value in unit]
        estimates[f"{name}, mean"] = Estimate.of_groups(units, name)
        for what, of in _OF_SAMPLES.items():
            estimates[f"{name}, {what}"] = Estimate.alone(of(values or [math.nan]), name, len(values))
    return Measured(estimates, kept.cpu_s, counted(need.units, "game"))


def _results(played: Played) -> Estimates:
    """A's shares of wins, draws and losses."""
    tally = played.tally
    return {name: Estimate.share(getattr(tally, name), tally.number) for name in OUTCOMES}


def _plies(played: Played) -> Estimates:
    """The mean length of games in plies, which is twice the number of moves of one player."""
    lengths = [float(len(record.moves)) for record in played.records.values()]
    return {"plies": Estimate.mean(lengths, "plies")}


def _branching(played: Played) -> Estimates:
    """Numbers of legal moves: the mean over all positions of all games, and the maximum of each player."""
    games = played.branching
    first, second = (max((max(game[side], default=0) for game in games), default=0) for side in (0, 1))
    return {
        "mean": Estimate.of_groups([[*game[0], *game[1]] for game in games], "moves"),
        "first player's maximum": Estimate.alone(first, "moves", len(games)),
        "second player's maximum": Estimate.alone(second, "moves", len(games)),
    }


def _accuracy(played: Played) -> Estimates:
    """Battleship with one shooter: fleet cells / shots of each game, and the number of shots."""
    shots = [_shots(record) for record in played.records.values()]
    cells = sum(int(length) for length in str(played.game.options["fleet"]).split("-"))
    shares = [100.0 * cells / number for number in shots]
    return {
        "mean": Estimate.mean(shares, "%, mean"),
        "best": Estimate.alone(max(shares), "%, best", len(shares)),
        "worst": Estimate.alone(min(shares), "%, worst", len(shares)),
        "shots": Estimate.mean([float(number) for number in shots], "shots"),
    }


def _shots(record: GameRecord) -> int:
    """Number of shots: moves without the fleet's answers."""
    return sum(move not in ("hit", "miss") and not move.startswith("sunk") for move in record.moves)


_OF_SAMPLES: dict[str, Callable[[Sequence[float]], float]] = {
    "median": statistics.median,
    "deviation": statistics.pstdev,
    "least": min,
    "most": max,
}
_OF_MATCHES: dict[str, Callable[[Played], Estimates]] = {
    RESULTS: _results,
    "plies": _plies,
    "branching": _branching,
    "accuracy": _accuracy,
}
