"""The result of a plan, as Python and as JSON."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cluster.matches.statistics import Z95, wilson
from search.episode import Episode

STUDENT_95 = (
    *((1000, Z95), (120, 1.980), (60, 2.000), (40, 2.021), (30, 2.042), (25, 2.060), (20, 2.086)),
    *((18, 2.101), (16, 2.120), (14, 2.145), (12, 2.179), (11, 2.201), (10, 2.228), (9, 2.262), (8, 2.306)),
    *((7, 2.365), (6, 2.447), (5, 2.571), (4, 2.776), (3, 3.182), (2, 4.303), (1, 12.706)),
)
"""(degrees of freedom, 97.5 % quantile from there on), descending."""


@dataclass(frozen=True)
class PlanResult:
    """Episodes that were planned and played, in the fields of ``banyan plan --json``."""

    problem: str
    """The problem with all its options."""
    episodes: tuple[Episode, ...]
    """By seed."""
    budget: str
    """That of each move, such as ``500 simulations``."""
    state_handling: str
    """How positions are copied: clone, copy (of what changes), deepcopy or replay."""
    clairvoyant: bool
    """Whether simulations saw what chance would bring."""
    workers: int
    executor: str
    elapsed_s: float

    @property
    def mean_return(self) -> float | None:
        """The mean of the returns; None without episodes."""
        return _mean([episode.value for episode in self.episodes])

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean return: Student's, or Wilson's if each return is 0 or 1.

        None with fewer than two episodes, and where all have the same return.
        """
        return interval_of([episode.value for episode in self.episodes])

    @property
    def simulations(self) -> int:
        """Of all moves of all episodes."""
        return sum(episode.simulations for episode in self.episodes)

    @property
    def simulations_per_s(self) -> float | None:
        """Simulations per second of CPU time."""
        seconds = sum(episode.seconds for episode in self.episodes)
        return self.simulations / seconds if seconds > 0 else None

    @property
    def digest(self) -> str:
        """SHA-256 of seeds, returns, actions and simulations: equal digests mean equal episodes."""
        rows = [(each.seed, each.value.hex(), each.actions, each.simulations) for each in self.episodes]
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """The object that ``banyan plan --json`` prints."""
        rate = self.simulations_per_s
        return {
            "problem": self.problem,
            "budget": self.budget,
            "episodes": [
                {
                    "seed": each.seed,
                    "return": each.value,
                    "steps": each.steps,
                    "actions": list(each.actions),
                    "terminated": each.terminated,
                    "truncated": each.truncated,
                }
                for each in self.episodes
            ],
            "mean_return": self.mean_return,
            "interval": None if self.interval is None else list(self.interval),
            "simulations": self.simulations,
            "simulations_per_s": None if rate is None else round(rate, 1),
            "state_handling": self.state_handling,
            "clairvoyant": self.clairvoyant,
            "workers": self.workers,
            "executor": self.executor,
            "elapsed_s": round(self.elapsed_s, 6),
            "digest": self.digest,
        }

    def __repr__(self) -> str:
        mean = self.mean_return
        said = "no episode" if mean is None else f"{len(self.episodes)} episodes, mean return {mean:g}"
        return f"<PlanResult {self.problem}: {said}>"


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def interval_of(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % interval of a mean; see `PlanResult.interval`."""
    mean = _mean(values)
    if mean is None or len(values) < 2:
        return None
    if all(value in (0.0, 1.0) for value in values):
        low, high = wilson(int(sum(values)), len(values))
        return (low, high)
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    if variance == 0.0:
        return None
    half = student_95(len(values) - 1) * math.sqrt(variance / len(values))
    return (mean - half, mean + half)


def student_95(freedom: int) -> float:
    """The 97.5 % quantile of Student's distribution, at most 3 % too large; Z95 from 1,000 degrees on."""
    return next((quantile for least, quantile in STUDENT_95 if freedom >= least), math.inf)
