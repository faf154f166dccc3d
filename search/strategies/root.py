"""Root parallelisation (Chaslot et al. 2008): every lane grows a tree of its own; their tops are merged."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from games.game import Game
from games.rng import new_stream
from search.job import GROW_STREAM, Context, GrowJob, Job, JobResult, LaneTree
from search.kernel.engine import Engine
from search.kernel.params import params_of
from search.kernel.workspace import PLAYOUTS, Workspace
from search.packing.arrays import (
    LEVEL,
    UNCOMPRESSED,
    Arrays,
    BadArchive,
    CorruptState,
    compress,
    decompress,
    parts_of,
    require,
    take,
    within,
)
from search.packing.tree import pack_tree, unpack_tree
from search.plan import SearchPlan
from search.request import MAX_SIMULATIONS
from search.strategies.base import Runner, Setup, Strategy
from search.summary import Child
from search.tree.arena import NODES, ROOT, Kept, Tree, children_of, reroot
from search.tree.merge import Statistics, all_rows, first_children_of, increments, merge, snapshot

NOTHING = LaneTree(0, b"")
"""With which a lane begins that has nothing."""


@dataclass
class _Lane:
    """A lane's tree between two of its jobs, with the statistics already reported."""

    tree: Tree
    pieces: int
    reported: Statistics


