"""Jobs of strategy leaf in the process of the coordinator: many at a time, by threads that share the tree.

A stretch is some milliseconds of consecutive jobs. Between two of them the tree is at rest: then progress is
looked at and checkpoints are written.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from games.rng import begin_stream
from search.job import PLAYOUT_STREAM, SELECTION_STREAM, Job, Outlook, tells_lines
from search.kernel.playouts import PLAYOUTS
from search.kernel.rewards import VALUE, reset_outlook
from search.kernel.turns import ABSORBED, NEXT, READY, Ring, Stretch
from search.kernel.workspace import Leaves
from search.strategies.base import Setup
from search.tree.arena import ROOT

STRETCH_S = 0.05
"""Target length of a stretch in seconds, so that progress and cancelling are prompt."""
GROWTH = 4
"""A stretch has at most this many times the jobs of the one before it, while the speed is not known."""
PAYS_JOBS, PAYS_JOB_S = 500, 0.002
"""Least number of jobs, and greatest length of one in seconds, for which stretches are worth their compiling:
a job elsewhere costs some 0.1 ms of Python."""


@dataclass(frozen=True)
class StretchResult:
    """What a stretch has done; its statistics are in the tree."""

    index: int
    """The first of its jobs."""
    jobs: int
    """Number of results that are in the tree since the stretch before."""
    simulations: int
    """Their simulations."""
    playouts: int
    duration_s: float
    """Wall time of the stretch, in seconds."""
    outlook: Outlook | None
    """The best line of the jobs that were played, or the scores by player of those that are in the tree; None
    where there is neither."""


@dataclass(frozen=True, eq=False)
class StretchJob:
    """Jobs from ``index`` on, to be run where the tree is. Unlike other jobs it is run once only."""

    index: int
    simulations: int
    stretch: Stretch
    shared: SharedTree

    def parts(self) -> list[Callable[[], None]]:
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
        self.shared.begin_stretch()
        self.shared.take_turns(self.stretch, 0)
        return self.outcome()


AnyJob = Job | StretchJob


class SharedTree:
    """The ring of jobs in flight, and what each thread needs."""

    def __init__(self, setup: Setup, most: int, threads: int) -> None:
        """``most``: the most simulations that a job may have."""
        engine, plan = setup.engine, setup.plan
        self._setup = setup
        self._room = -(-most // plan.playouts_per_leaf)
        self._lanes = plan.lanes
        leaves = engine.new_leaves(np.ones(self._lanes * self._room, dtype=np.int32))
        self._works = [engine.new_workspace() for _ in range(threads)]
        players = len(self._works[0].ends)
        self.ring = Ring(
            leaves,
            np.zeros(self._lanes, dtype=np.int64),
            np.zeros(len(leaves.depths) * players),
            np.zeros(players),
            np.zeros(READY + self._lanes, dtype=np.int64),
        )
        self._found = [np.zeros(1, dtype=np.int64) for _ in range(threads)]
        self._players = players
        self._streams = [np.zeros((2, 2), dtype=np.uint64) for _ in range(threads)]
        self._before, self._started = (0, 0), 0.0
        """Results and visits in the tree, and the time, when the stretch began."""
        # Compiled, or loaded, before the clock of the search starts.
        self.take_turns(self.stretch(0, np.zeros(0, dtype=np.int64), False), 0)

    @property
    def threads(self) -> int:
        return len(self._works)

    def stretch(self, first: int, sizes: npt.NDArray[np.int64], drain: bool) -> Stretch:
        """Jobs from ``first`` on, of these sizes."""
        request, plan = self._setup.context.request, self._setup.plan
        return Stretch(
            first,
            sizes,
            drain,
            plan.playouts_per_leaf,
            request.stop_when_full,
            np.uint64(begin_stream(request.seed, SELECTION_STREAM)),
            np.uint64(begin_stream(request.seed, PLAYOUT_STREAM)),
        )

    def begin_stretch(self) -> None:
        """Before the parts of a stretch."""
        for work in self._works:
            work.tally[:] = 0
            reset_outlook(work)
        self.ring.totals[:] = 0.0
        self._before = self.absorbed, self._visits
        self._started = time.perf_counter()

    def end_stretch(self, first: int) -> StretchResult:
        """After them; ``first`` is the first of its jobs."""
        return StretchResult(
            index=first,
            jobs=self.absorbed - self._before[0],
            simulations=self._visits - self._before[1],
            playouts=sum(int(work.tally[PLAYOUTS]) for work in self._works),
            duration_s=time.perf_counter() - self._started,
            outlook=self._outlook(),
        )

    @property
    def _visits(self) -> int:
        return int(self._setup.tree.visits[ROOT])

    @property
    def issued(self) -> int:
        """Number of jobs that were begun."""
        return int(self.ring.marks[NEXT])

    @property
    def absorbed(self) -> int:
        """Number of jobs whose results are in the tree."""
        return int(self.ring.marks[ABSORBED])

    def put(self, job: int, leaves: Leaves, sums: npt.NDArray[np.float64]) -> None:
        """Put a job in flight into its slot, with its result."""
        slot, rows = job % self._lanes, len(leaves.depths)
        begin = slot * self._room
        columns: tuple[npt.NDArray[Any], ...] = self.ring.leaves
        for mine, its in zip(columns, leaves, strict=True):
            mine[begin : begin + rows] = its
        self.ring.rows[slot] = rows
        self.ring.sums[begin * self._players : (begin + rows) * self._players] = sums
        self.ring.marks[READY + slot] = 1

    def leaves_of(self, job: int) -> Leaves:
        """A copy of the leaves of a job in flight."""
        slot = job % self._lanes
        begin = slot * self._room
        end = begin + int(self.ring.rows[slot])
        return Leaves._make(column[begin:end].copy() for column in self.ring.leaves)

    def begin(self, issued: int, absorbed: int) -> None:
        """Go on from a search of which so many jobs were begun, and so many are in the tree."""
        self.ring.marks[NEXT], self.ring.marks[ABSORBED] = issued, absorbed

    def _outlook(self) -> Outlook | None:
        game, request = self._setup.engine.game, self._setup.context.request
        if game.num_players > 2:
            return Outlook(totals=tuple(self.ring.totals.tolist()))
        if not tells_lines(game, request):
            return None
        # Of equal lines that of the earlier job.
        bests = [
            (-float(work.best[VALUE]), int(job[0]))
            for work, job in zip(self._works, self._found, strict=True)
        ]
        number = bests.index(min(bests))
        line = self._works[number].best_line
        return Outlook(tuple(line[1 : 1 + line[0]].tolist()), -bests[number][0])

    def take_turns(self, stretch: Stretch, number: int) -> None:
        """Run jobs of a stretch in this thread, the one with that number."""
        setup = self._setup
        with np.errstate(over="ignore"):
            setup.engine.take_turns(
                setup.tree,
                setup.params,
                setup.context.root_state,
                self.ring,
                stretch,
                self._works[number],
                self._streams[number],
                self._found[number],
            )
