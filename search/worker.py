"""A worker runs jobs with the game's kernels. It does not know how jobs and results are sent."""

from __future__ import annotations

import math
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
import numpy.typing as npt

import games
from games.compile.specialise import is_compiled
from games.compile.watch import compile_for
from games.game import Game
from games.rng import new_stream
from search.evaluator import Evaluator, Places, awaited_at_once, load_evaluator, start
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
    Outlook,
    Policies,
    RoundJob,
    Snapshot,
    tells_lines,
)
from search.kernel.asking import positions_of
from search.kernel.engine import Engine, engine_of
from search.kernel.evaluation import Reached, await_job, evaluate_job, reach
from search.kernel.experience import forget
from search.kernel.lazy_snapshot import Base, base_of, begin
from search.kernel.params import params_of
from search.kernel.playouts import PLAYOUTS
from search.kernel.rewards import VALUE, reset_outlook
from search.kernel.workspace import Workspace
from search.packing.arrays import BadArchive, CorruptState, compress, decompress
from search.packing.tree import pack_tree, unpack_tree
from search.strategies import STRATEGY_CLASSES
from search.strategies.in_place import AnyJob, StretchJob, StretchResult
from search.tree.arena import FULL, NODES, Tree, tree_bytes
from search.tree.merge import Statistics, first_children_of, increments, snapshot

AHEAD = 2
"""Jobs that are begun, as a multiple of the positions that are awaited at once: the next ones wait in the
worker, so that none of its places stays empty until it is sent one."""


@dataclass
class _Lane:
    """Strategy root: a lane's tree between two of its jobs, with the statistics already reported; a cache."""

    tree: Tree
    pieces: int
    reported: Statistics


def why_one_at_a_time(context: Context) -> str | None:
    """Why jobs of a search do not run side by side in threads of one process; None if they do."""
    if context.request.evaluator is not None:
        return "the evaluator is plain Python"
    game = games.load(context.game, context.game_source, tried=False)
    return None if is_compiled(game.rules) else f"the rules of {game.name} are not compiled"


