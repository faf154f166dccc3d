"""What the results of a match say: win rates, Elo with their errors, and when a match may stop.

Games are played in pairs from one opening with sides swapped, and the two games of a pair are not
independent. So a pair is one observation: the mean of its two scores, 0, 1/4, 1/2, 3/4 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Z95 = 1.959963984540054
"""The 97.5 % point of the normal distribution: 95 % lie between -Z95 and Z95."""
PAIR_SCORES = (0.0, 0.25, 0.5, 0.75, 1.0)
ALPHA = BETA = 0.05
"""Errors of a sequential test: accepting elo1 although elo0 holds, and the other way round."""
RARE = 1e-3
"""Counted for each pair score that has not come yet, so that no likelihood is zero."""

Interval = tuple[float, float]


def wilson(successes: float, trials: int, z: float = Z95) -> Interval:
    """Wilson's score interval for a share (Wilson 1927); [0, 1] without trials."""
    if trials == 0:
        return 0.0, 1.0
    share = successes / trials
    centre = share + z * z / (2 * trials)
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    low = 0.0 if successes == 0 else (centre - half) / scale
    return low, 1.0 if successes == trials else (centre + half) / scale


def elo_of(score: float) -> float:
    """The Elo difference at which this score is expected; infinite for 0 and 1."""
    if not 0 < score < 1:
        return math.copysign(math.inf, score - 0.5)
    return 400 * math.log10(score / (1 - score))


def score_of(elo: float) -> float:
    """The score that is expected at an Elo difference."""
    return float(1 / (1 + 10 ** (-elo / 400)))


def mean(values: Sequence[float]) -> float:
    """The mean; 1/2 of nothing at all."""
    return sum(values) / len(values) if values else 0.5


def standard_error(values: Sequence[float]) -> float:
    """Of the mean of independent values; infinite for fewer than two."""
    if len(values) < 2:
        return math.inf
    centre = mean(values)
    return math.sqrt(sum((value - centre) ** 2 for value in values) / (len(values) - 1) / len(values))


def score_interval(pair_scores: Sequence[float]) -> Interval:
    """A 95 % interval of the expected score, from pairs, by their own variance.

    Where all pairs ended alike their variance says nothing: then each counts as one trial, by Wilson.
    """
    error = standard_error(pair_scores)
    if error == 0 or math.isinf(error):
        return wilson(sum(pair_scores), len(pair_scores))
    centre = mean(pair_scores)
    return max(0.0, centre - Z95 * error), min(1.0, centre + Z95 * error)


def pentanomial(pair_scores: Sequence[float]) -> tuple[int, ...]:
    """How many pairs scored 0, 1/4, 1/2, 3/4 and 1."""
    return tuple(sum(abs(score - value) < 1e-9 for score in pair_scores) for value in PAIR_SCORES)


@dataclass(frozen=True)
class Sprt:
    """A sequential test of two hypotheses on the Elo difference, on pairs (Van den Bergh, GSPRT)."""

    elo0: float
    elo1: float

    @property
    def bounds(self) -> Interval:
        """The log-likelihood ratios at which elo0 and elo1 are accepted (Wald)."""
        return math.log(BETA / (1 - ALPHA)), math.log((1 - BETA) / ALPHA)

    def ratio(self, counts: Sequence[int]) -> float:
        """The log-likelihood ratio of elo1 to elo0, for counts of the five pair scores.

        Each hypothesis stands for the distribution, of all with its mean, that is likeliest.
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
        """``elo1`` or ``elo0``, whichever is accepted; None as long as it is open."""
        low, high = self.bounds
        ratio = self.ratio(counts)
        return "elo1" if ratio >= high else "elo0" if ratio <= low else None


def _likeliest(shares: Sequence[float], expected: float) -> list[float]:
    """The distribution over PAIR_SCORES with this mean under which ``shares`` are likeliest.

    It is share / (1 + x (score - mean)), and x the only root of a falling function between two poles.
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
