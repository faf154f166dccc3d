"""Tree parallelisation by rounds: every lane starts from the busy top of the shared tree.

After each round the lanes' increments are merged and the next snapshot is published once for all lanes
(Gelly et al. 2008; Pachi's distributed engine). Each lane grows other subtrees, those that the coordinator
has planned for it (search/kernel/portions.py); several lanes grow the same one only where it is too young to
be cut. In a worker the jobs of a call are joined to one, whose portions its threads share out (rounds.py).

With hidden information, where a node is no position that could be handed out, all lanes grow the whole tree.
They divide the visits of each node, and count those of the others in exploration: unobserved samples (Liu et
al. 2020), expected instead of observed (search/kernel/lazy_snapshot.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from games.game import Game
from games.rng import new_stream
from search.job import (
    ROUND_STREAM,
    SELECTION_STREAM,
    Context,
    Job,
    JobResult,
    LaneJob,
    Portions,
    Snapshot,
    empty_portions,
    tells_lines,
)
from search.kernel.engine import Engine
from search.kernel.lazy_snapshot import Itself, base_of, begin_tree
from search.kernel.params import params_of
from search.kernel.portions import are_paths, divide
from search.kernel.workspace import Workspace
from search.packing.arrays import Arrays, prefixed, require, take, within, without_prefix
from search.packing.tree import pack_snapshot, unpack_snapshot
from search.plan import FEW_LANES, MIN_ROUNDS, SearchPlan
from search.request import MAX_SIMULATIONS, SearchRequest
from search.strategies.base import Runner, Setup, Strategy
from search.strategies.rounds import JoinedJob, PortionArenas
from search.strategies.turns import TOGETHER_S, GrownTree, TogetherJob, grows_in_place
from search.tree.arena import NODES, ROOT, Tree
from search.tree.merge import increments, snapshot

QUANTA = 8
"""Selections that plan one lane's visits in a round. More of them do not make play stronger."""
PARTS = 2
"""A subtree is cut where more than one PARTS-th of a lane's visits are planned in it."""
MOST_PLANNED = 2**30
"""Most visits that a plan has: nodes count those in flight in 32 bits."""
MIN_ROUNDS_OF_MANY = 64
"""The least number of rounds is that of lanes, between MIN_ROUNDS and this: see search/LANES.md."""
MOST_ROUNDS = 128
"""Most rounds, unless jobs would be too long."""
UNDIVIDED_S = 1.0
"""Less work than this, in seconds of one core, is not divided by default: to divide a short search costs
several times its work."""
LANE_S, MOST_DEFAULT_LANES = 10.0, 1024
"""By default a long search has one lane for each LANE_S seconds of one core, at most MOST_DEFAULT_LANES."""
SHORT_JOB_S = 0.03
"""A search has more than the least number of rounds (up to MOST_ROUNDS) only if jobs are at least this
long. A round over Ray costs some 20 ms in which workers wait, whatever its content."""
MIN_SNAPSHOT_ROWS, MAX_SNAPSHOT_ROWS = 65_536, 1_048_576
"""Limits of the maximum number of rows of a snapshot. Lanes do not know nodes that it leaves out."""
SNAPSHOT_ROWS_PER_SECOND = 1_000_000
"""Maximum rows of a snapshot per second of a job, within the limits. Taking, publishing and fetching a
row costs 70 ns: 7 % of a round with one job per worker."""
MIN_INCREMENT_ROWS, MAX_INCREMENT_ROWS = 256, 16_384
"""Limits of the rows that the increments of one job may have."""
INCREMENT_ROWS_PER_SECOND = 1_250_000
"""Maximum rows of the increments of all lanes together, per second of a job. The coordinator merges a
row in about 100 ns."""
SNAPSHOT_ROW_BYTES = 512
"""Bytes of memory of a search per row of a snapshot; all copies of a row together take a tenth of that."""


def has_portions(context: Context) -> bool:
    """Whether the lanes of a round grow different subtrees. False with hidden information, because a node
    there is an information set, not a position."""
    return context.lanes > 1 and not context.hidden


def are_shared(engine: Engine, context: Context) -> bool:
    """Whether there are portions that threads may share out: what playouts learn, and best lines, belong to
    one job."""
    of_jobs = tells_lines(engine.game, context.request) or engine.game.num_players > 2
    return has_portions(context) and not (engine.features.learnt or of_jobs)


