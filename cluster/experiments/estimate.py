"""What was measured, what a source says, and whether the two agree.

Two figures agree if their difference could be chance: if the source's lies in our 95 % interval, widened
by the source's own error. The errors are added as squares, as those of independent samples are
(for shares that is Newcombe's interval of a difference, 1998, method 10). The source's error is that of its
number of games and of the last digit that it prints. A source that does not say how many games it
played is taken to have no error but that of the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from cluster.matches.statistics import Z95, Interval, wilson
from games.errors import InvalidInput

PERCENT = "%"
ROUNDING = 1e-9
"""Of floating-point numbers, where ours is just at the edge of the source's."""
STUDENT_95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""The 97.5 % points of Student's t for 1 to 30 degrees of freedom."""


@dataclass(frozen=True)
class Estimate:
    """A figure of ours with its 95 % interval."""

    value: float
    low: float
    high: float
    unit: str = ""
    number: int = 1
    """How many observations; 1 for what is exact."""
    spread: float = 0.0
    """Their standard deviation; 0 for shares, whose value says it."""

    @classmethod
    def share(cls, successes: int, trials: int) -> Estimate:
        """In percent, with Wilson's interval."""
        low, high = wilson(successes, trials)
        return cls(100 * successes / max(1, trials), 100 * low, 100 * high, PERCENT, trials)

    @classmethod
    def mean(cls, values: Sequence[float], unit: str) -> Estimate:
        """Of independent observations; the interval of one alone is infinite."""
        number = len(values)
        if number < 2:
            value = values[0] if values else math.nan
            return cls(value, -math.inf, math.inf, unit, number)
        centre = math.fsum(values) / number
        spread = math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (number - 1))
        factor = STUDENT_95[number - 2] if number - 2 < len(STUDENT_95) else Z95
        half = factor * spread / math.sqrt(number)
        return cls(centre, centre - half, centre + half, unit, number, spread)

    @classmethod
    def exact(cls, value: float, unit: str = "") -> Estimate:
        """What was counted, and not sampled."""
        return cls(value, value, value, unit)

    @classmethod
    def alone(cls, value: float, unit: str, number: int) -> Estimate:
        """What has no interval, such as an extreme or a median of so many observations."""
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
    """Of games behind it, as far as it is said."""
    spread: float | None = None
    """Its standard deviation, if the source gives it."""

    @classmethod
    def read(cls, written: Any, number: int | None) -> SourceFigure:
        """A number, or a table with value, sd and n; raises InvalidInput (field ``figures``)."""
        if isinstance(written, dict):
            if "value" not in written or not written.keys() <= {"value", "sd", "n"}:
                raise InvalidInput("figures", written, "value, and perhaps sd and n")
            spread = float(written["sd"]) if "sd" in written else None
            return cls(Decimal(written["value"]), written.get("n", number), spread)
        if isinstance(written, bool) or not isinstance(written, int | Decimal):
            raise InvalidInput("figures", written, "a number")
        return cls(Decimal(written), number)

    @property
    def rounding(self) -> float:
        """Half a unit of the last digit that is printed."""
        exponent = self.value.as_tuple().exponent
        assert isinstance(exponent, int)
        return 0.5 * 10.0**exponent * (1 + ROUNDING)

    def interval(self, ours: Estimate) -> Interval:
        """95 %, but for its last digit, from the source's own number of games."""
        value, number = float(self.value), self.number
        if ours.unit == PERCENT and number:
            low, high = wilson(value / 100 * number, number)
            return min(value, 100 * low), max(value, 100 * high)
        spread = self.spread if self.spread is not None else ours.spread
        half = Z95 * spread / math.sqrt(number) if number else 0.0
        return value - half, value + half

    def agrees(self, ours: Estimate) -> bool:
        """Whether the difference from ours could be chance."""
        value, rounding = float(self.value), self.rounding
        low, high = self.interval(ours)
        difference = ours.value - value
        if difference >= 0:
            return difference <= math.hypot(ours.value - ours.low, high - value) + rounding
        return -difference <= math.hypot(ours.high - ours.value, value - low) + rounding
