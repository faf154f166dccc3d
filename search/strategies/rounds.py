"""Portions of a round of strategy tree, grown by the threads of one process.

A lane's job is a batch of its portions. The jobs that a process has got together (in threads those of a whole
round, on Ray those of a call) are joined to one: threads take their portions one by one, the largest first,
so that they end together. What a portion reports depends on its subtree, its random stream and its limit of
rows, which its lane decides; so who grows it changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from games.rng import Stream, begin_stream
from search.job import ROUND_STREAM, Context, DividedJob, JobResult, LaneJob, Portions
from search.kernel.engine import Engine
from search.kernel.lazy_snapshot import base_of
from search.kernel.params import params_of
from search.kernel.portions import GROWN, IS_FULL, MADE, PLACE, ROWS, SLOTS, STOPPED, Batch
from search.kernel.threads import Marks
from search.kernel.workspace import PLAYOUTS, Workspace
from search.tree.arena import Tree, layout_of
from search.tree.merge import Statistics, empty_statistics

MIN_PORTION_ROWS = 64
"""The least rows that the increments of one portion may have."""
LARGE_PORTIONS = 4
"""A portion with at least one LARGE_PORTIONS-th of its lane's visits has room for all children of a node."""


def batch_of(
    context: Context, lanes: Sequence[LaneJob], engine: Engine, kept: Statistics | None = None
) -> Batch:
    """The portions of these lanes, to be taken the largest first, and room for what comes of them.

    ``kept``: rows of an earlier batch, which are used again if they are enough.
    """
    every = [job.portions for job in lanes if job.portions is not None]
    portions = Portions._make(np.concatenate(columns) for columns in zip(*every, strict=True))
    counts = np.array([len(each.visits) for each in every], dtype=np.int64)
    first = np.cumsum(counts) - counts
    numbers = np.arange(len(portions.visits)) - np.repeat(first, counts)
    numbers += np.repeat([job.lane * (PLACE + 1) for job in lanes], counts)
    # A lane's rows are shared out by visits, so that what a portion reports does not depend on who grows it.
    of_lane = np.repeat(np.add.reduceat(portions.visits, first), counts)
    share = np.maximum(context.increment_rows * portions.visits // of_lane, MIN_PORTION_ROWS)
    large = LARGE_PORTIONS * portions.visits >= of_lane
    share[large] = np.maximum(share, engine.game.max_moves + 1 + portions.depths)[large]
    begin = np.concatenate([[0], np.cumsum(share)])
    if kept is None or len(kept.visits) < begin[-1]:
        kept = empty_statistics(int(begin[-1]), engine.layout)
    return Batch(
        portions=portions,
        numbers=numbers,
        begun=np.uint64(begin_stream(context.request.seed, ROUND_STREAM, lanes[0].round)),
        order=np.argsort(-portions.visits, kind="stable"),
        least=context.request.share_visits,
        begin=begin,
        rows=kept,
        results=np.zeros((len(numbers), 5), dtype=np.int64),
        seconds=np.zeros(len(numbers)),
        marks=np.zeros(16, dtype=np.int64),
    )


def scratch_of(context: Context, engine: Engine) -> tuple[Stream, Marks, npt.NDArray[np.int32]]:
    """The last arguments of `grow_portions`, for one thread."""
    game = engine.game
    rows = max(context.increment_rows, MIN_PORTION_ROWS, game.max_moves + 1 + game.max_plies)
    return np.zeros(2, np.uint64), np.zeros(2, np.int64), np.zeros((2, rows), np.int32)


def result_of(batch: Batch, index: int, tree: Tree) -> JobResult:
    """What came of a batch, without playouts and times; ``tree``: an arena in which it was grown."""
    results = batch.results
    return JobResult(
        index=index,
        simulations=int(results[:, MADE].sum()),
        added=batch.rows,
        portion_rows=np.stack([batch.begin[:-1], results[:, ROWS]], axis=1),
        tree_nodes=int(results[:, GROWN].max()),
        tree_bytes=int(results[:, SLOTS].max()) * layout_of(tree).bytes_per_node,
        tree_full=bool(results[:, IS_FULL].any()),
    )


def closed_up(result: JobResult) -> JobResult:
    """The result with its rows one after the other, and no others between them; it is modified in place."""
    assert result.added is not None
    assert result.portion_rows is not None
    begin, rows = result.portion_rows.T
    closed = np.cumsum(rows) - rows
    kept = np.arange(int(rows.sum())) + np.repeat(begin - closed, rows)
    result.added = Statistics._make(column[kept] if len(column) else column for column in result.added)
    result.portion_rows = np.stack([closed, rows], axis=1)
    return result


class PortionArenas:
    """What each thread needs to grow portions, and the rows to which all of them report."""

    def __init__(
        self, engine: Engine, context: Context, threads: int, first: Workspace | None = None
    ) -> None:
        """``first``: the workspace of the first thread, if there is one already."""
        self._engine, self._context = engine, context
        # Least visits are planned.
        self._params = params_of(replace(context, least=()))
        self.arenas = [engine.new_tree(context.tree_slots) for _ in range(threads)]
        self.works = [first or engine.new_workspace()]
        self.works += [engine.new_workspace() for _ in range(1, threads)]
        self._scratch = [scratch_of(context, engine) for _ in range(threads)]
        self.without_core_s = [0.0] * threads
        """For how long each thread had no core while it grew portions last, in seconds."""
        self._rows: Statistics | None = None
        self._key: int | None = None
        """That of the snapshot that is the base of the workspaces."""

    def begin(self, jobs: Sequence[LaneJob]) -> Batch:
        """The batch of these jobs of a round, whose snapshot becomes the base of the workspaces."""
        snapshot = jobs[0].snapshot
        if self._key != snapshot.key:
            self._key = snapshot.key
            base = base_of(snapshot.statistics, snapshot.first_children)
            self.works = [work._replace(base=base) for work in self.works]
        for work in self.works:
            work.tally[:] = 0
        batch = batch_of(self._context, jobs, self._engine, self._rows)
        self._rows = batch.rows
        return batch

    def grow(self, batch: Batch, thread: int) -> int:
        """Grow portions in this thread, the one with that number; returns how many lanes it has begun.

        Where rules raise, the other threads end as well.
        """
        own = self.works[thread], *self._scratch[thread]
        searched = self.arenas[thread], self._params, self._context.root_state.copy()
        began_s = time.perf_counter() - time.thread_time()
        try:
            with np.errstate(over="ignore"):
                lanes = self._engine.grow_portions(*searched, batch, *own)
        except BaseException:
            batch.marks[STOPPED] = 1
            raise
        self.without_core_s[thread] = time.perf_counter() - time.thread_time() - began_s
        return lanes


@dataclass(eq=False)
class JoinedJob(DividedJob):
    """Jobs of lanes in a round, run as one by all threads of this process, which only read the tree: the jobs
    of all lanes or, in a worker elsewhere, those that one call brings."""

    index: int
    simulations: int
    shared: PortionArenas
    jobs: Sequence[LaneJob]
    sent: bool
    """Whether the rows of the result are copied, because it is kept while other jobs write to theirs."""

    def parts(self) -> list[Callable[[], int]]:
        self._started_s = time.perf_counter()
        self._batch = self.shared.begin(self.jobs)
        return [partial(self.shared.grow, self._batch, thread) for thread in range(len(self.shared.works))]

    def stop(self) -> None:
        self._batch.marks[STOPPED] = 1

    def outcome(self) -> JobResult:
        done, works = result_of(self._batch, self.index, self.shared.arenas[0]), self.shared.works
        done.playouts = sum(int(work.tally[PLAYOUTS]) for work in works)
        done.jobs, done.threads, done.portion_s = len(self.jobs), len(works), self._batch.seconds
        done.duration_s = (time.perf_counter() - self._started_s) * done.threads
        done.cpu_s = done.duration_s - sum(self.shared.without_core_s)
        return closed_up(done) if self.sent else done
