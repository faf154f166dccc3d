"""A strategy divides a search into jobs and merges their results: what all strategies have in common.

One of your own is a class in a file, of two parts (search/OWN_STRATEGY.md). A subclass of `Strategy` belongs
to the coordinator: when the next job can be made (`ready`), what it is told (`tell`), what its result does to
the shared tree (`add_result`). A subclass of `Runner` belongs to workers: what they do with a job (`run`).
All else has a default. For equal answers on any workers, a result must depend on its job alone, and a job on
the request and on the results that were absorbed before it was made.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from games.game import Game
from search.job import Context, DividedJob, GrowJob, Job, JobResult, LaneTree, Outlook, tells_lines
from search.kernel.backup import prove_root, reset_outlook
from search.kernel.engine import Engine
from search.kernel.learning import forget
from search.kernel.params import SearchParams
from search.kernel.workspace import PLAYOUTS, VALUE, Workspace
from search.packing.arrays import (
    Arrays,
    compress,
    decompress,
    parts_of,
    prefixed,
    require,
    take,
    within,
    without_prefix,
)
from search.packing.tree import pack_outlook, pack_tree, unpack_outlook, unpack_tree
from search.plan import ENDLESS_JOB_S, ENDLESS_S, FEW_LANES, MIN_ROUNDS, SearchPlan, job_seconds
from search.request import DEFAULT_LANES, MAX_SIMULATIONS, SearchRequest
from search.summary import Child, digest, root_children
from search.tree.arena import FULL, NODES, ROOT, Kept, Tree, proof_of, reroot, tree_bytes
from search.tree.merge import Statistics, all_rows, merge, snapshot


@dataclass(frozen=True, eq=False)
class Setup:
    """The arguments of a strategy."""

    context: Context
    engine: Engine
    params: SearchParams
    plan: SearchPlan
    tree: Tree
    """The shared tree: a lone root, or what `Strategy.go_on` has made of it."""
    mover: int
    """In whose view the root's children are compared: FIRST, or SECOND where the second of two players
    moves."""
    num_legal: int
    """How many legal moves of the root are searched."""
    keeps: bool = False
    """Whether another search may go on from what this one has `Strategy.left`."""


class Runner(ABC):
    """What a worker does with the jobs of one search. All that it keeps between jobs is a cache, whose loss
    costs only time, unless ``goes_on`` is set.

    ``engine`` has the kernels of the game (`Engine.simulate` grows a tree), ``context`` what all jobs share,
    and ``work`` is the scratch that kernels need.
    """

    at_once = 1
    """How many jobs should be begun before the first of them has ended; 1: they are not begun, but run."""

    def __init__(self, engine: Engine, context: Context, work: Workspace, goes_on: bool) -> None:
        """``work``: scratch; ``goes_on``: whether a job knows what playouts learnt in those before it."""
        self.engine, self.context, self.work, self.goes_on = engine, context, work, goes_on

    @abstractmethod
    def run(self, job: Any) -> JobResult:
        """The job's increments, without times; they depend on context and job alone, unless ``goes_on`` is
        set. A job of `Strategy.make_job` is a GrowJob; `heard` is what it was told. Where a job grows a tree,
        `grown` makes the result."""

    def together(self, jobs: Sequence[Any], threads: int, sent: bool) -> DividedJob | None:
        """See `Worker.together`."""
        return None

    def begin(self, job: Any) -> Future[JobResult]:
        """Begin a job; the future gets what `run` returns or raises."""
        done: Future[JobResult] = Future()
        done.set_result(self.run(job))
        return done

    def hand_over(self, lane: int) -> LaneTree | None:
        """Remove and return the tree of a lane, for another worker; None if it is not here."""
        return None

    def take_over(self, lane: int, tree: LaneTree) -> None:
        """Keep the tree of a lane from another worker; a tree that cannot be read is ignored."""
        return

    def heard(self, job: GrowJob, piece: int = -1) -> Arrays:
        """What `Strategy.tell` gave for a job, or for the one with that number in its lane."""
        return decompress(job.told[piece]) if job.told and job.told[piece] else {}

    def forget(self) -> None:
        """Forget what the kernels noted for the job before; each job begins with it."""
        reset_outlook(self.work)
        if not self.goes_on:
            forget(self.work)

    def outlook(self) -> Outlook | None:
        """What the job that has just run found beside statistics; None in games of two players."""
        game, work = self.engine.game, self.work
        if tells_lines(game, self.context.request) and work.best[VALUE] > -math.inf:
            moves = work.best_line[1 : 1 + work.best_line[0]].tolist()
            return Outlook(line=tuple(moves), value=float(work.best[VALUE]))
        return Outlook(totals=tuple(work.totals.tolist())) if game.num_players > 2 else None

    def grown(self, job: Job, tree: Tree, done: int, added: Statistics) -> JobResult:
        """The result of a job that has made ``done`` simulations in a tree of its own."""
        return JobResult(
            index=job.index,
            simulations=done,
            added=added,
            playouts=int(self.work.tally[PLAYOUTS]),
            outlook=self.outlook(),
            tree_nodes=int(tree.counts[NODES]),
            tree_bytes=tree_bytes(tree),
            tree_full=bool(tree.counts[FULL]),
        )


class Strategy:
    """Which jobs come next, and what a result does to the shared tree.

    Jobs are numbered from 0 in the order in which `next_job` makes them, and their results
    must be absorbed in that order; so the shared tree is a fold over jobs, and does not
    depend on where or when they ran. After each result, jobs are made as long as `ready` says so.

    A strategy that keeps more than the shared tree, for later jobs, has it in ``kept``, or saves it by
    `own_state` and `restore_own`.

    What holds for the whole class, such as which requests it refuses and how it divides a budget, is known
    before there is a search.
    """

    grows_trees: ClassVar[bool] = True
    """Whether jobs grow trees of their own, for which half of the memory is kept, and in which several moves
    of the root can be searched with one determinization."""
    lanes_alone: ClassVar[bool] = False
    """Whether lanes share nothing: each can search a determinization of its own."""
    runner: ClassVar[type[Runner]]
    """What a worker does with jobs."""
    by_rounds: ClassVar[bool] = False
    """Whether the jobs of a round start from one snapshot of the tree."""
    lanes_of_a_worker: ClassVar[int] = 0
    """By the clock, how many lanes a request that names none gets for each worker: see `for_workers`; 0: as
    many as on any number of workers."""
    by_leaves: ClassVar[bool] = False
    """Whether a job is playouts from leaves of the tree, with the options ``batch`` and
    ``playouts_per_leaf``."""

    @classmethod
    def make_plan(cls, request: SearchRequest, game: Game) -> SearchPlan:
        """The plan of a search."""
        rate, budget = game.nominal_simulations_per_s, request.simulations
        lanes = request.lanes or cls.default_lanes(request, rate)
        if budget is None:
            # The number of cores is not known.
            rounds = request.rounds or MIN_ROUNDS
            job_s = job_seconds(lanes) if request.seconds else ENDLESS_JOB_S * max(1.0, lanes / FEW_LANES)
        else:
            # With an evaluator the root is a job of its own.
            simulations = budget - (request.evaluator is not None)
            lanes = min(lanes, simulations)
            rounds = max(1, min(cls._fixed_rounds(request, rate, simulations, lanes), simulations // lanes))
            job_s = budget / (lanes * rounds) / rate
        return SearchPlan(
            simulations=budget,
            seconds=request.seconds,
            lanes=lanes,
            rounds=rounds,
            least_rounds=rounds,
            mean_job_s=job_s,
            job_size=cls._job_size(request, rate, lanes, job_s),
            root_first=request.seconds is None and request.evaluator is not None,
            expected_simulations=expected_simulations(request, rate),
        )

    @classmethod
    def _fixed_rounds(cls, request: SearchRequest, rate: float, simulations: int, lanes: int) -> int:
        """Jobs of each lane that make so many simulations together; ``rate`` is simulations/s of one core."""
        return request.rounds or math.ceil(simulations / lanes / max(1.0, rate * job_seconds(lanes)))

    @classmethod
    def grain(cls, plan: SearchPlan, hidden: str) -> int:
        """1 plus the visits by which least visits of a move may be exceeded: where lanes do not hear of each
        other, or a leaf has several playouts. ``hidden`` as in Context."""
        return plan.lanes if cls.lanes_alone or (cls.by_rounds and hidden) else plan.playouts_per_leaf

    @classmethod
    def default_lanes(cls, request: SearchRequest, rate: float) -> int:
        """The lanes of a request that names none; ``rate`` is simulations/s of one core."""
        return DEFAULT_LANES

    @classmethod
    def _job_size(cls, request: SearchRequest, rate: float, lanes: int, job_s: float) -> int:
        """`SearchPlan.job_size`."""
        return max(1, round(rate * job_s))

    @classmethod
    def least_slots(cls, lanes: int, game: Game) -> int:
        """Slots with which every tree has room for the root's children, while their block grows."""
        return 4 * (game.max_moves + 1)

    @classmethod
    def job_slots(cls, plan: SearchPlan, memory_bytes: int, engine: Engine) -> int:
        """Nodes of a job's own tree, so that the trees of all jobs in one process fit into the memory, of
        which the other half is for the shared tree; 0 if jobs grow none."""
        per_job = plan.size(plan.jobs - 1) + 1 if plan.is_fixed else memory_bytes
        slots = engine.capacity_for(memory_bytes // 2, per_job + plan.snapshot_rows)
        return slots if cls.grows_trees else 0

    @classmethod
    def go_on(cls, kept: Kept, tree: Tree, context: Context, engine: Engine, memory_bytes: int) -> Context:
        """Begin with what an earlier search has `left`, one tree or one of each lane: ``tree``, a lone root,
        is changed to the shared tree. Returns the context of the jobs."""
        reroot(*kept[0], tree)
        return context

    @classmethod
    def least_job(cls, engine: Engine, context: Context) -> Job | None:
        """A job of one simulation from the root, with which workers compile, or load, the kernels of jobs;
        None if they have none."""
        return None

    def __init__(self, setup: Setup) -> None:
        self.setup, self.context = setup, setup.context
        self.plan = setup.plan
        self.lanes = setup.plan.lanes
        self.tree = setup.tree
        self.issued = 0
        """Jobs made so far: the index of the next one."""
        self.absorbed = 0
        """Results absorbed so far."""
        self._created = 0
        self.duplicates = 0
        """Nodes among `created` that another lane had made as well, because lanes hear of each other late."""
        self.unobserved = 0
        """Simulations of all jobs made and not yet absorbed."""
        self.full = False
        """Whether the memory was used up when the last result came into the tree."""
        self.jobs: dict[int, Job] = {}
        """Jobs made and not yet absorbed, in their order."""
        self.told: dict[int, bytes] = {}
        """By index, what jobs were told, compressed, if it is still of use: `tell`."""
        self.kept: Arrays = {}
        """What a subclass keeps from job to job beside the tree, by name; it is part of the state."""
        self.lone_root = setup.engine.lone_root()
        """The snapshot of a tree that nobody has visited, whose columns have the types of this search."""
        self._game = game = setup.engine.game
        self._players = game.num_players
        self._scores = self._players if self._players > 2 else 0
        """How many players have a total score in the outlook."""
        self.outlook = Outlook(totals=(0.0,) * self._scores)
        """The best line that any job found, or the scores of all players."""
        self._has_outlook = tells_lines(game, setup.context.request) or self._scores > 0

    def warm_up(self) -> None:
        """Compile, or load, the kernels that the coordinator uses on the shared tree."""
        tree = self.setup.engine.new_tree(64)
        merge(tree, snapshot(tree, 0, 64)[0], all_rows(1))
        digest(tree)
        if self.context.request.solver:
            prove_root(tree, 0, 1)

    @property
    def ready(self) -> bool:
        """Whether the next job can be made before another result is absorbed; by default as long as fewer
        jobs are out than there are lanes. At most twice as many may be out."""
        return self.issued < self.absorbed + self.lanes

    @property
    def most(self) -> int:
        """The most simulations that the next job may have where the plan is not fixed."""
        return MAX_SIMULATIONS

    @property
    def least_jobs(self) -> int:
        """The number of results after which the root has visited children."""
        return 1

    @property
    def holds_results(self) -> bool:
        """Whether results are here that are not in the tree, so that a job of no simulations is of use."""
        return False

    def work_in_place(self, threads: int, run: Callable[[Job], JobResult]) -> list[Job]:
        """From now on make jobs that read, or change, the tree itself, in ``threads`` threads of this
        process, if that pays; only before the first job. Returns the jobs in flight whose results it has got
        by ``run``."""
        return []

    def next_job(self, simulations: int, left_s: float = math.inf) -> Job:
        """The next job, of that many simulations; only when `ready`. ``left_s``: seconds until the budget
        ends."""
        if told := self.tell():
            self.told[self.issued] = compress(told)
        job = self.jobs[self.issued] = self.make_job(simulations)
        self.issued += 1
        self.unobserved += simulations
        return job

    def absorb(self, job: Job, result: JobResult) -> bool:
        """Add the result of the next job in order to the shared tree; returns whether its round is over, so
        that `end_round` comes next. Raises ValueError for another job's."""
        if not job.index == result.index == self.absorbed:
            raise ValueError(
                f"job {self.absorbed} is to be absorbed next, not {job.index} with {result.index}"
            )
        self.add_result(job, result)
        if (found := result.outlook) is not None:
            # Of equal lines that of the earlier job.
            best = found if found.value > self.outlook.value else self.outlook
            pairs = zip(self.outlook.totals, found.totals, strict=True)
            self.outlook = Outlook(best.line, best.value, tuple(one + other for one, other in pairs))
        self.full = self._is_full(result)
        for _ in range(result.jobs):
            self.unobserved -= self.jobs.pop(self.absorbed).simulations
            self.absorbed += 1
        return self.by_rounds and self.absorbed % self.lanes == 0

    def conclude(self, failed: bool) -> JobResult | None:
        """Bring the results that are held into the tree; returns what that did, or None if no job here
        changes the tree itself. ``failed``: the job that is out has failed; returns what it did before."""
        return None

    def end_round(self) -> None:
        """Prepare the next round; only when the results of all jobs are in the tree."""
        return

    @property
    def created(self) -> int:
        """Nodes that jobs made."""
        return self._created

    def tree_nodes(self) -> int:
        """Nodes of all trees that the search keeps."""
        return int(self.tree.counts[NODES])

    def root_children(self) -> list[Child]:
        """The root's children as the player to move there sees them; most visited first."""
        children, least = root_children(self.tree, self.setup.mover), dict(self.context.least)
        if not least:
            return children
        grain = self.grain(self.plan, self.context.hidden)
        return [
            replace(child, forced=child.visits < least.get(child.move, -grain) + grain) for child in children
        ]

    def left(self) -> list[Tree]:
        """The trees from which the next search of the game may go on; none if workers have not returned
        them."""
        return [self.tree]

    def hand_in(self) -> None:
        """Have the next jobs return the trees that workers keep, for a checkpoint."""
        return

    @property
    def proven(self) -> int:
        """What is proven of the root; see search/tree/arena.py."""
        return proof_of(self.tree, ROOT)

    def state(self) -> Arrays:
        """The state of the strategy as arrays: the shared tree, all that jobs in flight were made of, `told`,
        and `kept`."""
        tally = [self.issued, self.absorbed, self.created, self.duplicates]
        sizes = [job.simulations for job in self.jobs.values()]
        own = {"tally": np.array(tally, dtype=np.int64), "sizes": np.array(sizes, dtype=np.int64)}
        if self._has_outlook:
            own |= prefixed("outlook.", pack_outlook(self.outlook))
        if self.told:
            own["told"] = np.array([(k, len(told)) for k, told in self.told.items()], dtype=np.int64)
            own["told_data"] = np.frombuffer(b"".join(self.told.values()), dtype=np.uint8)
        own |= prefixed("kept.", self.kept)
        return own | prefixed("tree.", pack_tree(self.tree)) | self.own_state()

    def restore(self, arrays: Arrays) -> None:
        """Resume from the `state` of a strategy with an equal context; only before the first job.

        Raises CorruptState, and then the strategy must not be used.
        """
        issued, absorbed, self._created, self.duplicates = take(arrays, "tally", np.int64, 4).tolist()
        most = min(absorbed + 2 * self.lanes, MAX_SIMULATIONS)
        require(0 <= absorbed <= issued <= most, "jobs are out of order")
        require(0 <= self.duplicates <= self._created, "created nodes make no sense")
        sizes = take(arrays, "sizes", np.int64, issued - absorbed)
        within(sizes, 1, MAX_SIMULATIONS, "sizes")
        if self._has_outlook:
            self.outlook = unpack_outlook(without_prefix("outlook.", arrays), self._scores)
            self._check_line()
        unpack_tree(self.tree, without_prefix("tree.", arrays))
        self.issued, self.absorbed, self.unobserved = issued, absorbed, int(sizes.sum())
        self.kept = without_prefix("kept.", arrays)
        if "told" in arrays:
            indices, lengths = take(arrays, "told", np.int64, None, 2).T
            parts = parts_of(take(arrays, "told_data", np.uint8, int(lengths.sum())), lengths)
            self.told = {k: part.tobytes() for k, part in zip(indices.tolist(), parts, strict=True)}
        jobs = self.restore_own(arrays, sizes.tolist())
        self.jobs = {job.index: job for job in jobs}
        require(list(self.jobs) == list(range(absorbed, issued)), "jobs that are out are missing")

    def tell(self) -> Arrays:
        """What the next job, number ``issued``, is told: arrays of numbers by name. They may depend on the
        tree, and on ``kept``. By default nothing."""
        return {}

    def make_job(self, simulations: int) -> Job:
        """The next job, number ``issued``, of that many simulations; by default one of lane
        ``issued % lanes``, whose ``told`` has one entry."""
        return self._lone_job(self.issued, simulations)

    def add_result(self, job: Job, result: JobResult) -> None:
        """Add the result of job ``absorbed`` to the tree; by default its increments are merged, and what the
        job was told is forgotten."""
        self.merge(result)
        self.told.pop(job.index, None)

    def _is_full(self, result: JobResult) -> bool:
        """The new value of ``full`` with the result of the last job."""
        return self.full or result.tree_full or bool(self.tree.counts[FULL])

    def own_state(self) -> Arrays:
        """The state beside the tree, the counts, ``told``, ``kept``, and the sizes of jobs in flight."""
        return {}

    def restore_own(self, arrays: Arrays, sizes: list[int]) -> list[Job]:
        """Restore `own_state`; returns the jobs in flight, from number ``absorbed`` on, which have these
        sizes: those that `make_job` made. Raises CorruptState."""
        return [self._lone_job(self.absorbed + k, size) for k, size in enumerate(sizes)]

    def _lone_job(self, index: int, simulations: int) -> Job:
        return GrowJob(index, index % self.lanes, (simulations,), told=(self.told.get(index, b""),))

    def _check_line(self) -> None:
        """Raise CorruptState unless the best line leads by legal moves from the root to the end."""
        if not self.outlook.line:
            return
        state = self.context.root_state.copy()
        for move in self.outlook.line:
            require(move in self._game.legal_moves(state), "the best line is not legal")
            self._game.calls.play(state, move)
        require(bool(self._game.calls.is_terminal(state)), "the best line does not lead to the end")

    def merge(self, result: JobResult) -> None:
        """Merge increments; with the solver also prove the root if the lanes together have done so."""
        added, parts = result.added, result.portion_rows
        assert added is not None
        created, duplicates = merge(self.tree, added, all_rows(len(added.visits)) if parts is None else parts)
        self._created += created
        self.duplicates += duplicates
        if self.context.request.solver:
            prove_root(self.tree, self.setup.mover, self.setup.num_legal)


def expected_simulations(request: SearchRequest, rate: float) -> int:
    """Simulations of the whole search; ``rate`` is simulations/s of one core."""
    return request.simulations or int(rate * (request.seconds or ENDLESS_S))
