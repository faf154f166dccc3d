"""Jobs in the process of the coordinator whose threads change the shared tree: search/kernel/turns.py.

Such a job takes some milliseconds. Between two of them the tree is at rest: then progress is looked at and
checkpoints are written. With strategy leaf it is a stretch: many consecutive jobs, and the clock decides how
many, and nothing else. With strategy tree by the clock it ends when its time is up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from games.compile.specialise import is_compiled
from games.rng import begin_stream, new_stream
from search.job import (
    PLAYOUT_STREAM,
    ROUND_STREAM,
    SELECTION_STREAM,
    Context,
    DividedJob,
    JobResult,
    Outlook,
    tells_lines,
)
from search.kernel.engine import Engine
from search.kernel.threads import Marks
from search.kernel.turns import ABSORBED, ENDED, NEXT, READY, Ring, Stretch
from search.kernel.workspace import LEFT, LOCK, PLAYOUTS, STOPPED, Leaves
from search.strategies.base import Setup
from search.tree.arena import FULL, NODES, ROOT, tree_bytes

TOGETHER_S = 0.02
"""Longest time, in seconds, for which threads grow a tree together before others may look at it."""
PAYS_JOBS, PAYS_JOB_S = 500, 0.002
"""Least number of jobs, and greatest length of one in seconds, for which stretches are worth their compiling:
a job elsewhere costs some 0.1 ms of Python."""


@contextmanager
def others_end(marks: Marks, mark: int, number: int) -> Iterator[None]:
    """Where rules raise in the thread with this number, set the mark by which the others end, and give back
    the lock."""
    try:
        with np.errstate(over="ignore"):
            yield
    except BaseException:
        marks[mark] = 1
        if marks[LOCK] == number:
            marks[LOCK] = 0
        raise


class SharedTree:
    """The ring of jobs in flight, and what each thread needs."""

    def __init__(
        self, setup: Setup, rows: int, threads: int, outlook: Outlook, issued: int, absorbed: int
    ) -> None:
        """``rows``: the most leaves that a job may have; ``outlook``: that of the results in the tree.

        ``issued`` jobs were begun, and the results of ``absorbed`` of them are in the tree.
        """
        self._setup = setup
        engine, lanes = setup.engine, setup.plan.lanes
        # Threads without a lane would only wait.
        self._works = [engine.new_workspace() for _ in range(min(threads, lanes))]
        self._played = [0] * len(self._works)
        self._before, self._started = (0, 0, 0), 0.0
        """Results, visits and playouts in the tree, and the time, when the stretch began."""
        self._lanes, self._rows = lanes, rows
        leaves = engine.new_leaves(np.ones(lanes * rows, dtype=np.int32))
        self._players = players = len(self._works[0].ends)
        self.ring = Ring(
            leaves,
            np.zeros(lanes, dtype=np.int64),
            np.zeros(len(leaves.depths) * players),
            np.zeros(lanes + 1, dtype=np.int64),
            np.full(lanes + 1, -np.inf),
            np.zeros((lanes + 1, max(2, len(self._works[0].best_line))), dtype=np.int32),
            np.zeros(players),
            np.zeros(READY + lanes, dtype=np.int64),
        )
        self._keep(lanes, outlook)
        self.ring.totals[: len(outlook.totals)] = outlook.totals
        self.ring.marks[NEXT], self.ring.marks[ABSORBED] = issued, absorbed
        # Compiled, or loaded, before the clock of the search starts.
        self.take_turns(self.stretch(0, np.zeros(0, dtype=np.int64), False), 0)

    @property
    def threads(self) -> int:
        return len(self._works)

    @property
    def ended(self) -> bool:
        """Whether the root was proven or the memory used up when the last result came into the tree."""
        return bool(self.ring.marks[ENDED])

    @property
    def issued(self) -> int:
        """Number of jobs that were begun."""
        return int(self.ring.marks[NEXT])

    @property
    def absorbed(self) -> int:
        """Number of jobs whose results are in the tree."""
        return int(self.ring.marks[ABSORBED])

    def stretch(self, first: int, sizes: npt.NDArray[np.int64], drain: bool) -> Stretch:
        """Jobs from ``first`` on, of these sizes; ``drain``: until all results are in the tree."""
        setup = self._setup
        request, plan, seed = setup.context.request, setup.plan, setup.context.request.seed
        return Stretch(
            first,
            sizes,
            drain,
            plan.playouts_per_leaf,
            request.stop_when_full,
            tells_lines(setup.engine.game, request),
            np.uint64(begin_stream(seed, SELECTION_STREAM)),
            np.uint64(begin_stream(seed, PLAYOUT_STREAM)),
        )

    def begin_stretch(self) -> None:
        """Note the time and the counts; called before the parts of a stretch run."""
        self._played = [0] * len(self._works)
        self._before = self._results
        self._started = time.perf_counter()

    def take_turns(self, stretch: Stretch, number: int) -> int:
        """Run jobs of a stretch in this thread, the one with that number; returns how many it has played.

        Where rules raise, the other threads end as well.
        """
        setup, scratch = self._setup, (self._works[number], np.zeros((2, 2), dtype=np.uint64))
        searched = setup.tree, setup.params, setup.context.root_state
        # A thread that waits for this one's job finds nothing to wait for then.
        with others_end(self.ring.marks, ENDED, number + 1):
            played = setup.engine.take_turns(*searched, self.ring, stretch, *scratch, number + 1)
        self._played[number] = played
        return played

    def end_stretch(self, index: int) -> JobResult:
        """What all parts have done since the stretch of that index began. Its statistics are in the tree.

        ``duration_s`` is that of all threads together.
        """
        results, visits, playouts = self._results
        totals = self.ring.totals.tolist() if self._players > 1 else []
        took_s = (time.perf_counter() - self._started) * self.threads if sum(self._played) else 0.0
        line, value = self.ring.lines[self._lanes], float(self.ring.values[self._lanes])
        return JobResult(
            index=index,
            simulations=visits - self._before[1],
            jobs=results - self._before[0],
            playouts=playouts - self._before[2],
            threads=self.threads,
            duration_s=took_s,
            cpu_s=took_s,
            outlook=Outlook(tuple(line[1 : 1 + line[0]].tolist()), value, tuple(totals)),
        )

    @property
    def _results(self) -> tuple[int, int, int]:
        """Results, visits and playouts in the tree."""
        return self.absorbed, int(self._setup.tree.visits[ROOT]), int(self.ring.playouts[self._lanes])

    def put(self, job: int, leaves: Leaves, result: JobResult) -> None:
        """Put a job in flight into its slot, with its result."""
        slot, rows = job % self._lanes, len(leaves.depths)
        begin = slot * self._rows
        columns: tuple[npt.NDArray[Any], ...] = self.ring.leaves
        for mine, its in zip(columns, leaves, strict=True):
            mine[begin : begin + rows] = its
        self.ring.rows[slot] = rows
        self.ring.sums[begin * self._players : (begin + rows) * self._players] = result.sums
        self.ring.playouts[slot] = result.playouts
        if result.outlook is not None:
            self._keep(slot, result.outlook)
        self.ring.marks[READY + slot] = 1

    def leaves_of(self, job: int) -> Leaves:
        """A copy of the leaves of a job in flight."""
        slot = job % self._lanes
        begin = slot * self._rows
        end = begin + int(self.ring.rows[slot])
        return Leaves._make(column[begin:end].copy() for column in self.ring.leaves)

    def _keep(self, place: int, outlook: Outlook) -> None:
        """Put a best line into its place."""
        self.ring.values[place] = outlook.value
        self.ring.lines[place, 0] = len(outlook.line)
        self.ring.lines[place, 1 : 1 + len(outlook.line)] = outlook.line


@dataclass(frozen=True, eq=False)
class StretchJob(DividedJob):
    """A stretch, run where the tree is. Its jobs change the tree, so it cannot be run again."""

    index: int
    simulations: int
    stretch: Stretch
    shared: SharedTree
    changes_tree = True

    def parts(self) -> list[Callable[[], int]]:
        self.shared.begin_stretch()
        return [
            partial(self.shared.take_turns, self.stretch, number) for number in range(self.shared.threads)
        ]

    def outcome(self) -> JobResult:
        return self.shared.end_stretch(self.index)


def grows_in_place(engine: Engine, context: Context, threads: int) -> bool:
    """Whether threads should grow the tree of a search by the clock together, instead of by rounds.

    One thread with one lane: nothing is handed over, and nothing left out. Several where moves by force are
    looked for, which takes most of the time, and is done without the lock.
    """
    game, request, features = engine.game, context.request, engine.features
    if not (request.by_the_clock and game.is_two_player and is_compiled(game.rules)):
        return False
    if context.hidden or features.learnt or context.least:
        return False
    forces = features.decisive and game.rules.decisive_moves is not None
    return forces if threads > 1 else context.lanes == 1


class GrownTree:
    """A tree that threads grow together, and what each of them needs."""

    def __init__(self, setup: Setup, threads: int) -> None:
        self._setup = setup
        works = [setup.engine.new_workspace() for _ in range(threads)]
        self._marks = works[0].marks
        self._works = [work._replace(marks=self._marks, kept=works[0].kept) for work in works]
        self._clocks = np.zeros((threads, 2), dtype=np.int64)
        self._made = [0] * threads
        self._started_s = 0.0
        # Compiled, or loaded, before the clock of the search starts.
        self._grow(0, 0.0, 0)

    def parts(self, index: int, simulations: int, seconds: float) -> list[Callable[[], int]]:
        """What each thread has to do in the job of that index: to grow the tree for so many seconds, by at
        most so many simulations together."""
        self._started_s = time.monotonic()
        self._marks[LEFT], self._marks[STOPPED] = simulations, 0
        for work in self._works:
            work.tally[:] = 0
        arguments = index, self._started_s + seconds
        return [partial(self._grow, *arguments, number) for number in range(len(self._works))]

    def stop(self) -> None:
        """Have the parts return soon."""
        self._marks[STOPPED] = 1

    def _grow(self, index: int, deadline_s: float, number: int) -> int:
        """Grow the tree in the thread with that number; returns how many jobs are counted to it: as many as
        a round has, to one thread after the other.

        Where rules raise, the other threads end as well.
        """
        setup, work, threads = self._setup, self._works[number], len(self._works)
        stream = new_stream(setup.context.request.seed, ROUND_STREAM, number, index)
        searched = setup.tree, setup.params, setup.context.root_state.copy(), deadline_s
        own = work, stream, self._clocks[number], number + 1
        with others_end(self._marks, STOPPED, number + 1):
            self._made[number] = setup.engine.grow_together(*searched, *own)
        lanes = setup.plan.lanes
        return lanes if index // lanes % threads == number else 0

    def outcome(self, index: int) -> JobResult:
        """What all parts of the job have done. It is in the tree."""
        tree, threads = self._setup.tree, len(self._works)
        took_s = (time.monotonic() - self._started_s) * threads
        return JobResult(
            index=index,
            simulations=sum(self._made),
            jobs=self._setup.plan.lanes,
            playouts=sum(int(work.tally[PLAYOUTS]) for work in self._works),
            threads=threads,
            duration_s=took_s,
            cpu_s=took_s,
            tree_nodes=int(tree.counts[NODES]),
            tree_bytes=tree_bytes(tree),
            tree_full=bool(tree.counts[FULL]),
        )


@dataclass(frozen=True, eq=False)
class TogetherJob(DividedJob):
    """Some milliseconds in which the tree is grown where it is, so that it cannot be run again."""

    index: int
    simulations: int
    """The most that it makes."""
    seconds: float
    shared: GrownTree
    changes_tree = True

    def parts(self) -> list[Callable[[], int]]:
        return self.shared.parts(self.index, self.simulations, self.seconds)

    def stop(self) -> None:
        self.shared.stop()

    def outcome(self) -> JobResult:
        return self.shared.outcome(self.index)
