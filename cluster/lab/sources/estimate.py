"""Measured figures, figures of a source, and tests of their difference.

A difference is tested with errors that are combined as root of the sum of squares, as for independent samples
(for shares this is Newcombe's interval of a difference, 1998, method 10). The error of the source follows
from its number of games and from rounding to its last digit; without a number of games only rounding counts.
Figures are equivalent if the 95 % interval of their difference stays within a margin (Schuirmann 1987).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from statistics import NormalDist
from typing import Any

from cluster.matches.statistics import Z95, Interval, student_95, wilson
from games.errors import InvalidInput

PERCENT = "%"
MARGIN_POINTS = 20.0
"""Percentage points by which figures in percent may differ and still be equivalent."""
MARGIN = 0.2
"""Share of the source's figure by which other figures may differ and still be equivalent."""
ROUNDING = 1e-9
"""Tolerance for floating-point errors where figures differ by exactly the source's rounding."""


@dataclass(frozen=True)
class Estimate:
    """A figure of ours with its 95 % interval."""

    value: float
    low: float
    high: float
    unit: str = ""
    number: int = 1
    """Number of observations; 1 for an exact figure."""
    spread: float = 0.0
    """Standard deviation of the observations; 0 for shares, where the value determines it."""

    @classmethod
    def share(cls, successes: int, trials: int) -> Estimate:
        """A share in percent, with Wilson's interval."""
        low, high = wilson(successes, trials)
        return cls(100 * successes / max(1, trials), 100 * low, 100 * high, PERCENT, trials)

    @classmethod
    def mean(cls, values: Sequence[float], unit: str) -> Estimate:
        """The mean of independent observations; the interval of a single one is infinite."""
        number = len(values)
        if number < 2:
            value = values[0] if values else math.nan
            return cls(value, -math.inf, math.inf, unit, number)
        centre = math.fsum(values) / number
        spread = math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (number - 1))
        half = student_95(number - 1) * spread / math.sqrt(number)
        return cls(centre, centre - half, centre + half, unit, number, spread)

    @classmethod
    def of_groups(cls, groups: Sequence[Sequence[float]], unit: str) -> Estimate:
        """The mean of all observations, with the interval of a ratio estimator over groups.

        Observations of one group, such as a game, may depend on each other; groups are independent.
        """
        total = sum(map(len, groups))
        if not total:
            return cls.mean([], unit)
        centre = math.fsum(map(math.fsum, groups)) / total
        size = total / len(groups)
        error = cls.mean([(math.fsum(group) - centre * len(group)) / size for group in groups], unit)
        return replace(error, value=centre, low=centre + error.low, high=centre + error.high)

    @classmethod
    def exact(cls, value: float, unit: str = "") -> Estimate:
        """An exact figure, from counting."""
        return cls(value, value, value, unit)

    @classmethod
    def alone(cls, value: float, unit: str, number: int) -> Estimate:
        """A figure without an interval, such as an extreme or a median of ``number`` observations."""
        return cls(value, math.nan, math.nan, unit, number)

    @property
    def has_interval(self) -> bool:
        return not math.isnan(self.low)

    @property
    def is_exact(self) -> bool:
        return self.low == self.high


@dataclass(frozen=True)
class SourceFigure:
    """A figure as a source prints it."""

    value: Decimal
    number: int | None = None
    """Number of games that the figure is based on; None if the source does not state it."""

    @classmethod
    def read(cls, written: Any, number: int | None) -> SourceFigure:
        """Check a number of a table. Raises InvalidInput (``figures``)."""
        if isinstance(written, bool) or not isinstance(written, int | Decimal):
            raise InvalidInput("figures", written, "a number")
        return cls(Decimal(written), number)

    @property
    def rounding(self) -> float:
        """Half a unit of the last printed digit."""
        exponent = self.value.as_tuple().exponent
        assert isinstance(exponent, int)
        return 0.5 * 10.0**exponent * (1 + ROUNDING)

    def interval(self, ours: Estimate) -> Interval:
        """The 95 % interval from the source's number of games and our deviation, without rounding."""
        value, number = float(self.value), self.number
        if ours.unit == PERCENT and number:
            low, high = wilson(value / 100 * number, number)
            return min(value, 100 * low), max(value, 100 * high)
        half = Z95 * ours.spread / math.sqrt(number) if number else 0.0
        return value - half, value + half

    def probability(self, ours: Estimate) -> float:
        """The probability of a difference as large as that to our figure, which must have an interval."""
        low, high = self.interval(ours)
        difference = ours.value - float(self.value)
        sides = (ours.value - ours.low, high - float(self.value))
        half = math.hypot(*sides if difference > 0 else (ours.high - ours.value, float(self.value) - low))
        beyond = max(0.0, abs(difference) - self.rounding)
        if not beyond or math.isinf(half):
            return 1.0
        return 2 * NormalDist().cdf(-Z95 * beyond / half) if half else 0.0

    def equivalent(self, ours: Estimate) -> bool:
        """Whether the interval of the difference to our figure stays within the margin."""
        value, low, high, margin = self._within(ours)
        least = ours.value - value - math.hypot(ours.value - ours.low, high - value)
        most = ours.value - value + math.hypot(ours.high - ours.value, value - low)
        return -margin <= least and most <= margin

    def decidable(self, ours: Estimate) -> bool:
        """Whether the source's number of games suffices for `equivalent` with any number of ours."""
        value, low, high, margin = self._within(ours)
        return max(value - low, high - value) <= margin

    def _within(self, ours: Estimate) -> tuple[float, float, float, float]:
        """The figure, its interval and the margin, which allows for rounding.

        A share of a stated number of games is exact: that of the nearest whole number of games.
        """
        exact, margin = self, MARGIN * abs(float(self.value)) + self.rounding
        if ours.unit.startswith(PERCENT):
            margin = MARGIN_POINTS + self.rounding
        if ours.unit == PERCENT and self.number:
            games = round(self.value * self.number / 100)
            exact, margin = replace(self, value=Decimal(100 * games) / self.number), MARGIN_POINTS
        return float(exact.value), *exact.interval(ours), margin
