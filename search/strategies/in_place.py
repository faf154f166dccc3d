"""Strategies whose jobs can run where the shared tree is, in threads of this process: by stretches.

A stretch is some milliseconds of consecutive jobs, which change the tree themselves. Between two stretches
the tree is at rest: then progress is looked at and checkpoints are written.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from games.rng import begin_stream
from search.job import PLAYOUT_STREAM, SELECTION_STREAM, Job, JobResult, Outlook
from search.kernel.turns import ENDED, LOCK
from search.strategies.base import Setup, Strategy

STRETCH_S = 0.05
"""Target length of a stretch in seconds, so that progress and cancelling are prompt."""
GROWTH = 4
"""A stretch has at most this many times the work of the one before: how long it takes shows only then."""


@dataclass(frozen=True)
class StretchResult:
    """What a stretch has done; its statistics are in the tree."""

    index: int
    """The first of its jobs."""
    played: int
    """Number of jobs that were played."""
    jobs: int
    """Number of results that came into the tree."""
    simulations: int
    """Their simulations."""
    playouts: int
    """Their playouts."""
    duration_s: float
    """Wall time of the stretch, in seconds."""
    outlook: Outlook
    """The best line and the scores by player of all results that are in the tree."""


class InFlight(ABC):
    """The jobs in flight of a search in this process, and what each of its threads needs."""

    def __init__(self, setup: Setup, threads: int) -> None:
        self._setup = setup
        self._kernel: Callable[..., int]
        """search/kernel/turns.py or search/kernel/subtrees.py."""
        self._ring: Any
        """The jobs in flight, in the form of that kernel."""
        # Threads without a lane would only wait.
        self._works = [setup.engine.new_workspace() for _ in range(min(threads, setup.plan.lanes))]
        self._played = [0] * len(self._works)
        self._before, self._started = (0, 0, 0), 0.0
        """Results, visits and playouts in the tree, and the time, when the stretch began."""

    @property
    def threads(self) -> int:
        return len(self._works)

    @property
    @abstractmethod
    def ended(self) -> bool:
        """Whether the root was proven or the memory used up when the last result came into the tree."""

    @property
    @abstractmethod
    def _results(self) -> tuple[int, int, int]:
        """Results, visits and playouts in the tree."""

    @property
    def _streams_of_jobs(self) -> tuple[np.uint64, np.uint64]:
        """The beginnings of the random streams of selections and of playouts."""
        seed = self._setup.context.request.seed
        return np.uint64(begin_stream(seed, SELECTION_STREAM)), np.uint64(begin_stream(seed, PLAYOUT_STREAM))

    @property
    def _outlook(self) -> Outlook:
        """The best line and the scores by player of all results that are in the tree."""
        return Outlook()

    def begin_stretch(self) -> None:
        """Before the parts of a stretch."""
        self._played = [0] * len(self._works)
        self._before = self._results
        self._started = time.perf_counter()

    def take_turns(self, stretch: Any, number: int) -> int:
        """Run jobs of a stretch in this thread, the one with that number; returns how many it has played.

        Where rules raise, the other threads end as well.
        """
        setup, scratch = self._setup, (self._works[number], np.zeros((2, 2), dtype=np.uint64))
        searched = setup.tree, setup.params, setup.context.root_state
        try:
            with np.errstate(over="ignore"):
                self._played[number] = self._kernel(*searched, self._ring, stretch, *scratch, number + 1)
        except BaseException:
            # A thread that waits for this one's job finds nothing to wait for.
            marks = self._ring.marks
            marks[ENDED] = 1
            if marks[LOCK] == number + 1:
                marks[LOCK] = 0
            raise
        return self._played[number]

    def end_stretch(self, first: int) -> StretchResult:
        """After the parts; ``first`` is the first job of the stretch."""
        results, visits, playouts = self._results
        return StretchResult(
            index=first,
            played=sum(self._played),
            jobs=results - self._before[0],
            simulations=visits - self._before[1],
            playouts=playouts - self._before[2],
            duration_s=time.perf_counter() - self._started,
            outlook=self._outlook,
        )


@dataclass(frozen=True, eq=False)
class StretchJob:
    """Jobs from ``index`` on, to be run where the tree is, which they change: it cannot be run again."""

    index: int
    simulations: int
    stretch: Any
    """What the kernel needs to know of the jobs."""
    shared: InFlight

    def parts(self) -> list[Callable[[], int]]:
        """Begin the stretch; returns what each thread has to do, side by side with the others."""
        self.shared.begin_stretch()
        return [
            partial(self.shared.take_turns, self.stretch, number) for number in range(self.shared.threads)
        ]

    def outcome(self) -> StretchResult:
        """What the parts have done, when all have returned."""
        return self.shared.end_stretch(self.index)

    def run(self) -> StretchResult:
        """Run the jobs in this thread."""
        self.parts()[0]()
        return self.outcome()


AnyJob = Job | StretchJob


class InPlaceStrategy(Strategy):
    """A strategy that can run its jobs in threads of this process."""

    shared: InFlight | None = None
    """Where jobs run by stretches: see `share_tree`."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._first_nodes = self.tree_nodes()

    @property
    def created(self) -> int:
        """Nodes that jobs made: they stay in the only tree."""
        return self.tree_nodes() - self._first_nodes

    @property
    @abstractmethod
    def stretches_pay(self) -> bool:
        """Whether jobs should run by stretches in this process, and can."""

    @abstractmethod
    def share_tree(self, threads: int, results: Mapping[int, JobResult] | None = None) -> None:
        """From now on run jobs in threads of this process: `next_stretch` and `end_stretch` instead of
        `next_job` and `absorb`. ``results``: those of all jobs in flight, by index."""

    @abstractmethod
    def next_stretch(self, size: int, room: int, left_s: float) -> StretchJob:
        """The next jobs. Where the plan is not fixed they have about ``size`` simulations each, ``room`` at
        most in all, and should take a part of ``left_s`` seconds; with size 0 only results are waited for."""

    @abstractmethod
    def end_stretch(self, job: StretchJob, result: StretchResult) -> None:
        """Note what a stretch has done to the tree."""