class RoundPlanner:
    """Plans the rounds of one search."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._work = setup.engine.new_workspace()
        # Lanes that share a subtree too young to be cut find the same there if nothing is a matter of chance.
        # What is planned counts as lost then, so that it goes to more subtrees.
        lost = setup.params.virtual_loss or setup.context.request.certain
        self._params = setup.params._replace(virtual_loss=lost)

    def plan(self, sizes: npt.NDArray[np.int64], first: int) -> list[Portions]:
        """The portions of each lane in a round, in which lane i makes ``sizes[i]`` simulations.

        A round of more than MOST_PLANNED is planned in proportion: the portions of a lane have fewer visits
        than it makes, and are `resized`. ``first`` is the index of the round's first job. The shared tree is
        as before, except that nodes are marked whose moves are all found to be tried, and moves that lack
        some of their least visits have children.
        """
        sizes = np.maximum(1, sizes // (1 + int(sizes.sum()) // MOST_PLANNED))
        setup, total, largest = self._setup, int(sizes.sum()), int(sizes.max())
        request, root_state = setup.context.request, setup.context.root_state.copy()
        quantum, most = max(1, largest // QUANTA), max(1, largest // PARTS)
        stream = new_stream(request.seed, SELECTION_STREAM, first)
        with np.errstate(over="ignore"):
            setup.engine.plan_visits(setup.tree, self._params, root_state, total, quantum, self._work, stream)
        # Each subtree has a quantum at least, but for one and those of least visits, and each lane adds a cut
        # at most.
        rows, plies = total // quantum + 2 + len(sizes) + len(setup.context.least), len(self._work.nodes)
        lanes = np.zeros(rows, dtype=np.int32)
        portions = empty_portions(rows, plies)
        count = divide(
            setup.tree,
            sizes,
            most,
            bool(setup.context.least),
            np.zeros((plies + 1, 2), dtype=np.int32),
            lanes,
            portions,
        )
        return split(portions, np.searchsorted(lanes[:count], np.arange(len(sizes)), side="right").tolist())


def split(portions: Portions, ends: Sequence[int]) -> list[Portions]:
    """The portions of each lane: those of lane i end before ``ends[i]``, and the next lane's begin there.
    Unused columns of moves are left out."""
    longest = max(1, int(portions.depths.max(initial=0)))
    columns = portions._replace(moves=portions.moves[:, :longest].copy())
    return [Portions._make(column[begin:end] for column in columns) for begin, end in pairwise([0, *ends])]


def resized(portions: Portions, simulations: int) -> Portions:
    """The portions with that many simulations in all, in the same proportions."""
    if portions.visits.sum() == simulations:
        return portions
    ends = np.cumsum(portions.visits)
    scaled = (ends.astype(object) * simulations // int(ends[-1])).astype(np.int64)
    visits = np.diff(scaled, prepend=0)
    kept = visits > 0
    return Portions._make(column[kept] for column in portions._replace(visits=visits))


def pack_portions(lanes: Sequence[Portions]) -> Arrays:
    """``counts``, the number of portions of each lane, and the columns of all portions, joined."""
    arrays: Arrays = {"counts": np.array([len(each.visits) for each in lanes], dtype=np.int64)}
    for name, like in empty_portions(0, 1)._asdict().items():
        if name != "moves":
            arrays[name] = np.concatenate([like, *(getattr(each, name) for each in lanes)])
    used = [each.moves[np.arange(each.moves.shape[1]) < each.depths[:, None]] for each in lanes]
    return arrays | {"moves": np.concatenate([np.empty(0, dtype=np.uint16), *used])}


def unpack_portions(arrays: Arrays, lanes: int, plies: int, tree: Tree) -> list[Portions]:
    """The portions that were packed, of no lane or of all; raises CorruptState unless every path leads from
    node to node of the tree."""
    counts = take(arrays, "counts", np.int64, None)
    require(len(counts) in (0, lanes), "portions are not those of all lanes")
    within(counts, 1, 2**31, "portions.counts")
    rows = int(counts.sum())
    like = empty_portions(0, 1)._asdict()
    columns = {name: take(arrays, name, like[name].dtype, rows) for name in like if name != "moves"}
    within(columns["visits"], 1, MAX_SIMULATIONS, "portions.visits")
    within(columns["depths"], 0, plies - 1, "portions.depths")
    moves = np.zeros((rows, plies), dtype=np.uint16)
    used = np.arange(plies) < columns["depths"][:, None]
    moves[used] = take(arrays, "moves", np.uint16, int(columns["depths"].sum()))
    require(are_paths(tree, moves, columns["depths"]), "a path to a portion leaves the tree")
    return split(Portions(moves=moves, **columns), np.cumsum(counts).tolist())


class TreeRunner(Runner):
    """Runs jobs from the snapshot of their round: portions (`JoinedJob`), or with hidden information and with
    one lane simulations from the root, in one arena."""

    def __init__(self, engine: Engine, context: Context, work: Workspace, goes_on: bool) -> None:
        super().__init__(engine, context, work, goes_on)
        self._params = params_of(context)
        self._key: int | None = None
        """That of the snapshot that the last job started from, which is the base of its workspace."""
        self._shared: PortionArenas | None = None

    @cached_property
    def _arena(self) -> Tree:
        return self.engine.new_tree(self.context.tree_slots)

    def together(self, jobs: Sequence[LaneJob], threads: int, sent: bool) -> JoinedJob | None:
        return self._joined(jobs, threads, sent) if are_shared(self.engine, self.context) else None

    def _joined(self, jobs: Sequence[LaneJob], threads: int, sent: bool) -> JoinedJob:
        if self._shared is None or len(self._shared.works) != threads:
            self._shared = PortionArenas(self.engine, self.context, threads, self.work)
        return JoinedJob(jobs[0].index, sum(job.simulations for job in jobs), self._shared, jobs, sent)

    def run(self, job: LaneJob) -> JobResult:
        self.forget()
        if job.portions is not None:
            return replace(self._joined([job], 1, sent=True).run(), outlook=self.outlook(), portion_s=None)
        engine, context, tree = self.engine, self.context, self._arena
        if self._key != job.snapshot.key:
            # Prepared once for all jobs that start from it.
            self._key = job.snapshot.key
            base = base_of(job.snapshot.statistics, job.snapshot.first_children)
            self.work = self.work._replace(base=base)
        work, params, root_state = self.work, self._params, context.root_state.copy()
        base, lanes = work.base, context.lanes
        # The tree counts in int32: what a job anticipates in all must not run over.
        anticipated = min(lanes - 1, (2**31 - 1) // (job.simulations + 1))
        # Ranks go round, so that none stays with a lane.
        share = (job.lane + job.round) % lanes
        params = params._replace(anticipated=anticipated, share=share, num_shares=lanes)
        begin_tree(tree, base, params)
        stream = new_stream(context.request.seed, ROUND_STREAM, job.lane, job.round)
        made = engine.simulate(tree, params, root_state, job.simulations, stream, work)
        if engine.features.learnt:
            engine.look_back(tree, base.statistics, base.first_children, work)
        least, rows = context.request.share_visits, context.increment_rows
        added, _ = increments(tree, base.statistics, least, rows, base.first_children)
        return self.grown(job, tree, made, added)


class TreeStrategy(Strategy):
    """Every round starts from the merge of all rounds before it."""

    runner = TreeRunner
    by_rounds = True
    lanes_of_a_worker = 2

    @classmethod
    def default_lanes(cls, request: SearchRequest, rate: float) -> int:
        """One lane by the clock, and for a short search, unless the game may be far slower than it states;
        more than usual for a long one, so that many cores have work."""
        if request.by_the_clock:
            return 1
        if (request.simulations or math.inf) < UNDIVIDED_S * rate and rate > Game.nominal_simulations_per_s:
            return 1
        work_s = (request.simulations or 0) / rate
        return max(super().default_lanes(request, rate), min(int(work_s / LANE_S), MOST_DEFAULT_LANES))

    @classmethod
    def make_plan(cls, request: SearchRequest, game: Game) -> SearchPlan:
        plan = super().make_plan(request, game)
        rounds, job_s = plan.rounds, plan.mean_job_s
        if request.by_the_clock and request.rounds is None:
            rounds = MOST_ROUNDS if plan.lanes > 1 else 1
        if request.by_the_clock and plan.lanes > 1:
            assert request.seconds is not None
            job_s = min(job_s, request.seconds / (cls.lanes_of_a_worker * plan.least_rounds))
        memory_rows = request.memory_mb * 2**20 // SNAPSHOT_ROW_BYTES
        snapshot_rows = max(job_s * SNAPSHOT_ROWS_PER_SECOND, MIN_SNAPSHOT_ROWS)
        # Whatever they have, there is room for the root's children, or nothing would be known of them.
        least_rows = max(MIN_INCREMENT_ROWS, 2 * game.max_moves)
        increment_rows = max(job_s * INCREMENT_ROWS_PER_SECOND / plan.lanes, least_rows)
        return replace(
            plan,
            rounds=rounds,
            mean_job_s=job_s,
            least_rounds=min(rounds, plan.least_rounds),
            snapshot_rows=max(1, min(memory_rows, int(snapshot_rows), MAX_SNAPSHOT_ROWS)),
            increment_rows=int(min(increment_rows, MAX_INCREMENT_ROWS)),
        )

    @classmethod
    def _fixed_rounds(cls, request: SearchRequest, rate: float, simulations: int, lanes: int) -> int:
        least = cls._least_rounds(request, lanes, simulations / lanes / rate)
        if request.rounds is not None or lanes == 1:
            return least
        return max(least, super()._fixed_rounds(request, rate, simulations, lanes))

    @classmethod
    def _least_rounds(cls, request: SearchRequest, lanes: int, lane_s: float) -> int:
        """The rounds, if the budget allows them: those of the request, or the default.

        More rounds play better, as long as ``lane_s``, the seconds of one core per lane, is enough to avoid
        short jobs.
        """
        if request.rounds is not None:
            return request.rounds
        if lanes == 1:
            # It learns nothing from rounds.
            return math.ceil(lane_s / UNDIVIDED_S)
        least = max(MIN_ROUNDS, min(lanes, MIN_ROUNDS_OF_MANY))
        affordable = int(lane_s / (SHORT_JOB_S * max(1.0, lanes / FEW_LANES)))
        return max(least, min(affordable, MOST_ROUNDS))

    @classmethod
    def least_slots(cls, lanes: int, game: Game) -> int:
        return 2 * super().least_slots(lanes, game)

    @classmethod
    def least_job(cls, engine: Engine, context: Context) -> Job:
        whole = None
        if has_portions(context):
            whole = empty_portions(1, 1)
            whole.visits[0] = 1
        return LaneJob(0, 0, 0, 1, Snapshot(0, engine.lone_root()), whole)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._plies = setup.engine.game.max_plies + 1
        self.planner = RoundPlanner(setup) if self.lanes > 1 and has_portions(self.context) else None
        """Cuts the tree into portions; None where every lane grows all of it."""
        self._portions: list[Portions] = []
        """Of each lane, in the round that was begun last; empty before the first, or without a planner."""
        self._min_visits = self.context.request.share_visits
        # Not a lone root where the search goes on from a tree that was kept.
        statistics, self._min_visits = snapshot(self.tree, self._min_visits, self.snapshot_rows)
        self._snapshot = Snapshot(0, statistics)
        """That of the round whose results are being absorbed; its key is the number of the round."""
        self._itself: Itself | None = None
        """The tree as the snapshot of a round in threads of this process."""
        self._grown: GrownTree | None = None
        """Where threads of this process grow the tree together; there are no rounds then."""
        self._nodes = 0
        """The nodes of the tree when they began to."""

    def warm_up(self) -> None:
        super().warm_up()
        if self.planner is not None:
            small = replace(self.setup, tree=self.setup.engine.new_tree(64))
            RoundPlanner(small).plan(np.ones(1, dtype=np.int64), 0)

    def work_in_place(self, threads: int, run: Callable[[Job], JobResult]) -> list[Job]:
        if grows_in_place(self.setup.engine, self.context, threads):
            self._grown = GrownTree(self.setup, threads)
            # By the clock, what rounds had in flight need not be done again.
            dropped = list(self.jobs.values())
            self.jobs.clear()
            self.issued = self.absorbed = -(-self.absorbed // self.lanes) * self.lanes
            self.unobserved = 0
            return dropped
        # All jobs of a round are one there, during which the tree stays as it is. But to give a move its
        # least visits, a plan makes a child, which is in no snapshot.
        if threads > 1 and are_shared(self.setup.engine, self.context) and not self.context.least:
            self._itself = Itself(self.tree)
        return []

    @property
    def ready(self) -> bool:
        if self._grown is not None:
            return not self.jobs
        # Whether the next job belongs to the snapshot's round.
        return self.issued // self.lanes == self._snapshot.key

    def next_job(self, simulations: int, left_s: float = math.inf) -> Job:
        if self._grown is None:
            return super().next_job(simulations)
        most = self.context.request.most_simulations - int(self.tree.visits[ROOT])
        self._nodes = self.tree_nodes()
        job = self.jobs[self.issued] = TogetherJob(self.issued, most, min(TOGETHER_S, left_s), self._grown)
        return job

    def absorb(self, job: Job, result: JobResult) -> bool:
        if not isinstance(job, TogetherJob):
            return super().absorb(job, result)
        self.jobs.clear()
        self._created += self.tree_nodes() - self._nodes
        self.issued = self.absorbed = self.absorbed + self.lanes
        self.full = self._is_full(result)
        return False

    def state(self) -> Arrays:
        # A job that changes the tree is not out while others look.
        out, self.jobs = self.jobs, {} if self._grown else self.jobs
        state = super().state()
        self.jobs = out
        return state

    def make_job(self, simulations: int) -> Job:
        if self.planner is not None and self.issued % self.lanes == 0:
            sizes = np.full(self.lanes, simulations, dtype=np.int64)
            if self.plan.is_fixed:
                sizes = self.plan.sizes(self.issued, self.lanes)
            self._portions = self.planner.plan(sizes, self.issued)
        return self._job(self.issued, simulations)

    def _job(self, index: int, simulations: int) -> Job:
        this_round, lane = divmod(index, self.lanes)
        portions = resized(self._portions[lane], simulations) if self._portions else None
        return LaneJob(index, lane, this_round, simulations, self._snapshot, portions)

    def end_round(self) -> None:
        # Taken here, not with the next job: so it always holds the results of the same jobs.
        key = self.absorbed // self.lanes
        # Nodes get children with their second visit. By the clock lanes need not know the same everywhere.
        holds_all = self._min_visits == 2 and self.tree.counts[NODES] <= self.snapshot_rows
        if self._itself is not None and (holds_all or self.context.request.by_the_clock):
            self._snapshot = Snapshot(key, self._itself.statistics(), self.tree.children)
            return
        statistics, self._min_visits = snapshot(self.tree, self._min_visits, self.snapshot_rows)
        self._snapshot = Snapshot(key, statistics)

    def own_state(self) -> Arrays:
        statistics, least = self._snapshot.statistics, self._min_visits
        if self._grown is not None or self._snapshot.first_children is not None:
            statistics, least = snapshot(self.tree, least, self.snapshot_rows)
        packed = prefixed("snapshots.", pack_snapshot(statistics))
        portions = prefixed("portions.", pack_portions(self._portions))
        return packed | portions | {"min_visits": np.array([least], dtype=np.int64)}

    def restore_own(self, arrays: Arrays, sizes: list[int]) -> list[Job]:
        self._min_visits = int(take(arrays, "min_visits", np.int64, 1)[0])
        require(self._min_visits >= self.context.request.share_visits, "min_visits is less than asked")
        packed = without_prefix("snapshots.", arrays)
        statistics = unpack_snapshot(packed, self.snapshot_rows, self.lone_root)
        this_round = self.absorbed // self.lanes
        self._snapshot = Snapshot(this_round, statistics)
        require(
            not sizes or (self.issued - 1) // self.lanes == this_round, "jobs that are out have no snapshot"
        )
        packed = without_prefix("portions.", arrays)
        self._portions = unpack_portions(packed, self.lanes, self._plies, self.tree)
        begun = self.issued % self.lanes > 0 or bool(sizes)
        require(self._portions or self.planner is None or not begun, "there are no portions of the round")
        require(self.planner is not None or not self._portions, "portions of a search without any")
        return [self._job(self.absorbed + k, size) for k, size in enumerate(sizes)]

    @property
    def snapshot_rows(self) -> int:
        """The most rows of a snapshot, such that a job's arena has room for them twice."""
        return max(1, min(self.context.snapshot_rows, self.context.tree_slots // 4))
