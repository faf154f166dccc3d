"""The episodes of a plan as units of work for a `Jobset`; an episode that is lost is played again alike."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, get_type_hints

import games
from cluster.runtime.jobset import Unit, UnitDone, UnitFailed, Units, UnitWorker
from cluster.runtime.tasks import Task
from cluster.system.kept_folder import Kept
from cluster.system.terminal import duration
from games.compile.watch import note
from search.episode import Episode, Planner
from search.request import SearchRequest

NOTE_S = 1.0
"""Least seconds between two notes of an episode."""
KEY = 0
"""The key of the only context."""
EPISODES = "episodes.jsonl"
"""The file in which episodes are kept, one a line."""


@dataclass(frozen=True)
class PlanContext:
    """The data that all episodes of a plan share."""

    request: SearchRequest
    """The search of each move."""
    source: str | None
    """The text of the game file, for workers on machines without the file; None for other games."""
    steps: int | None
    """The most moves of an episode."""


class PlanWorker(UnitWorker):
    """Plays episodes one after the other in its process."""

    def __init__(self, noticed: Callable[[], None] = lambda: None) -> None:
        """``noticed`` is called, in this process, after each note of an episode's progress."""
        super().__init__()
        self._noticed = noticed
        self._planner: Planner
        self._most = 0
        """The most steps of an episode."""
        self._noted = 0.0
        self._first: tuple[float, int] | None = None
        """When its first note was left, before which kernels may be compiled, and its moves until then."""

    def load(self, context: PlanContext) -> None:
        """Load the game."""
        game = games.load(context.request.game, context.source, tried=False)
        self._planner = Planner(context.request, game, context.source, context.steps, self._stepped)
        self._most = min(game.max_plies, context.steps or game.max_plies)

    def find(self, context: PlanContext, unit: Unit) -> Episode:
        """The episode with this index: its seed is the request's and the index, added."""
        self._first, self._noted = None, time.perf_counter()
        episode = self._planner.play(context.request.seed + unit.index)
        note("")
        return episode

    def _stepped(self, seed: int, steps: int, value: float) -> None:
        """Leave a note of the episode's progress, once a second."""
        now = time.perf_counter()
        if 0 < steps < self._most and now >= self._noted + NOTE_S:
            rate = ""
            if self._first is None:
                self._first = now, steps
            else:
                per_s = (steps - self._first[1]) / (now - self._first[0])
                rate = f", {per_s:.3g} steps/s, at most {duration((self._most - steps) / per_s)} left"
            note(f"episode {seed}: step {steps:,}, return so far {value:g}{rate}")
            self._noted = now
            self._noticed()


class Episodes(Units):
    """The units of a plan; episodes that are already kept are not played again."""

    def __init__(self, context: PlanContext, number: int, kept: Kept) -> None:
        """``number`` episodes, from the seed of the request on.

        Raises InvalidInput (field ``out``) if the folder holds something else.
        """
        self.contexts = {KEY: context}
        self.seeds = range(context.request.seed, context.request.seed + number)
        stored = kept.read(EPISODES, _episode_of)
        self.played = {episode.seed: episode for episode in stored if episode.seed in self.seeds}
        """By seed."""
        self._kept = kept

    @property
    def finished(self) -> bool:
        return super().finished or len(self.played) == len(self.seeds)

    @property
    def done(self) -> int:
        """Number of episodes played so far."""
        return len(self.played)

    @property
    def in_order(self) -> list[Episode]:
        """The episodes played so far, by seed."""
        return [self.played[seed] for seed in sorted(self.played)]

    def missing(self) -> list[Task]:
        """The episodes to be played."""
        left = [index for index, seed in enumerate(self.seeds) if seed not in self.played]
        return [Task(index, Unit(index), work=0, context=KEY) for index in left]

    def take(self, context: int, result: UnitDone) -> None:
        """Take the result of an episode."""
        self.played[result.found.seed] = result.found
        self._kept.add(EPISODES, asdict(result.found))

    def fail(self, context: int, index: int, error: str, cause: Exception | None) -> None:
        """An episode raised and would do so again: raises UnitFailed."""
        raise UnitFailed(f"episode {self.seeds[index]} failed: {error}") from cause

    def give_up(self, context: int, index: int, reason: str) -> None:
        """An episode was lost too often: raises UnitFailed."""
        raise UnitFailed(f"episode {self.seeds[index]} was {reason}")


def _episode_of(entry: dict[str, Any]) -> Episode:
    """The episode of a line; raises ValueError, TypeError or KeyError for anything else."""
    if not isinstance(entry["actions"], list) or not math.isfinite(entry["value"]):
        raise ValueError(entry)
    kinds = get_type_hints(Episode)
    del kinds["actions"]
    values = {name: kind(entry[name]) for name, kind in kinds.items()}
    return Episode(actions=tuple(map(str, entry["actions"])), **values)
