"""Estimates of strength from match scores: ratings, the sequential curve, and strength speedups.

Scores are modelled by ratings, as in Elo: the expected score of A is 1 / (1 + exp(rating of B - rating of
A)). A sequential search with 2**x simulations has the rating a (x - m) + c (x - m)**2, where m is the middle
of the budgets. Chaslot et al. (2008) use a line (c = 0), but near-perfect searches gain less from a doubling.
Each parallel search has its own rating. All parameters are fitted together to all matches, by maximum
likelihood. The strength speedup of a parallel search is the budget at which the curve has its rating, divided
by the budget of one lane.

Intervals are 95 %, by a bootstrap: the pairs of each match are resampled with replacement, and everything is
fitted again. This module uses no clock, no files and no searches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cluster.matches.statistics import Interval, mean

SAMPLES = 1000
"""Number of bootstrap samples."""
ELO = 400 / math.log(10)
"""Elo points per unit of rating."""
BENT = 10.0
"""Standard deviation of the prior of c, in Elo per squared doubling (mean 0). With few matches the curve
stays nearly a line; with many the prior has almost no influence."""
LEAST = 0.25
"""Number of pairs of a match that the loser is credited with at least, so that no rating is infinite."""
MARGIN = 3.0
"""Doublings beyond the sequential budgets for which the curve is extrapolated as a line."""
STEPS = 64
"""Steps per doubling of the grid on which a budget is searched."""
MAX_ITERATIONS = 60
TOLERANCE = 1e-9
Floats = npt.NDArray[np.float64]
Side = float | str
"""A sequential search as the binary logarithm of its simulations, or a parallel one by its name."""


@dataclass(frozen=True)
class Scores:
    """The scores of one match: input of the fit."""

    a: Side
    b: Side
    pairs: tuple[float, ...]
    """A's score in each pair: 0, 1/4, 1/2, 3/4 or 1."""


@dataclass(frozen=True)
class Figure:
    """An estimate with its 95 % interval. A speedup is 0 or inf if it is outside the extrapolated curve."""

    value: float
    interval: Interval

    @classmethod
    def of(cls, values: Floats) -> Figure:
        """The value of row 0, and the middle 95 % of the other rows, which are bootstrap samples."""
        if len(values) == 1:
            return cls(float(values[0]), (-math.inf, math.inf))
        low, high = np.quantile(values[1:], (0.025, 0.975), method="nearest")
        return cls(float(values[0]), (float(low), float(high)))

    def scaled(self, by: float) -> Figure:
        """The figure and its interval, multiplied."""
        return Figure(by * self.value, (by * self.interval[0], by * self.interval[1]))

    @property
    def is_finite(self) -> bool:
        """Whether the value and both ends of the interval are finite."""
        return all(map(math.isfinite, (self.value, *self.interval)))


def json_of(
    name: str, figure: Figure | None, digits: int = 4, of_interval: str | None = None
) -> dict[str, Any]:
    """A figure and its interval as JSON, by their names; what is infinite, or unknown, is null."""
    interval = f"{of_interval or name}_interval"
    if figure is None:
        return {name: None, interval: None}
    return {name: rounded(figure.value, digits), interval: [rounded(end, digits) for end in figure.interval]}


def rounded(value: float | None, digits: int = 4) -> float | None:
    """The number as JSON has it: null if it is infinite, or unknown."""
    return None if value is None or not math.isfinite(value) else round(value, digits)


@dataclass(frozen=True, eq=False)
class Fit:
    """The maximum likelihood fit of the matches (row 0) and of each bootstrap sample (further rows)."""

    middle: float
    line: Floats
    """a, shape (1 + samples,)."""
    bend: Floats
    """c, shape (1 + samples,)."""
    ratings: dict[str, Floats]
    """Ratings of parallel searches by name, each of shape (1 + samples,)."""
    low: float
    high: float
    """Binary logarithms of the smallest and the largest sequential budget."""
    expected: tuple[float, ...]
    """The expected score of each match."""
    misfit: float
    """Sum of squares of (score - expected) / error; about ``freedom`` if ratings explain the scores."""
    freedom: int

    def rating(self, log2_budget: float) -> Floats:
        """Ratings of a sequential search, shape (1 + samples,); extrapolated as a line beyond the budgets."""
        inside = min(max(log2_budget, self.low), self.high)
        at = inside - self.middle
        slope = self.line + 2 * self.bend * at
        return np.asarray(self.line * at + self.bend * at**2 + slope * (log2_budget - inside))

    def elo(self, log2_budget: float, against: float) -> Figure:
        """Elo of the sequential search with 2**``log2_budget`` simulations above that with 2**``against``."""
        return Figure.of((self.rating(log2_budget) - self.rating(against)) * ELO)

    def speedup(self, name: str, lane_budget: int) -> Figure:
        """The strength speedup of a parallel search with ``lane_budget`` simulations per lane."""
        grid = np.linspace(
            self.low - MARGIN, self.high + MARGIN, 1 + round(STEPS * (self.high - self.low + 2 * MARGIN))
        )
        # Where the curve falls, a larger budget counts as no better than the best before it.
        curves = np.maximum.accumulate([self.rating(x) for x in grid], axis=0)
        found = [
            np.interp(rating, curve, grid, left=-math.inf, right=math.inf)
            for rating, curve in zip(self.ratings[name], curves.T, strict=True)
        ]
        return Figure.of(np.exp2(np.asarray(found)) / lane_budget)


