"""Statistics of matches: scores and Elo differences with intervals, sequential and exact tests.

Games are played in pairs from one opening with swapped sides, and the two games of a pair are not
independent. So the unit of observation is a pair: the mean of its two scores, 0, 1/4, 1/2, 3/4 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Z95 = 1.959963984540054
"""The 97.5 % quantile of the normal distribution: 95 % lie between -Z95 and Z95."""
STUDENT_95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""The 97.5 % quantiles of Student's distribution for 1 to 30 degrees of freedom."""
PAIR_SCORES = (0.0, 0.25, 0.5, 0.75, 1.0)
ALPHA = BETA = 0.05
"""Error probabilities of a sequential test: ALPHA of accepting elo1 if elo0 holds, BETA of the reverse."""
RARE = 1e-3
"""Pseudo-count of a pair score that has not occurred, so that no likelihood is zero."""
ROUNDING = 1e-7
"""Relative difference of two probabilities that count as equal."""

Interval = tuple[float, float]


def wilson(successes: float, trials: int, z: float = Z95) -> Interval:
    """Wilson's score interval of a proportion (Wilson 1927); [0, 1] without trials."""
    if trials == 0:
        return 0.0, 1.0
    share = successes / trials
    centre = share + z * z / (2 * trials)
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    low = 0.0 if successes == 0 else (centre - half) / scale
    return low, 1.0 if successes == trials else (centre + half) / scale


def student_95(freedom: int) -> float:
    """The 97.5 % quantile of Student's distribution, at most 1 % too large; Z95 from 1,000 degrees on."""
    if freedom <= len(STUDENT_95):
        return STUDENT_95[freedom - 1]
    more = ((1000, Z95), (120, 1.980), (60, 2.000), (40, 2.021))
    return next((quantile for least, quantile in more if freedom >= least), STUDENT_95[-1])


def elo_of(score: float) -> float:
    """The Elo difference at which ``score`` is the expected score; infinite for 0 and 1."""
    if not 0 < score < 1:
        return math.copysign(math.inf, score - 0.5)
    return 400 * math.log10(score / (1 - score))


def score_of(elo: float) -> float:
    """The expected score at an Elo difference."""
    return float(1 / (1 + 10 ** (-elo / 400)))


def finite(value: float) -> float | None:
    """The value as JSON has it: None if it is infinite or not a number."""
    return value if math.isfinite(value) else None


def mean(values: Sequence[float]) -> float:
    """The mean of scores; 1/2 without values."""
    return sum(values) / len(values) if values else 0.5


def standard_error(values: Sequence[float]) -> float:
    """The standard error of the mean of independent values; infinite for fewer than two values."""
    if len(values) < 2:
        return math.inf
    centre = mean(values)
    return math.sqrt(sum((value - centre) ** 2 for value in values) / (len(values) - 1) / len(values))


def score_interval(pair_scores: Sequence[float]) -> Interval:
    """A 95 % confidence interval of the expected score, Student's, from the sample variance of pairs.

    If all pairs have equal scores, the variance is 0, and Wilson's interval is used with a trial per pair.
    """
    error = standard_error(pair_scores)
    if error == 0 or math.isinf(error):
        return wilson(sum(pair_scores), len(pair_scores))
    centre, half = mean(pair_scores), student_95(len(pair_scores) - 1) * error
    return max(0.0, centre - half), min(1.0, centre + half)


def pentanomial(pair_scores: Sequence[float]) -> tuple[int, ...]:
    """The numbers of pairs that scored 0, 1/4, 1/2, 3/4 and 1."""
    return tuple(sum(abs(score - value) < 1e-9 for score in pair_scores) for value in PAIR_SCORES)


@dataclass(frozen=True)
class Sprt:
    """A sequential test of two Elo differences on pairs: the generalised SPRT of Van den Bergh."""

    elo0: float
    elo1: float

    @property
    def bounds(self) -> Interval:
        """The log-likelihood ratios at which elo0 and elo1 are accepted (Wald's bounds)."""
        return math.log(BETA / (1 - ALPHA)), math.log((1 - BETA) / ALPHA)

    def ratio(self, counts: Sequence[int]) -> float:
        """The log-likelihood ratio of elo1 to elo0 for counts of the five pair scores.

        The likelihood of a hypothesis is the maximum over all distributions with its expected score.
        """
        if not any(counts):
            return 0.0
        regular = [max(float(count), RARE) for count in counts]
        total = sum(regular)
        shares = [count / total for count in regular]
        likely0, likely1 = (_likeliest(shares, score_of(elo)) for elo in (self.elo0, self.elo1))
        return total * sum(
            share * math.log(one / zero) for share, zero, one in zip(shares, likely0, likely1, strict=True)
        )

    def decision(self, counts: Sequence[int]) -> str | None:
        """The accepted hypothesis, ``elo0`` or ``elo1``; None while the test is undecided."""
        low, high = self.bounds
        ratio = self.ratio(counts)
        return "elo1" if ratio >= high else "elo0" if ratio <= low else None


def _likeliest(shares: Sequence[float], expected: float) -> list[float]:
    """The maximum-likelihood distribution over PAIR_SCORES, given ``shares``, with the mean ``expected``.

    Its probabilities are share / (1 + x (score - mean)), where x is the only root of a decreasing function
    between two poles.
    """
    gaps = [score - expected for score in PAIR_SCORES]
    low, high = -1 / gaps[-1], -1 / gaps[0]
    for _ in range(60):
        x = (low + high) / 2
        if sum(share * gap / (1 + x * gap) for share, gap in zip(shares, gaps, strict=True)) > 0:
            low = x
        else:
            high = x
    return [share / (1 + x * gap) for share, gap in zip(shares, gaps, strict=True)]


def freeman_halton(first: Sequence[int], second: Sequence[int]) -> float:
    """The exact probability that two samples of one distribution differ as much as these.

    The samples are numbers of games by outcome (two or three outcomes). The result is the sum of the
    probabilities of all tables with the same margins that are at most as probable as this one: Fisher's exact
    test, for three outcomes after Freeman and Halton 1951.
    """
    first, second = sorted((first, second), key=sum)
    games = sum(first)
    a, b, c = [x + y for x, y in zip(first, second, strict=True)] + [0] * (3 - len(first))
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, a + b + c + 1)))))
    x, y = np.meshgrid(np.arange(min(a, games) + 1), np.arange(min(b, games) + 1), indexing="ij")
    z = games - x - y
    inside = (z >= 0) & (z <= c)
    ways = sum(
        (logs[n] - logs[k[inside]] - logs[n - k[inside]] for n, k in ((a, x), (b, y), (c, z))),
        start=np.zeros(int(inside.sum())),
    )
    chances = np.exp(ways - ways.max())
    found = chances[(x[inside] == first[0]) & (y[inside] == first[1])]
    return float(chances[chances <= found * (1 + ROUNDING)].sum() / chances.sum())


def holm(probabilities: Sequence[float]) -> list[float]:
    """The p values of several tests, each corrected for their number (Holm 1979)."""
    corrected, least = [1.0] * len(probabilities), 0.0
    for place, index in enumerate(sorted(range(len(probabilities)), key=probabilities.__getitem__)):
        least = max(least, min(1.0, (len(probabilities) - place) * probabilities[index]))
        corrected[index] = least
    return corrected
