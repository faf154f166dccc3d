"""How strong searches are by the games that they played: ratings, the sequential curve, strength speedups.

Scores are explained by ratings, as Elo does: A is expected to score 1 / (1 + exp(rating of B - rating of A)).
A sequential search with 2**x simulations has the rating a (x - m) + c (x - m)**2, with m the middle of the
budgets: Chaslot et al. (2008) take the line, c = 0; searches that are near perfect gain less by a doubling.
Each parallel search has a rating of its own. All are fitted together, by maximum likelihood, to all
matches. The strength speedup of a parallel search is the budget at which the curve has its rating,
divided by the budget of one lane.

Intervals are 95 %, by a bootstrap: the pairs of each match are drawn again, with replacement, and everything
is fitted again. No clock, no file and no search in here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cluster.matches.statistics import Interval, mean

SAMPLES = 1000
"""Of the bootstrap."""
ELO = 400 / math.log(10)
"""Elo in one unit of rating."""
BENT = 10.0
"""What is known of c beforehand: about so much Elo, in a doubling squared, as a standard deviation. Enough to
leave a line where the matches are too few to tell, and far too little to matter where they can."""
LEAST = 0.25
"""A match that is won entirely counts as won but for so many of its pairs: no rating is infinite."""
MARGIN = 3.0
"""Doublings beyond the sequential budgets that the curve is continued for, as a line."""
STEPS = 64
"""Steps in a doubling at which the curve is looked up."""
MAX_ITERATIONS = 60
TOLERANCE = 1e-9

Floats = npt.NDArray[np.float64]
Player = float | str
"""A sequential search as the binary logarithm of its simulations, or a parallel one by its name."""


@dataclass(frozen=True)
class Scores:
    """One match as the fit sees it."""

    a: Player
    b: Player
    pairs: tuple[float, ...]
    """A's score in each pair: 0, 1/4, 1/2, 3/4 or 1."""


@dataclass(frozen=True)
class Speedup:
    """A budget at which a sequential search plays as well, as a multiple of another budget."""

    value: float
    """0 or inf where that is outside the continued curve."""
    interval: Interval


@dataclass(frozen=True, eq=False)
class Fit:
    """What explains the matches best (row 0), and the same for each sample of the bootstrap."""

    middle: float
    line: Floats
    """a, shape (1 + samples,)."""
    bend: Floats
    """c, the same shape."""
    ratings: dict[str, Floats]
    """Of the parallel searches, the same shape."""
    low: float
    high: float
    """Binary logarithms of the smallest and the largest sequential budget."""
    expected: tuple[float, ...]
    """The score of each match by the fit."""
    misfit: float
    """Sum of the squares of (score - expected) / its error; about ``freedom`` if ratings explain all."""
    freedom: int

    def rating(self, log2_budget: float) -> Floats:
        """Of a sequential search; beyond the budgets that played, along a line. Shape (1 + samples,)."""
        inside = min(max(log2_budget, self.low), self.high)
        at = inside - self.middle
        slope = self.line + 2 * self.bend * at
        return np.asarray(self.line * at + self.bend * at**2 + slope * (log2_budget - inside))

    def elo(self, log2_budget: float, against: float) -> tuple[float, Interval]:
        """How much stronger one sequential search is than another, in Elo."""
        return _estimate((self.rating(log2_budget) - self.rating(against)) * ELO)

    def speedup(self, name: str, lane_budget: int) -> Speedup:
        """Of a parallel search whose lanes have so many simulations each."""
        grid = np.linspace(
            self.low - MARGIN, self.high + MARGIN, 1 + round(STEPS * (self.high - self.low + 2 * MARGIN))
        )
        # A curve that falls somewhere says that no budget of those is any better than the best before.
        curves = np.maximum.accumulate([self.rating(x) for x in grid], axis=0)
        found = [
            np.interp(rating, curve, grid, left=-math.inf, right=math.inf)
            for rating, curve in zip(self.ratings[name], curves.T, strict=True)
        ]
        value, interval = _estimate(np.exp2(np.asarray(found)) / lane_budget)
        return Speedup(value, interval)


def fit(matches: Sequence[Scores], samples: int = SAMPLES, seed: int = 0) -> Fit:
    """Fit ratings to matches; at least one of them must be between two sequential budgets."""
    budgets = sorted(
        {player for match in matches for player in (match.a, match.b) if isinstance(player, float)}
    )
    middle = (budgets[0] + budgets[-1]) / 2
    names = list(
        dict.fromkeys(player for match in matches for player in (match.a, match.b) if isinstance(player, str))
    )

    def row(player: Player) -> Floats:
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
    """Mean scores of matches: as they are, then of pairs drawn again. Shape (1 + samples, matches).

    Where all pairs ended alike, drawing them again would say that this is certain: there the score is
    drawn from what a game's share would be after so many trials (Jeffreys).
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
    """The variance of a pair's score, as a multiple of p (1 - p); over all matches, for one may be too short.

    1/2 if both games of a pair were independent and none drawn.
    """
    found = usual = 0.0
    for pairs in matches:
        score = mean(pairs)
        found += sum((pair - score) ** 2 for pair in pairs)
        usual += (len(pairs) - 1) * score * (1 - score)
    return found / usual if found > 0 else 0.5


def _likeliest(design: Floats, weights: Floats, scores: Floats) -> Floats:
    """Newton's method for all samples at once: the parameters, shape (samples, parameters).

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


def _estimate(values: Floats) -> tuple[float, Interval]:
    """Row 0, and the middle 95 % of all others."""
    if len(values) == 1:
        return float(values[0]), (-math.inf, math.inf)
    low, high = np.quantile(values[1:], (0.025, 0.975), method="nearest")
    return float(values[0]), (float(low), float(high))
