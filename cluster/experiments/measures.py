"""What can be measured: a row's texts and numbers go in, estimates by the names of its figures come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cluster.experiments import counts
from cluster.experiments.estimate import Estimate
from cluster.experiments.laboratory import Laboratory, Played
from cluster.experiments.table import Row
from cluster.match_record import Effort, GameRecord
from cluster.match_standing import Tally, return_of_a
from cluster.match_statistics import wilson
from games.errors import InvalidInput

Estimates = dict[str, Estimate]


@dataclass(frozen=True)
class Measured:
    """What came of one row."""

    estimates: Estimates
    cpu_s: float
    """CPU seconds that it took, whenever that was."""
    what: str
    """How much was played, in words."""
    score: tuple[float, float, float] | None = None
    """Of a match: A's mean score with its 95 % interval."""
    also: Mapping[str, str] = field(default_factory=dict)
    """What else is worth knowing, by name."""


def measure(row: Row, laboratory: Laboratory) -> Measured:
    """Measure one row; raises InvalidInput (a measure or player that there is not), MatchFailed, Interrupted."""
    if row.measure in _OF_MATCHES:
        return _of_match(row, laboratory)
    if row.measure in counts.COUNTS:
        return _of_count(row, laboratory)
    raise InvalidInput("measure", row.measure, "one of " + ", ".join(names()))


def names() -> list[str]:
    """All measures."""
    return [*_OF_MATCHES, *counts.COUNTS]


def _of_match(row: Row, laboratory: Laboratory) -> Measured:
    details = dict(row.details)
    try:
        game, a, num_games = details["game"], details["a"], details["games"]
    except KeyError as error:
        raise InvalidInput("table", row.name, f"a row with {error}") from None
    played = laboratory.play(game, a, details.get("b", a), num_games, details.get("opening_plies", 0))
    standing = played.match.standing()
    low, high = standing.score_interval
    what = f"{standing.number} games" if details.get("unit") == "games" else f"{len(standing.pairs)} pairs"
    efforts = standing.efforts
    also = {
        f"player {n}": f"{effort.simulations / max(1, effort.moves):.0f} simulations, "
        f"{1000 * effort.cpu_s / max(1, effort.moves):.2f} ms a move"
        for n, effort in enumerate(efforts, start=1)
        if effort.moves
    }
    also["plies a game"] = f"{standing.mean_plies:.0f}"
    estimates = _OF_MATCHES[row.measure](row, played)
    return Measured(estimates, played.cpu_s, what, (standing.score, low, high), also)


def _of_count(row: Row, laboratory: Laboratory) -> Measured:
    arguments = {key: value for key, value in row.details.items() if key != "games"}
    arguments["seed"] = laboratory.seed
    found, cpu_s = laboratory.count(row.measure, arguments, lambda: counts.COUNTS[row.measure](arguments))
    return Measured({name: Estimate.exact(value) for name, value in found.items()}, cpu_s, "counted")


def _results(row: Row, played: Played) -> Estimates:
    """wins, draws and losses of A: of pairs by the sum of both results, of games, or of A's games on one side."""
    standing = played.match.standing()
    tallies: dict[str, Tally] = {
        "pairs": standing.pair_tally,
        "games": standing.all,
        "first": standing.as_first,
        "second": standing.as_second,
    }
    unit = row.details.get("unit", "pairs")
    if unit not in tallies:
        raise InvalidInput("table", f"{row.name}: unit={unit}", "one of " + ", ".join(tallies))
    tally = tallies[unit]
    return {
        "wins": Estimate.share(tally.wins, tally.number),
        "draws": Estimate.share(tally.draws, tally.number),
        "losses": Estimate.share(tally.losses, tally.number),
    }


def _plies(row: Row, played: Played) -> Estimates:
    """The length of games; own moves are half of it."""
    lengths = [float(len(record.moves)) for record in played.match.records]
    return {"plies": Estimate.mean(lengths, "plies")}


def _branching(row: Row, played: Played) -> Estimates:
    """How many legal moves positions have: the mean over games' means, and the most of each player."""
    means, most, first = [], [0, 0], 0
    for record in played.match.records:
        numbers, game = [], played.game
        state = record.start_state(game)
        for text in record.moves:
            number, mover = len(game.legal_moves(state)), int(game.calls.current_player(state))
            numbers.append(number)
            most[mover] = max(most[mover], number)
            first = first or number
            game.play_text(state, [text])
        means.append(sum(numbers) / len(numbers))
    return {
        "mean": Estimate.mean(means, "moves"),
        "first player's maximum": Estimate.exact(most[0], "moves"),
        "second player's maximum": Estimate.exact(most[1], "moves"),
        "at the start": Estimate.exact(first, "moves"),
    }


def _effort(row: Row, played: Played) -> Estimates:
    """What A's moves took: over games, the mean of a move, and the longest of all."""
    efforts = [_effort_of_a(played, record) for record in played.match.records]
    efforts = [effort for effort in efforts if effort.moves]
    return {
        "simulations": Estimate.mean([effort.simulations / effort.moves for effort in efforts], "a move"),
        "calls": Estimate.mean([effort.nodes / effort.moves for effort in efforts], "a move"),
        "mean ms": Estimate.mean([1000 * effort.cpu_s / effort.moves for effort in efforts], "ms"),
        "maximum ms": Estimate.exact(1000 * max(effort.longest_s for effort in efforts), "ms"),
    }


def _accuracy(row: Row, played: Played) -> Estimates:
    """Battleship with one shooter: the fleet's cells to shots, of each game; and the shots."""
    shots = [_shots(record) for record in played.match.records]
    cells = sum(int(length) for length in str(played.game.options["fleet"]).split("-"))
    shares = [100.0 * cells / number for number in shots]
    return {
        "mean": Estimate.mean(shares, "%, mean"),
        "best": Estimate.exact(max(shares), "%, best"),
        "worst": Estimate.exact(min(shares), "%, worst"),
        "shots": Estimate.mean([float(number) for number in shots], "shots"),
    }


def _shots(record: GameRecord) -> int:
    """Moves but for the answers."""
    return sum(move not in ("hit", "miss") and not move.startswith("sunk") for move in record.moves)


def _effort_of_a(played: Played, record: GameRecord) -> Effort:
    """Of both players, where they are the same."""
    assert record.leg is not None
    a, b = played.match.context.players
    return record.efforts[0] + record.efforts[1] if a == b else record.efforts[record.leg - 1]


_OF_MATCHES: dict[str, Callable[[Row, Played], Estimates]] = {
    "results": _results,
    "plies": _plies,
    "branching": _branching,
    "effort": _effort,
    "accuracy": _accuracy,
}