class RootRunner(Runner):
    """Keeps the trees of lanes between their jobs."""

    def __init__(self, engine: Engine, context: Context, work: Workspace, goes_on: bool) -> None:
        super().__init__(engine, context, work, goes_on)
        self.lanes: dict[int, _Lane] = {}
        """Trees of lanes, by lane."""

    def heed(self, tree: Tree, told: Arrays) -> None:
        """Change a lane's tree, in place, by what `Strategy.tell` told it before its next job; only where
        that is something. What changes here is no part of the job's increments."""

    def run(self, job: GrowJob) -> JobResult:
        engine, context, work = self.engine, self.context, self.work
        last = len(job.sizes) - 1
        lane = self.lanes.get(job.lane)
        if lane is None or lane.pieces > last:
            begun = self.context.begun
            lane = self.lanes[job.lane] = self._lane_of(begun[job.lane] if begun else NOTHING)
        least = tuple((move, -(-count // context.lanes)) for move, count in context.least)
        params, root_state = params_of(replace(context, least=least)), engine.lane_root(context, job.lane)
        done = 0
        while lane.pieces <= last:
            # What a job learns changes the tree at its end, also when the lane is grown again.
            if told := self.heard(job, lane.pieces):
                self.heed(lane.tree, told)
            if lane.pieces == last or engine.features.learnt:
                lane.reported, _ = snapshot(lane.tree, context.report_visits, int(lane.tree.counts[NODES]))
            work.tally[PLAYOUTS] = 0
            self.forget()
            stream = new_stream(context.request.seed, GROW_STREAM, job.lane, lane.pieces)
            done = engine.simulate(lane.tree, params, root_state, job.sizes[lane.pieces], stream, work)
            if engine.features.learnt:
                rows = first_children_of(lane.reported.num_children)
                engine.look_back(lane.tree, lane.reported, rows, work)
            lane.pieces += 1
        added, _ = increments(lane.tree, lane.reported, context.report_visits, int(lane.tree.counts[NODES]))
        result = self.grown(job, lane.tree, done, added)
        return result if job.hand_in is None else replace(result, tree=_packed(lane, job.hand_in))

    def hand_over(self, lane: int) -> LaneTree | None:
        kept = self.lanes.pop(lane, None)
        return None if kept is None else _packed(kept)

    def take_over(self, lane: int, tree: LaneTree) -> None:
        with suppress(BadArchive, CorruptState):
            self.lanes[lane] = self._lane_of(tree)

    def _lane_of(self, packed: LaneTree) -> _Lane:
        """Raises BadArchive, CorruptState."""
        return _Lane(_tree_of(packed, self.engine, self.context), packed.pieces, self.engine.lone_root())


def _tree_of(packed: LaneTree, engine: Engine, context: Context) -> Tree:
    tree = engine.new_tree(context.tree_slots)
    if packed.data:
        unpack_tree(tree, decompress(packed.data))
    return tree


def _packed(lane: _Lane, level: int = LEVEL) -> LaneTree:
    return LaneTree(lane.pieces, compress(pack_tree(lane.tree), level))


class RootStrategy(Strategy):
    """Lanes that never hear of each other, unless a subclass has `tell` something.

    A lane's tree is grown in pieces, so that there is progress to see and a lost piece is
    cheap; it stays on its worker between pieces, as a cache. For a checkpoint it is handed in.
    """

    runner = RootRunner
    lanes_alone = True

    @classmethod
    def least_slots(cls, lanes: int, game: Game) -> int:
        return 2 * lanes * super().least_slots(lanes, game)

    @classmethod
    def job_slots(cls, plan: SearchPlan, memory_bytes: int, engine: Engine) -> int:
        """Nodes of a lane's tree; one process may hold the trees of all lanes."""
        per_lane = memory_bytes if plan.simulations is None else plan.simulations // plan.lanes + 1
        return engine.capacity_for(memory_bytes // 2 // plan.lanes, per_lane)

    @classmethod
    def go_on(cls, kept: Kept, tree: Tree, context: Context, engine: Engine, memory_bytes: int) -> Context:
        most = max(int(each.visits[node]) for each, node in kept)
        slots = engine.capacity_for(memory_bytes // 2 // context.lanes, context.tree_slots + most)
        begun = []
        for each, node in kept:
            lane = engine.new_tree(slots)
            reroot(each, node, lane)
            added, _ = increments(lane, engine.lone_root(), context.report_visits, int(lane.counts[NODES]))
            merge(tree, added, all_rows(len(added.visits)))
            begun.append(LaneTree(0, compress(pack_tree(lane), UNCOMPRESSED)))
        return replace(context, tree_slots=slots, begun=tuple(begun))

    @classmethod
    def least_job(cls, engine: Engine, context: Context) -> Job:
        return GrowJob(0, 0, (1,))

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._sizes: list[int] = []
        """Simulations of each job."""
        self._nodes = np.zeros(self.lanes, dtype=np.int64)
        """[lanes] nodes of each lane's tree."""
        self._trees = [*(self.context.begun or (NOTHING,) * self.lanes)]
        """With what each lane began, or has handed in since."""
        self._ballots: Counter[tuple[int, int]] | None = None
        """Visits of each (lane, move of the root), where lanes vote."""
        if self.context.request.final_move == "vote":
            self._ballots = Counter()
            for lane, packed in enumerate(self.context.begun):
                tree = _tree_of(packed, setup.engine, setup.context)
                for child in children_of(tree, ROOT):
                    self._ballots[lane, int(tree.move[child])] = int(tree.visits[child])
        self._full, self._grows = np.zeros((2, self.lanes), dtype=np.bool_)
        """[lanes] whether each lane's tree is full; whether it has grown with the lane's last job."""
        self._asked: set[int] = set()
        """Lanes whose next job is to hand in its tree."""

    @property
    def ready(self) -> bool:
        # Two pieces of each lane on their way keep every worker busy and bound what waits.
        return self.issued < self.absorbed + 2 * self.lanes

    def tree_nodes(self) -> int:
        """Nodes of all lanes' trees."""
        return int(self._nodes.sum())

    def make_job(self, simulations: int) -> Job:
        lane = self.issued % self.lanes
        self._sizes.append(simulations)
        asked = lane in self._asked
        self._asked.discard(lane)
        job = self._job(self.issued)
        return replace(job, hand_in=LEVEL) if asked else job

    def _job(self, index: int) -> GrowJob:
        lane = index % self.lanes
        indices = range(lane, index + 1, self.lanes)
        told = tuple(self.told.get(each, b"") for each in indices) if self.told else ()
        sizes = tuple(self._sizes[each] for each in indices)
        # Where nobody knows which job is the last, after twice as many as before.
        last = index >= self.plan.jobs - self.lanes if self.plan.is_fixed else len(sizes).bit_count() == 1
        hand_in = UNCOMPRESSED if last and self.setup.keeps else None
        return GrowJob(index, lane, sizes, hand_in, told)

    def add_result(self, job: Job, result: JobResult) -> None:
        assert isinstance(job, GrowJob)
        assert result.added is not None
        self.merge(result)
        if self._ballots is not None:
            last = 1 + int(result.added.num_children[0])
            moves, visits = result.added.move[1:last].tolist(), result.added.visits[1:last].tolist()
            for move, count in zip(moves, visits, strict=True):
                self._ballots[job.lane, move] += count
        self._grows[job.lane] = result.tree_nodes != self._nodes[job.lane]
        self._nodes[job.lane] = result.tree_nodes
        self._full[job.lane] |= result.tree_full
        if result.tree is not None:
            self._trees[job.lane] = result.tree

    def _is_full(self, result: JobResult) -> bool:
        # Full when each lane has a full tree, or one that did not grow with its last job: a lane that has
        # settled on some lines would never fill its part of the memory.
        return bool(self._full.any() and (self._grows <= self._full).all() and self._nodes.all())

    def root_children(self) -> list[Child]:
        """The root's children; with final_move=vote also how many lanes have visited each most (the lower
        move of equal ones)."""
        children = super().root_children()
        if self._ballots is None:
            return children
        first: dict[int, int] = {}
        for (lane, move), visits in sorted(self._ballots.items()):
            if visits > self._ballots.get((lane, first.get(lane, -1)), 0):
                first[lane] = move
        votes = Counter(first.values())
        return [replace(child, votes=votes[child.move]) for child in children]

    def left(self) -> list[Tree]:
        # Where all have the budget in simulations, none is left as a checkpoint happened to find it.
        if self.plan.is_fixed and self.absorbed < self.plan.jobs:
            return []
        if not all(each.data for each in self._trees):
            return []
        return [_tree_of(each, self.setup.engine, self.context) for each in self._trees]

    def hand_in(self) -> None:
        self._asked = set(range(self.lanes))

    def own_state(self) -> Arrays:
        trees = self._trees
        state: Arrays = {
            "nodes": self._nodes.copy(),
            "fullness": self._full + 2 * self._grows.astype(np.int64),
            "merged_sizes": np.array(self._sizes[: self.absorbed], dtype=np.int64),
            "lane_slots": np.array([self.context.tree_slots], dtype=np.int64),
            "lane_pieces": np.array([tree.pieces for tree in trees], dtype=np.int64),
            "lane_lengths": np.array([len(tree.data) for tree in trees], dtype=np.int64),
            "lane_trees": np.frombuffer(b"".join(tree.data for tree in trees), dtype=np.uint8),
        }
        if self._ballots is not None:
            rows = [(lane, move, visits) for (lane, move), visits in sorted(self._ballots.items())]
            state["ballots"] = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return state

    def restore_own(self, arrays: Arrays, sizes: list[int]) -> list[Job]:
        self._nodes = take(arrays, "nodes", np.int64, self.lanes).copy()
        within(self._nodes, 0, 2**62, "nodes")
        if "fullness" in arrays:
            # Earlier checkpoints have none: there, each lane counts anew with its next job.
            within(fullness := take(arrays, "fullness", np.int64, self.lanes), 0, 3, "fullness")
            self._full, self._grows = fullness & 1 > 0, fullness & 2 > 0
        merged = take(arrays, "merged_sizes", np.int64, self.absorbed)
        within(merged, 1, MAX_SIMULATIONS, "merged_sizes")
        self._sizes = [*merged.tolist(), *sizes]
        slots = self.context.tree_slots
        if "lane_slots" in arrays:
            # Earlier checkpoints have none: their lanes had nothing to begin with.
            within(found := take(arrays, "lane_slots", np.int64, 1), 1, 2**31, "lane_slots")
            slots = int(found[0])
        pieces = take(arrays, "lane_pieces", np.int64, self.lanes)
        lengths = take(arrays, "lane_lengths", np.int64, self.lanes)
        within(pieces, 0, self.absorbed, "lane_pieces")
        within(lengths, 0, 2**40, "lane_lengths")
        most = -(np.arange(-self.absorbed, self.lanes - self.absorbed) // self.lanes)
        require(bool((pieces <= most * (lengths > 0)).all()), "trees of lanes have more jobs than there were")
        parts = parts_of(take(arrays, "lane_trees", np.uint8, int(lengths.sum())), lengths)
        self._trees = [
            LaneTree(count, part.tobytes()) for count, part in zip(pieces.tolist(), parts, strict=True)
        ]
        self.context = replace(self.context, tree_slots=slots, begun=tuple(self._trees))
        if self._ballots is not None:
            packed = take(arrays, "ballots", np.int64, None, 3)
            for column, highest in enumerate((self.lanes - 1, 2**16 - 1, MAX_SIMULATIONS)):
                within(packed[:, column], 0, highest, "ballots")
            self._ballots = Counter({(lane, move): visits for lane, move, visits in packed.tolist()})
        jobs = range(self.absorbed, self.issued)
        return [self._job(index) for index in jobs]
