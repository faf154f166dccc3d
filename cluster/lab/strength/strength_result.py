"""The result of a measurement of strength: a row for each parallel search, and the sequential curve."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cluster.lab.strength.strength import CURVE, LANE, TOTAL, Cell, Meeting, Plan, describe, simulations_of
from cluster.lab.strength.strength_fit import Fit, Scores, Speedup, fit
from cluster.matches.standing import Standing
from cluster.matches.statistics import Interval


@dataclass(frozen=True)
class Score:
    """A's score in one match, over the games played so far."""

    score: float
    interval: Interval
    """The 95 % interval."""
    pairs: int


@dataclass(frozen=True)
class Row:
    """The results of one parallel search."""

    cell: Cell
    equal_lane: Score | None
    """Score against a sequential search with the budget of one lane; None if not played."""
    equal_total: Score | None
    """Score against a sequential search with the budget of all lanes; 50 % means no loss. None if not
    played."""
    strength: Speedup | None
    """Strength speedup; None if a match is missing for it."""
    throughput: float | None
    """Upper limit of the throughput speedup: lanes x CPU seconds of the sequential search / CPU seconds of
    the parallel one, for equal simulations. It excludes calls and waiting."""
    predicted: float | None
    """Predicted throughput speedup with a worker per lane (see `strength_throughput`); None without costs."""


@dataclass(frozen=True)
class Doubling:
    """One budget of the sequential curve."""

    simulations: int
    elo: float
    """Elo above the smallest budget."""
    interval: Interval
    doubling: float
    """Elo gained by doubling this budget."""


class StrengthResult:
    """The result of a plan whose matches were played completely or in part."""

    def __init__(
        self, plan: Plan, standings: Sequence[Standing], predicted: Mapping[str, float] | None = None
    ) -> None:
        """``standings``: one for each meeting of the plan, in order. ``predicted``: throughputs by
        Cell.name."""
        self.plan = plan
        self.predicted = predicted
        self.played = list(zip(plan.meetings, standings, strict=True))

    @property
    def pairs(self) -> tuple[int, int]:
        """The smallest and the largest number of pairs of a match."""
        numbers = [len(standing.pairs) for _, standing in self.played]
        return min(numbers), max(numbers)

    @cached_property
    def fit(self) -> Fit | None:
        """The fit of all matches; None without a curve, or if a match has no pair yet."""
        if self.plan.request.scores_only or not self.pairs[0]:
            return None
        matches = [
            Scores(meeting.a, meeting.b, tuple(standing.pair_scores)) for meeting, standing in self.played
        ]
        return fit(matches, seed=self.plan.request.seed)

    @cached_property
    def rows(self) -> list[Row]:
        """Rows of all parallel searches, ordered by strategy, then by lanes."""
        return [self._row(cell) for cell in self.plan.cells]

    @cached_property
    def curve(self) -> list[Doubling]:
        """All sequential budgets that played each other, ascending; empty without a fit."""
        found = self.fit
        if found is None:
            return []
        sides = sorted({side for m, _ in self.played if m.kind == CURVE for side in (m.a, m.b)}, key=float)
        doublings = []
        for side in sides:
            assert isinstance(side, float)
            elo, interval = found.elo(side, found.low)
            doublings.append(Doubling(simulations_of(side), elo, interval, found.elo(side + 1, side)[0]))
        return doublings

    def standing(self, kind: str, cell: Cell) -> Standing | None:
        """The standing of the parallel search's match of this kind; None if there is none."""
        for meeting, standing in self.played:
            if meeting.kind == kind and meeting.cell == cell:
                return standing
        return None

    def to_json(self) -> dict[str, Any]:
        """The whole result as JSON; infinite and unknown values are null."""
        found = self.fit
        return describe(self.plan) | {
            "rows": [row_json(row) for row in self.rows],
            "curve": [
                {
                    "simulations": point.simulations,
                    "elo": _rounded(point.elo),
                    "elo_interval": _both(point.interval),
                    "elo_of_doubling": _rounded(point.doubling),
                }
                for point in self.curve
            ],
            "matches": [
                self._match_json(number, meeting, standing)
                for number, (meeting, standing) in enumerate(self.played)
            ],
            "misfit": None if found is None else _rounded(found.misfit),
            "freedom": None if found is None else found.freedom,
        }

    def _row(self, cell: Cell) -> Row:
        lane, total = (self.standing(kind, cell) for kind in (LANE, TOTAL))
        strength = None
        if self.fit is not None:
            sequential = Speedup(1.0, (1.0, 1.0))
            strength = (
                sequential if cell.is_sequential else self.fit.speedup(cell.name, cell.lane_simulations)
            )
        predicted = None if self.predicted is None else self.predicted.get(cell.name, 1.0)
        return Row(cell, _score(lane), _score(total), strength, throughput(cell, total), predicted)

    def _match_json(self, number: int, meeting: Meeting, standing: Standing) -> dict[str, Any]:
        score = _score(standing)
        return {
            "kind": meeting.kind,
            "a": meeting.context.players[0],
            "b": meeting.context.players[1],
            "seed": meeting.context.seed,
            "pairs": len(standing.pairs),
            "score": None if score is None else _rounded(score.score),
            "score_interval": None if score is None else _both(score.interval),
            "expected": None if self.fit is None else _rounded(self.fit.expected[number]),
            "different_games": standing.different_games,
        }


def throughput(cell: Cell, total: Standing | None) -> float | None:
    """The value of `Row.throughput`, from the match at equal totals."""
    if cell.is_sequential:
        return 1.0
    if total is None:
        return None
    ours, theirs = total.efforts
    if not (ours.simulations and theirs.simulations and ours.cpu_s and theirs.cpu_s):
        return None
    return cell.lanes * (ours.simulations / ours.cpu_s) / (theirs.simulations / theirs.cpu_s)


def row_json(row: Row) -> dict[str, Any]:
    """A row as JSON; a line of CSV has separate columns for its lists."""
    cell, strength = row.cell, row.strength
    known: dict[str, Any] = {
        "strategy": str(cell.strategy),
        "lanes": cell.lanes,
        "simulations_per_lane": cell.lane_simulations,
        "total_simulations": cell.total_simulations,
        "strength_speedup": None if strength is None else _rounded(strength.value),
        "strength_speedup_interval": None if strength is None else _both(strength.interval),
        "strength_efficiency": None if strength is None else _rounded(strength.value / cell.lanes),
        "throughput_speedup_at_most": None if row.throughput is None else _rounded(row.throughput),
        "throughput_speedup_predicted": None if row.predicted is None else _rounded(row.predicted),
    }
    for name, score in (("equal_lane", row.equal_lane), ("equal_total", row.equal_total)):
        known |= {
            f"{name}_score": None if score is None else _rounded(score.score),
            f"{name}_interval": None if score is None else _both(score.interval),
            f"{name}_pairs": 0 if score is None else score.pairs,
        }
    return known


def _score(standing: Standing | None) -> Score | None:
    if standing is None or not standing.pairs:
        return None
    return Score(standing.score, standing.score_interval, len(standing.pairs))


def _rounded(value: float) -> float | None:
    return round(value, 4) if math.isfinite(value) else None


def _both(interval: Interval) -> list[float | None]:
    return [_rounded(value) for value in interval]
