"""Leaf parallelisation (Chaslot et al. 2008): the coordinator selects, the workers play.

Batches are selected while others are in flight, with their visits counted as unobserved
(Liu et al. 2020) or as lost (virtual loss, Segal 2010). As many batches are in flight as
the request has lanes, whatever the number of workers, so that a selection always sees the
same results. A visit in flight is counted from the selection on, at new nodes too.

With an evaluator a leaf is a node without children. Its result adds them all at once, with their priors. A
leaf that is selected again before that counts one more visit of equal value: within a job it is evaluated
once. Job 0 is the root alone, and no other job is made before the root's priors have arrived.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import cached_property
from inspect import iscoroutinefunction

import numpy as np

from games.compile.specialise import is_compiled
from games.game import Game
from games.rng import new_stream
from search.evaluator import EXTERNAL, Evaluator, Places, load_evaluator, start
from search.job import PLAYOUT_STREAM, SELECTION_STREAM, Context, Job, JobResult, LeafJob
from search.kernel.engine import Engine
from search.kernel.evaluation import Reached, await_job, evaluate_job, positions_of, reach
from search.kernel.params import params_of
from search.kernel.puct import expand_leaves
from search.kernel.workspace import PLAYOUTS, Leaves
from search.packing.arrays import Arrays
from search.packing.tree import pack_leaves, unpack_leaves
from search.plan import MIN_ROUNDS, SearchPlan
from search.request import SearchRequest
from search.strategies.base import Runner, Setup, Strategy, expected_simulations
from search.strategies.selection import Selection
from search.strategies.turns import PAYS_JOB_S, PAYS_JOBS, SharedTree, StretchJob
from search.tree.arena import ROOT

IN_FLIGHT, IN_FLIGHT_IF_SLOW = 0.25, 1.0
"""With one leaf a job as many visits are in flight as there are lanes. Longer jobs have no more than
this multiple of the square root of the budget in flight, in quick and in slow games; by the law of
search/LANES.md a quarter costs 1 % of the budget, and 1 costs 12 %."""
SLOW_SIMULATIONS_PER_S = 2_000.0
"""Games slower than this are slow."""
SLOW_JOB_S_OF_A_LANE = 0.0002
"""In slow games: no job is longer than so many seconds for each lane, unless it has one leaf. With
lanes for twice as many workers, the coordinator then has 2,500 calls a second for any number of workers."""
MOST_IN_FLIGHT = 16_384
"""Most visits in flight by default, for their memory."""
BATCH = 64
"""Default limit of the leaves of a job that are evaluated by a network."""

STRETCH_S = 0.05
"""Target length of a stretch in seconds, so that progress and cancelling are prompt."""
GROWTH = 4
"""A stretch has at most this many times the work of the one before: how long it takes shows only then."""
AHEAD = 2
"""Jobs that are begun, as a multiple of the positions that are awaited at once, so that the evaluator never
idles while the next job travels."""


class LeafRunner(Runner):
    """Plays from leaves, or has them evaluated."""

    @cached_property
    def at_once(self) -> int:  # type: ignore[override]
        if self.context.request.evaluator is None or not iscoroutinefunction(self._evaluator.evaluate):
            return 1
        awaited = self._evaluator.concurrency
        return AHEAD * awaited if awaited > 1 else 1

    @cached_property
    def _evaluator(self) -> Evaluator:
        text, source = self.context.request.evaluator, self.context.evaluator_source
        assert text is not None
        assert source is not None
        return load_evaluator(text, source, self.engine.game)

    @cached_property
    def _places(self) -> Places:
        """For positions that are awaited; those of earlier jobs come first."""
        return Places(self._evaluator.concurrency)

    def run(self, job: LeafJob) -> JobResult:
        engine, context, work = self.engine, self.context, self.work
        if context.request.evaluator is not None:
            temperature = context.request.policy_temperature
            return evaluate_job(engine, self._evaluator, temperature, context.root_state, job)
        self.forget()
        stream = new_stream(context.request.seed, PLAYOUT_STREAM, job.index)
        sums = np.zeros(len(job.visits) * len(work.ends), dtype=np.float64)
        moves, depths, visits, draws = job.moves, job.depths, job.visits, job.draws
        params, root_state = params_of(context), context.root_state.copy()
        positions = positions_of(engine, root_state, moves, depths)[0] if engine.asks_workers else None
        engine.play_out_leaves(root_state, params, moves, depths, visits, draws, sums, stream, work)
        if engine.game.num_players > 2:
            work.totals[:] = sums.reshape(-1, len(work.ends)).sum(axis=0)
        return JobResult(
            job.index,
            job.simulations,
            sums=sums,
            playouts=int(work.tally[PLAYOUTS]),
            positions=positions,
            outlook=self.outlook(),
        )

    def begin(self, job: LeafJob) -> Future[JobResult]:
        """Begin to await the evaluation; up to ``Evaluator.concurrency`` positions are awaited at once.
        Cancelling the future cancels the evaluation."""
        started = time.perf_counter()
        with np.errstate(over="ignore"):
            reached = reach(self.engine, self.context.root_state, job)
        return start(self._await(reached, job, started))

    async def _await(self, reached: Reached, job: LeafJob, started: float) -> JobResult:
        temperature = self.context.request.policy_temperature
        done = await await_job(self._evaluator, temperature, reached, job, self._places)
        took_s = time.perf_counter() - started
        return replace(done, duration_s=took_s, cpu_s=took_s)


class LeafStrategy(Strategy):
    """Job j is selected when the results of all jobs up to j - lanes are in the tree."""

    grows_trees = False
    runner = LeafRunner
    by_leaves = True

    @classmethod
    def make_plan(cls, request: SearchRequest, game: Game) -> SearchPlan:
        return replace(super().make_plan(request, game), playouts_per_leaf=request.playouts_per_leaf or 1)

    @classmethod
    def _fixed_rounds(cls, request: SearchRequest, rate: float, simulations: int, lanes: int) -> int:
        if request.evaluator is None:
            size = cls._job_size(request, rate, lanes, 0.0)
            return math.ceil(simulations / lanes / size)
        batch = _batch(request)
        rounds = math.ceil(simulations / lanes / (batch or BATCH))
        return rounds if batch else max(MIN_ROUNDS, rounds)

    @classmethod
    def _job_size(cls, request: SearchRequest, rate: float, lanes: int, job_s: float) -> int:
        if request.evaluator is not None:
            return _batch(request) or BATCH
        return most_leaves(request, rate, lanes) * (request.playouts_per_leaf or 1)

    @classmethod
    def least_job(cls, engine: Engine, context: Context) -> Job:
        one, draws = np.ones(1 - context.recalls, dtype=np.int32), new_stream(0).reshape(1, 2)
        nowhere = np.zeros((len(one), 0), dtype=np.uint16)
        return LeafJob(0, nowhere, one - 1, one, draws if engine.hidden else draws[:0])

    def __init__(self, setup: Setup, selection: Selection | None = None) -> None:
        """``selection`` None: the one that suits the game."""
        super().__init__(setup)
        self.engine = setup.engine
        self.selection = selection or Selection(setup)
        self._in_flight: dict[int, Leaves] = {}
        self._evaluated = setup.engine.features.priors
        self._shared: SharedTree | None = None
        """Where jobs run by stretches: see `work_in_place`."""
        self._first_nodes = self.tree_nodes()
        self._stretch = 1, 0.0
        """Number of jobs that the last stretch ended, and its seconds. The first stretches are short."""

    def warm_up(self) -> None:
        super().warm_up()
        if self.engine.asks_workers:
            return
        tree, leaves = self.engine.new_tree(64), self.engine.new_leaves(np.ones(1, dtype=np.int32))
        with np.errstate(over="ignore"):
            self.selection.select(tree, leaves, new_stream(0))
            if self._evaluated:
                counts, moves = np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.uint16)
                expand_leaves(tree, leaves.depths, leaves.slots, counts, moves, np.zeros(0, dtype=np.float32))
            self.selection.absorb(tree, leaves, np.zeros(max(1, self._scores)))

    @property
    def created(self) -> int:
        """Nodes that jobs made: they stay in the only tree."""
        return self.tree_nodes() - self._first_nodes

    @property
    def ready(self) -> bool:
        if self._shared is not None:
            # A stretch is the only job that is out.
            return not self.jobs
        if self._evaluated and self.absorbed == 0:
            # Until the root has priors nothing tells its moves apart.
            return self.issued == 0
        return super().ready

    @property
    def most(self) -> int:
        return 1 if self._evaluated and self.issued == 0 else self.plan.job_size

    @property
    def least_jobs(self) -> int:
        return 2 if self._evaluated else 1

    @property
    def stretches_pay(self) -> bool:
        """Whether jobs are too short for calls of Python."""
        game, request, plan = self.engine.game, self.context.request, self.plan
        if request.evaluator is not None or not is_compiled(game.rules):
            return False
        if self.engine.features.learnt or self.issued - self.absorbed > self.lanes:
            return False
        if plan.is_fixed:
            return plan.jobs >= PAYS_JOBS and plan.size(0) < PAYS_JOB_S * game.nominal_simulations_per_s
        return self.most < PAYS_JOB_S * game.nominal_simulations_per_s

    @property
    def holds_results(self) -> bool:
        return self._shared is not None and self.issued > self.absorbed

    def work_in_place(self, threads: int, run: Callable[[Job], JobResult]) -> list[Job]:
        if not self.stretches_pay:
            return []
        plan, taken = self.plan, list(self.jobs.values())
        most = self.most if plan.simulations is None else 1 + plan.simulations // plan.jobs
        rows = max(
            [-(-most // plan.playouts_per_leaf), *(len(each.depths) for each in self._in_flight.values())]
        )
        self._shared = SharedTree(self.setup, rows, threads, self.outlook, self.issued, self.absorbed)
        for job in taken:
            self._shared.put(job.index, self._in_flight[job.index], run(job))
        self.jobs.clear()
        self._in_flight.clear()
        return taken

    def next_job(self, simulations: int, left_s: float = math.inf) -> Job:
        """The next job. Where jobs run by stretches it is a stretch, whose jobs have that many simulations
        each unless the plan is fixed."""
        if self._shared is None:
            return super().next_job(simulations)
        shared, plan = self._shared, self.plan
        ended, seconds = self._stretch
        count = GROWTH * max(1, ended)
        if seconds > 0:
            count = max(1, min(count, int(ended / seconds * min(STRETCH_S, left_s / GROWTH))))
        if plan.is_fixed:
            sizes = plan.sizes(self.issued, count)
            drain = self.issued + len(sizes) == plan.jobs
        else:
            room = self.context.request.most_simulations - int(self.tree.visits[ROOT]) - self.unobserved
            sizes = np.full(min(count, room // simulations) if simulations else 0, simulations, np.int64)
            drain = simulations == 0
        stretch = shared.stretch(self.issued, sizes, drain)
        job = self.jobs[self.absorbed] = StretchJob(self.absorbed, int(sizes.sum()), stretch, shared)
        return job

    def absorb(self, job: Job, result: JobResult) -> bool:
        if not isinstance(job, StretchJob):
            return super().absorb(job, result)
        shared, sizes = job.shared, job.stretch.sizes
        begun = min(shared.issued - self.issued, len(sizes))
        self.unobserved += int(sizes[:begun].sum()) - result.simulations
        assert result.outlook is not None
        self.outlook = result.outlook
        self.full = shared.ended
        self.issued, self.absorbed = self.issued + begun, shared.absorbed
        if result.duration_s:
            self._stretch = begun, result.duration_s / shared.threads
        self.jobs.clear()
        return False

    def conclude(self, failed: bool) -> JobResult | None:
        if self._shared is None:
            return None
        if not failed:
            # All jobs in flight have been played; what is out has not begun.
            self.jobs.clear()
            self.next_job(0)
        job = self.jobs[self.absorbed]
        assert isinstance(job, StretchJob)
        done = job.outcome() if failed else job.run()
        self.absorb(job, done)
        return done

    def state(self) -> Arrays:
        if self._shared is None:
            return super().state()
        # As if the jobs in flight had been sent to workers.
        out, self.jobs = self.jobs, {}
        for index in range(self.absorbed, self.issued):
            leaves = self._in_flight[index] = self._shared.leaves_of(index)
            self.jobs[index] = self._job(index, leaves)
        state = super().state()
        self.jobs = out
        self._in_flight.clear()
        return state

    def make_job(self, simulations: int) -> Job:
        leaves = self._new_leaves(simulations)
        stream = new_stream(self.context.request.seed, SELECTION_STREAM, self.issued)
        self.selection.select(self.tree, leaves, stream)
        self._in_flight[self.issued] = leaves
        return self._job(self.issued, leaves)

    def _new_leaves(self, simulations: int) -> Leaves:
        """Room for the leaves of a job, with as many playouts each but for the last."""
        most = self.plan.playouts_per_leaf
        visits = np.full(-(-simulations // most), most, dtype=np.int32)
        visits[-1] -= -simulations % most
        return self.engine.new_leaves(visits)

    def _job(self, index: int, leaves: Leaves) -> Job:
        longest = max(leaves.depths.tolist())
        draws = leaves.draws if self.engine.hidden else leaves.draws[:0]
        return LeafJob(index, leaves.moves[:, :longest].copy(), leaves.depths, leaves.visits, draws)

    def add_result(self, job: Job, result: JobResult) -> None:
        assert result.sums is not None
        leaves = self._in_flight.pop(job.index)
        if (policies := result.policies) is not None:
            # What came over the network may be read-only, which is another type to a compiled kernel.
            counts, moves, priors = map(np.array, (policies.counts, policies.moves, policies.priors))
            if job.index == 0 and self.context.allowed:
                # The root alone. Its priors add up to 1 again, also if all of them are 0.
                kept = np.isin(moves, self.context.allowed)
                moves, priors = moves[kept], np.maximum(priors[kept], np.finfo(np.float32).tiny)
                counts[0], priors = len(moves), priors / priors.sum()
            expand_leaves(self.tree, leaves.depths, leaves.slots, counts, moves, priors)
        if result.positions is not None:
            assert isinstance(job, LeafJob)
            self.selection.learn(job, result.positions)
        self.selection.absorb(self.tree, leaves, result.sums)

    def own_state(self) -> Arrays:
        return pack_leaves([self._in_flight[index] for index in self.jobs])

    def restore_own(self, arrays: Arrays, sizes: list[int]) -> list[Job]:
        batches = [self._new_leaves(size) for size in sizes]
        unpack_leaves(batches, arrays, self.tree, self._players)
        self._in_flight = {self.absorbed + k: leaves for k, leaves in enumerate(batches)}
        return [self._job(index, leaves) for index, leaves in self._in_flight.items()]


def most_leaves(request: SearchRequest, rate: float, lanes: int) -> int:
    """The most leaves of a job; ``rate`` is simulations/s of one core."""
    if request.batch is not None:
        return request.batch
    playouts_per_leaf = request.playouts_per_leaf or 1
    slow = rate < SLOW_SIMULATIONS_PER_S
    multiple = IN_FLIGHT_IF_SLOW if slow else IN_FLIGHT
    in_flight = min(MOST_IN_FLIGHT, int(multiple * math.sqrt(expected_simulations(request, rate))))
    leaves = in_flight // (lanes * playouts_per_leaf)
    if slow:
        leaves = min(leaves, int(rate * SLOW_JOB_S_OF_A_LANE * lanes / playouts_per_leaf))
    return max(1, leaves)


def _batch(request: SearchRequest) -> int | None:
    """Leaves of a job with an evaluator, if that is given: what is evaluated outside is waited for one by
    one."""
    return request.batch or (1 if request.evaluator == EXTERNAL else None)