class Worker:
    """Runs one job at a time, or begins several. All that is kept between jobs is a cache, whose loss costs
    only time, unless `goes_on` is set."""

    def __init__(self) -> None:
        self.goes_on = False
        """Whether a job knows what playouts have learnt in the jobs before it. Only for a single lane, whose
        jobs all run in this worker, one after the other."""
        self._search_id: str | None = None
        self._lanes: dict[int, _Lane] = {}
        self._arena: Tree | None = None
        self._base: tuple[int, Base] | None = None
        """The snapshot that the last job of `tree` started from, and its key."""
        self._engine: Engine
        self._places = Places(1)
        """Those of the search's evaluator, if it is awaited."""
        self._work: Workspace
        """Scratch of the search's kernels: clearing it takes a third of the time that a short job does."""

    def prepare(self, context: Context) -> None:
        """Compile or load the kernels of the search's jobs, so that no job waits for them."""
        game = games.load(context.game, context.game_source, tried=False)
        compile_for(f"{game.name}, strategy {context.request.strategy}")
        engine = engine_of(game, context.features)
        job = STRATEGY_CLASSES[context.request.strategy].least_job(engine, context)
        if job is not None:
            # What is wrong with an evaluator shows here as well, before the search begins.
            self._run(context, job)
            self._search_id = None

    @overload
    def run(self, context: Context, job: Job) -> JobResult: ...

    @overload
    def run(self, context: Context, job: StretchJob) -> StretchResult: ...

    def run(self, context: Context, job: AnyJob) -> JobResult | StretchResult:
        """The job's increments; they depend on context and job alone, not on earlier jobs of this worker,
        unless ``goes_on`` is set."""
        return job.run() if isinstance(job, StretchJob) else self._run(context, job)

    def _run(self, context: Context, job: Job) -> JobResult:
        started = time.perf_counter()
        self._turn_to(context)
        self._work.tally[:] = 0
        with np.errstate(over="ignore"):
            if isinstance(job, GrowJob):
                return self._grow(self._engine, context, job, started)
            if isinstance(job, RoundJob):
                return self._round(self._engine, context, job, started)
            if context.request.evaluator is not None:
                return _evaluate(self._engine, context, job, started)
            self._begin_job(self._work)
            return _play_leaves(self._engine, context, job, self._work, started)

    def at_once(self, context: Context) -> int:
        """How many jobs should be begun before the first of them has ended; 1: `run` them instead."""
        if context.request.evaluator is None:
            return 1
        self._turn_to(context)
        awaited = awaited_at_once(_evaluator(context, self._engine.game))
        return AHEAD * awaited if awaited > 1 else 1

    def begin(self, context: Context, job: Job) -> Future[JobResult]:
        """Begin to await the evaluation of a job; the future gets what `run` returns or raises.

        Further jobs can be begun meanwhile; up to ``Evaluator.concurrency`` positions are awaited at once,
        those of earlier jobs first. To cancel the future cancels the evaluation.
        """
        assert isinstance(job, LeafJob)
        started = time.perf_counter()
        self._turn_to(context)
        evaluator = _evaluator(context, self._engine.game)
        if self._places.number != evaluator.concurrency:
            self._places = Places(evaluator.concurrency)
        with np.errstate(over="ignore"):
            reached = reach(self._engine, context.root_state, job)
        return start(_await(context, evaluator, reached, job, self._places, started))

    def hand_over(self, context: Context, lane: int) -> LaneTree | None:
        """root: remove and return the tree of a lane, for another worker; None if it is not here."""
        kept = self._lanes.pop(lane, None) if context.search_id == self._search_id else None
        return None if kept is None else _packed(kept)

    def take_over(self, context: Context, lane: int, tree: LaneTree) -> None:
        """root: keep the tree of a lane from another worker; a tree that cannot be read is ignored."""
        self._turn_to(context)
        kept = _unpacked(self._engine, context, tree)
        if kept is not None:
            self._lanes[lane] = kept

    def _begin_job(self, work: Workspace) -> None:
        """Forget what belongs to the job before."""
        reset_outlook(work)
        if not self.goes_on:
            forget(work)

    def begin_episode(self, context: Context) -> None:
        """Forget what playouts have learnt, where jobs go on from each other."""
        self._turn_to(context)
        forget(self._work)

    def _turn_to(self, context: Context) -> None:
        """Drop the caches of another search."""
        if context.search_id != self._search_id:
            engine = engine_of(games.load(context.game, context.game_source, tried=False), context.features)
            if not self.goes_on or engine is not getattr(self, "_engine", None):
                self._work = engine.new_workspace()
            self._engine = engine
            self._lanes.clear()
            self._arena = self._base = None
            self._places = Places(1)
            self._search_id = context.search_id

    def _grow(self, engine: Engine, context: Context, job: GrowJob, started: float) -> JobResult:
        last = len(job.sizes) - 1
        lane = self._lanes.get(job.lane)
        if lane is None or lane.pieces > last:
            lane = self._lanes[job.lane] = _begun(engine, context, job)
        work = self._work
        params = params_of(context)
        root_state = engine.lane_root(context, job.lane)
        done = 0
        while lane.pieces <= last:
            # What a job learns changes the tree at its end, also when the lane is grown again.
            if lane.pieces == last or engine.features.learnt:
                lane.reported, _ = snapshot(lane.tree, context.report_visits, int(lane.tree.counts[NODES]))
            work.tally[PLAYOUTS] = 0
            self._begin_job(work)
            stream = new_stream(context.request.seed, GROW_STREAM, job.lane, lane.pieces)
            done = engine.simulate(lane.tree, params, root_state, job.sizes[lane.pieces], stream, work)
            if engine.features.learnt:
                rows = first_children_of(lane.reported.num_children)
                engine.look_back(lane.tree, lane.reported, rows, work)
            lane.pieces += 1
        added, _ = increments(lane.tree, lane.reported, context.report_visits, int(lane.tree.counts[NODES]))
        result = _result(job, lane.tree, done, work, _outlook(engine.game, context, work), added, started)
        if not job.hand_in:
            return result
        return replace(result, tree=_packed(lane))

    def _round(self, engine: Engine, context: Context, job: RoundJob, started: float) -> JobResult:
        if self._arena is None:
            self._arena = engine.new_tree(context.tree_slots)
        tree = self._arena
        base = self._base_of(job.snapshot)
        stream = new_stream(context.request.seed, ROUND_STREAM, job.lane, job.round)
        work = self._work._replace(base=base)
        root_state = context.root_state.copy()
        self._begin_job(work)
        if job.portions is not None:
            params = params_of(context)
            begin(tree, base, params)
            done = engine.grow_portions(tree, params, root_state, job.portions, stream, work)
        else:
            lanes = context.request.lanes
            # The tree counts in int32: what a job anticipates in all must not run over.
            anticipated = min(lanes - 1, (2**31 - 1) // (job.simulations + 1))
            # Shares go round, so that none stays with a lane.
            params = params_of(context, anticipated, (job.lane + job.round) % lanes, lanes)
            begin(tree, base, params)
            done = engine.simulate(tree, params, root_state, job.simulations, stream, work)
        if engine.features.learnt:
            engine.look_back(tree, base.statistics, base.first_children, work)
        least, rows = context.request.share_visits, context.increment_rows
        added, _ = increments(tree, base.statistics, least, rows, base.first_children)
        return _result(job, tree, done, work, _outlook(engine.game, context, work), added, started)

    def _base_of(self, snapshot: Snapshot) -> Base:
        """The snapshot for kernels, prepared once for all jobs that start from it."""
        if self._base is None or self._base[0] != snapshot.key:
            self._base = (snapshot.key, base_of(snapshot.statistics))
        return self._base[1]


def _packed(lane: _Lane) -> LaneTree:
    return LaneTree(lane.pieces, compress(pack_tree(lane.tree)))


def _begun(engine: Engine, context: Context, job: GrowJob) -> _Lane:
    """The lane's tree that the job contains; an empty tree if it contains none, or a corrupt one."""
    kept = None
    if job.begin is not None and job.begin.pieces < len(job.sizes):
        kept = _unpacked(engine, context, job.begin)
    return kept or _Lane(engine.new_tree(context.tree_slots), 0, engine.lone_root())


def _unpacked(engine: Engine, context: Context, lane_tree: LaneTree) -> _Lane | None:
    """A lane's tree from elsewhere; None if it is corrupt."""
    tree = engine.new_tree(context.tree_slots)
    with suppress(BadArchive, CorruptState):
        unpack_tree(tree, decompress(lane_tree.data))
        return _Lane(tree, lane_tree.pieces, engine.lone_root())
    return None


def _play_leaves(
    engine: Engine, context: Context, job: LeafJob, work: Workspace, started: float
) -> JobResult:
    stream = new_stream(context.request.seed, PLAYOUT_STREAM, job.index)
    sums = np.zeros(len(job.visits) * len(work.ends), dtype=np.float64)
    moves, depths, visits, draws = job.moves, job.depths, job.visits, job.draws
    params = params_of(context)
    root_state = context.root_state.copy()
    positions = positions_of(engine.game, root_state, moves, depths) if engine.asks_workers else None
    engine.evaluate_leaves(root_state, params, moves, depths, visits, draws, sums, stream, work)
    if engine.game.num_players > 2:
        work.totals[:] = sums.reshape(-1, len(work.ends)).sum(axis=0)
    playouts, outlook = int(work.tally[PLAYOUTS]), _outlook(engine.game, context, work)
    seconds = time.perf_counter() - started
    return JobResult(
        job.index,
        job.simulations,
        sums=sums,
        playouts=playouts,
        duration_s=seconds,
        positions=positions,
        outlook=outlook,
    )


def _outlook(game: Game, context: Context, work: Workspace) -> Outlook | None:
    """What the job that has just run found beside statistics; None in games of two players."""
    if tells_lines(game, context.request) and work.best[VALUE] > -math.inf:
        moves = work.best_line[1 : 1 + work.best_line[0]].tolist()
        return Outlook(line=tuple(moves), value=float(work.best[VALUE]))
    return Outlook(totals=tuple(work.totals.tolist())) if game.num_players > 2 else None


def _evaluate(engine: Engine, context: Context, job: LeafJob, started: float) -> JobResult:
    evaluator = _evaluator(context, engine.game)
    temperature = context.request.policy_temperature
    sums, policies, evaluated = evaluate_job(engine, evaluator, temperature, context.root_state, job)
    return _evaluated(job, sums, policies, evaluated, started)


def _evaluated(
    job: LeafJob, sums: npt.NDArray[np.float64], policies: Policies, evaluated: int, started: float
) -> JobResult:
    seconds = time.perf_counter() - started
    return JobResult(
        job.index, job.simulations, sums=sums, playouts=evaluated, duration_s=seconds, policies=policies
    )


async def _await(
    context: Context, evaluator: Evaluator, reached: Reached, job: LeafJob, places: Places, started: float
) -> JobResult:
    temperature = context.request.policy_temperature
    sums, policies, evaluated = await await_job(evaluator, temperature, reached, job, places)
    return _evaluated(job, sums, policies, evaluated, started)


def _evaluator(context: Context, game: Game) -> Evaluator:
    """The evaluator of a search that has one."""
    spec, source = context.request.evaluator, context.evaluator_source
    assert spec is not None
    assert source is not None
    return load_evaluator(spec, source, game)


def _result(
    job: GrowJob | RoundJob,
    tree: Tree,
    done: int,
    work: Workspace,
    outlook: Outlook | None,
    added: Statistics,
    started: float,
) -> JobResult:
    return JobResult(
        index=job.index,
        simulations=done,
        added=added,
        sums=None,
        playouts=int(work.tally[PLAYOUTS]),
        outlook=outlook,
        tree_nodes=int(tree.counts[NODES]),
        tree_bytes=tree_bytes(tree),
        tree_full=bool(tree.counts[FULL]),
        duration_s=time.perf_counter() - started,
    )