def fit(matches: Sequence[Scores], samples: int = SAMPLES, seed: int = 0) -> Fit:
    """Fit ratings to matches; at least one of them must be between two sequential budgets."""
    sides = [side for match in matches for side in (match.a, match.b)]
    budgets = sorted({side for side in sides if isinstance(side, float)})
    names = list(dict.fromkeys(side for side in sides if isinstance(side, str)))
    middle = (budgets[0] + budgets[-1]) / 2

    def row(player: Side) -> Floats:
        values = np.zeros(2 + len(names))
        if isinstance(player, str):
            values[2 + names.index(player)] = 1.0
        else:
            values[:2] = player - middle, (player - middle) ** 2
        return values

    design = np.array([row(match.a) - row(match.b) for match in matches])
    weights = np.array([len(match.pairs) for match in matches], dtype=np.float64)
    drawn = bootstrap([match.pairs for match in matches], samples, np.random.default_rng(seed))
    found = _likeliest(design, weights, drawn)
    expected = 1 / (1 + np.exp(-design @ found[0]))
    variance = expected * (1 - expected) * _spread([match.pairs for match in matches]) / weights
    off = (drawn[0] - expected) / np.sqrt(variance)
    return Fit(
        middle=middle,
        line=found[:, 0],
        bend=found[:, 1],
        ratings={name: found[:, 2 + i] for i, name in enumerate(names)},
        low=budgets[0],
        high=budgets[-1],
        expected=tuple(map(float, expected)),
        misfit=float(off @ off),
        freedom=len(matches) - 2 - len(names),
    )


def bootstrap(matches: Sequence[Sequence[float]], samples: int, draw: np.random.Generator) -> Floats:
    """Mean scores of matches, then of resampled pairs. Shape (1 + samples, matches).

    If all pairs of a match have one score, resampling would give it no error. Its score is then drawn from
    the posterior of a proportion (Jeffreys prior).
    """
    columns = []
    for pairs in matches:
        score, number = mean(pairs), max(1, len(pairs))
        if len(set(pairs)) > 1:
            again = draw.choice(np.asarray(pairs), (samples, number)).mean(axis=1)
        else:
            again = draw.beta(score * len(pairs) + 0.5, (1 - score) * len(pairs) + 0.5, samples)
        least = min(0.5, LEAST / number)
        columns.append(np.clip(np.concatenate(([score], again)), least, 1 - least))
    return np.stack(columns, axis=1)


def _spread(matches: Sequence[Sequence[float]]) -> float:
    """The variance of a pair's score as a multiple of p (1 - p), over all matches (one may be too short).

    It is 1/2 if both games of a pair are independent and none is drawn.
    """
    found = usual = 0.0
    for pairs in matches:
        score = mean(pairs)
        found += sum((pair - score) ** 2 for pair in pairs)
        usual += (len(pairs) - 1) * score * (1 - score)
    return found / usual if found > 0 else 0.5


def _likeliest(design: Floats, weights: Floats, scores: Floats) -> Floats:
    """The parameters with the highest likelihood, by Newton's method, shape (samples, parameters).

    design: (matches, parameters), weights: pairs of each match, scores: (samples, matches).
    """
    parameters = np.zeros((len(scores), design.shape[1]))
    prior = np.full(design.shape[1], TOLERANCE)
    prior[1] = (ELO / BENT) ** 2
    ridge = np.diag(prior)
    # Two games a pair, each an observation.
    weights = 2 * weights
    for _ in range(MAX_ITERATIONS):
        expected = 1 / (1 + np.exp(-parameters @ design.T))
        slope = ((scores - expected) * weights) @ design - parameters @ ridge
        curvature = np.einsum("sm,mi,mj->sij", expected * (1 - expected) * weights, design, design) + ridge
        step = np.linalg.solve(curvature, slope[..., None])[..., 0]
        # Far from the best parameters a whole step may lead away from them.
        step /= np.maximum(1.0, np.abs(step @ design.T).max(axis=1, keepdims=True) / 2)
        parameters += step
        if np.abs(step).max() < TOLERANCE:
            break
    return parameters
