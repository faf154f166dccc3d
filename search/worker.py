"""A worker: runs jobs with the game's kernels. It knows nothing of the network that brought them."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

import games
from games.rng import new_stream
from search.engine import Engine, engine_of
from search.evaluation import evaluate_job
from search.evaluator import load_evaluator
from search.job import (
    GROW_STREAM,
    PLAYOUT_STREAM,
    ROUND_STREAM,
    Context,
    GrowJob,
    Job,
    JobResult,
    LaneTree,
    LeafJob,
    RoundJob,
    Snapshot,
)
from search.kept import Unsound
from search.kernel import Workspace
from search.knobs import knobs_of
from search.npz import BadArchive, squeeze, unsqueeze
from search.packed_tree import pack, unpack
from search.playouts import PLAYOUTS
from search.statistics import Statistics, increments, snapshot
from search.tree import FULL, NODES, Tree, tree_bytes
from search.unfolding import Base, base_of, begin
from search.warm_up import warm_up_worker


@dataclass
class _Lane:
    """What a worker keeps of a lane between two of its jobs: its tree, and what was reported of it."""

    tree: Tree
    pieces: int
    reported: Statistics


class Worker:
    """Runs one job at a time. What it keeps between jobs is a cache: losing it costs time, no answer."""

    def __init__(self) -> None:
        self._search_id: str | None = None
        self._lanes: dict[int, _Lane] = {}
        self._arena: Tree | None = None
        self._base: tuple[int, Base] | None = None
        """The snapshot that the last job of `tree` started from, and its key."""
        self._engine: Engine
        self._work: Workspace
        """Scratch of the search's kernels: clearing it takes a third of the time that a short job does."""

    def prepare(self, context: Context) -> None:
        """Compile or load the kernels that the search's jobs need, so that no job has to wait for them."""
        game = games.load(context.game, context.game_source)
        engine = engine_of(game, context.features)
        if context.request.evaluator is None:
            warm_up_worker(engine, context)
        else:
            # Whatever is wrong with an evaluator should show before the search begins.
            _evaluate(engine, context, ROOT_ALONE, time.perf_counter())

    def run(self, context: Context, job: Job) -> JobResult:
        """The job's increments: a function of context and job alone, whatever ran here before."""
        started = time.perf_counter()
        if context.search_id != self._search_id:
            self._engine = engine_of(games.load(context.game, context.game_source), context.features)
            self._work = self._engine.new_workspace()
            self._lanes.clear()
            self._arena = self._base = None
            self._search_id = context.search_id
        self._work.tally[:] = 0
        with np.errstate(over="ignore"):
            if isinstance(job, GrowJob):
                return self._grow(self._engine, context, job, started)
            if isinstance(job, RoundJob):
                return self._round(self._engine, context, job, started)
            if context.request.evaluator is not None:
                return _evaluate(self._engine, context, job, started)
            return _play_leaves(self._engine, context, job, self._work, started)

    def hand_over(self, context: Context, lane: int) -> LaneTree | None:
        """root: give up the tree of a lane, if it is here, to a worker that is to go on with it."""
        kept = self._lanes.pop(lane, None) if context.search_id == self._search_id else None
        return None if kept is None else _packed(kept)

    def _grow(self, engine: Engine, context: Context, job: GrowJob, started: float) -> JobResult:
        last = len(job.sizes) - 1
        lane = self._lanes.get(job.lane)
        if lane is None or lane.pieces != last:
            lane = self._lanes[job.lane] = _begun(engine, context, job)
        work = self._work
        knobs = knobs_of(context)
        root_state = engine.lane_root(context, job.lane)
        done = 0
        while lane.pieces <= last:
            if lane.pieces == last:
                lane.reported, _ = snapshot(lane.tree, context.report_visits, int(lane.tree.counts[NODES]))
            work.tally[PLAYOUTS] = 0
            stream = new_stream(context.request.seed, GROW_STREAM, job.lane, lane.pieces)
            done = engine.simulate(lane.tree, knobs, root_state, job.sizes[lane.pieces], stream, work)
            lane.pieces += 1
        added, _ = increments(lane.tree, lane.reported, context.report_visits, int(lane.tree.counts[NODES]))
        result = _result(job, lane.tree, done, int(work.tally[PLAYOUTS]), added, started)
        if not job.hand_in:
            return result
        return replace(result, tree=_packed(lane))

    def _round(self, engine: Engine, context: Context, job: RoundJob, started: float) -> JobResult:
        if self._arena is None:
            self._arena = engine.new_tree(context.tree_slots)
        tree = self._arena
        base = self._base_of(job.snapshot)
        stream = new_stream(context.request.seed, ROUND_STREAM, job.lane, job.round)
        lanes = context.request.lanes
        # The tree counts in int32: what a job anticipates in all must not run over.
        anticipated = min(context.anticipated, (2**31 - 1) // (job.simulations + 1))
        # Shares go round, so that none stays with a lane; rounds that overlap have other ones.
        overlapping = 1 + context.staleness
        share = job.round % overlapping * lanes + (job.lane + job.round) % lanes
        knobs = knobs_of(context, anticipated, share, overlapping * lanes)
        begin(tree, base, knobs)
        work = self._work._replace(base=base)
        root_state = context.root_state.copy()
        done = engine.simulate(tree, knobs, root_state, job.simulations, stream, work)
        least, rows = context.request.share_visits, context.increment_rows
        added, _ = increments(tree, base.as_it_stands, least, rows, base.first_children)
        return _result(job, tree, done, int(work.tally[PLAYOUTS]), added, started)

    def _base_of(self, snapshot: Snapshot) -> Base:
        """Made ready once for all the jobs that start from it here."""
        if self._base is None or self._base[0] != snapshot.key:
            self._base = (snapshot.key, base_of(snapshot.statistics))
        return self._base[1]


def _packed(lane: _Lane) -> LaneTree:
    return LaneTree(lane.pieces, squeeze(pack(lane.tree)))


def _begun(engine: Engine, context: Context, job: GrowJob) -> _Lane:
    """The lane's tree as the job brings it, or else empty."""
    if job.begin is not None and job.begin.pieces < len(job.sizes):
        tree = engine.new_tree(context.tree_slots)
        with suppress(BadArchive, Unsound):
            unpack(tree, unsqueeze(job.begin.data))
            return _Lane(tree, job.begin.pieces, engine.lone_root())
    return _Lane(engine.new_tree(context.tree_slots), 0, engine.lone_root())


def _play_leaves(
    engine: Engine, context: Context, job: LeafJob, work: Workspace, started: float
) -> JobResult:
    stream = new_stream(context.request.seed, PLAYOUT_STREAM, job.index)
    sums = np.zeros(len(job.visits), dtype=np.float64)
    # Arrays that came over the network may be read-only, which is another type to a compiled kernel.
    columns = (job.moves, job.depths, job.visits, job.draws)
    moves, depths, visits, draws = (np.array(column) for column in columns)
    knobs = knobs_of(context)
    root_state = context.root_state.copy()
    engine.evaluate_leaves(root_state, knobs, moves, depths, visits, draws, sums, stream, work)
    return _of_leaves(job, sums, int(work.tally[PLAYOUTS]), started)


ROOT_ALONE = LeafJob(
    index=0,
    moves=np.zeros((1, 0), dtype=np.uint16),
    depths=np.zeros(1, dtype=np.int32),
    visits=np.ones(1, dtype=np.int32),
    draws=np.zeros((0, 2), dtype=np.uint64),
)
"""One visit of the position that is searched."""


def _evaluate(engine: Engine, context: Context, job: LeafJob, started: float) -> JobResult:
    spec, source = context.request.evaluator, context.evaluator_source
    assert spec is not None
    assert source is not None
    evaluator = load_evaluator(spec, source, engine.game)
    temperature = context.request.policy_temperature
    sums, policies, evaluated = evaluate_job(engine, evaluator, temperature, context.root_state, job)
    return replace(_of_leaves(job, sums, evaluated, started), policies=policies)


def _of_leaves(job: LeafJob, sums: npt.NDArray[np.float64], playouts: int, started: float) -> JobResult:
    return JobResult(
        index=job.index,
        simulations=job.simulations,
        added=None,
        sums=sums,
        playouts=playouts,
        tree_nodes=0,
        tree_bytes=0,
        tree_full=False,
        duration_s=time.perf_counter() - started,
    )


def _result(
    job: GrowJob | RoundJob, tree: Tree, done: int, playouts: int, added: Statistics, started: float
) -> JobResult:
    return JobResult(
        index=job.index,
        simulations=done,
        added=added,
        sums=None,
        playouts=playouts,
        tree_nodes=int(tree.counts[NODES]),
        tree_bytes=tree_bytes(tree),
        tree_full=bool(tree.counts[FULL]),
        duration_s=time.perf_counter() - started,
    )
