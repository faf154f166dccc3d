"""Strategy subtree: threads of this process grow different subtrees of one tree (search/kernel/subtrees.py).

All jobs run by stretches. A stretch has the simulations of one round of the plan, ``lanes`` sizes; at its end
no job is in flight, so that the tree between two stretches is all there is to keep.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from games.compile.specialise import is_compiled
from games.errors import InvalidInput
from games.game import Game
from search.job import Job, JobResult
from search.kernel.subtrees import IDLE, ISSUED, LOST, OVER, Goal, Jobs
from search.kernel.turns import ABSORBED, NEXT, READY
from search.packing.arrays import Arrays, require, take, within, without_prefix
from search.packing.tree import Ranges, pack_tree, unpack_tree
from search.request import STRATEGIES, SUBTREE, SearchRequest
from search.strategies.base import Setup
from search.strategies.in_place import (
    GROWTH,
    STRETCH_S,
    InFlight,
    InPlaceStrategy,
    StretchJob,
    StretchResult,
)
from search.tree.arena import CAPACITIES, FULL, NODES, ROOT, USED, Tree

MOST_ROOM = 8_192
"""The most slots of the tree that the jobs of a lane get at a time, for their new nodes."""
FIRST_SHARE = 0.01
"""Share of the nominal rate that is assumed for the first stretch."""
STRETCHES_S = 0.2
"""Length of a round in seconds of one core. At its end no job is in flight."""
LEAST_OF_A_STRETCH = 256
"""The fewest simulations of a round, for each lane."""
ROOMS = 8
"""About how many times each lane gets such a room before the memory is used up, if the lanes are many."""


def least_room(game: Game) -> int:
    """The fewest slots that a lane can do with: several blocks of children."""
    return max(256, 4 * (game.max_moves + 1))


def new_jobs(setup: Setup) -> Jobs:
    """No jobs in flight, and no rooms yet: only the slots for the copies of their nodes."""
    tree, lanes, plies = setup.tree, setup.plan.lanes, setup.engine.game.max_plies + 1
    used, slots = int(tree.counts[USED]), len(tree.visits)
    room = max(least_room(setup.engine.game), min(MOST_ROOM, slots // (ROOMS * lanes)))
    return Jobs(
        nodes=np.zeros((lanes, plies), dtype=np.int32),
        movers=np.zeros((lanes, plies), dtype=np.uint8),
        depths=np.zeros(lanes, dtype=np.int64),
        visits=np.zeros(lanes, dtype=np.int64),
        made=np.zeros(lanes, dtype=np.int64),
        totals=np.zeros(lanes),
        playouts=np.zeros(lanes + 1, dtype=np.int64),
        taken=np.zeros(slots, dtype=np.bool_),
        takes=np.full(lanes, -1, dtype=np.int32),
        postponed=np.zeros(lanes, dtype=np.int64),
        tops=np.arange(used, used + lanes, dtype=np.int32),
        free=np.zeros((lanes, len(CAPACITIES)), dtype=np.int32),
        counts=np.zeros((lanes, 3), dtype=np.int64),
        ends=np.zeros(lanes, dtype=np.int64),
        room=np.array([used + lanes, room], dtype=np.int64),
        tally=np.zeros(5, dtype=np.int64),
        marks=np.zeros(READY + lanes, dtype=np.int64),
    )


def whole_tree(tree: Tree, jobs: Jobs) -> tuple[Tree, Ranges, int]:
    """The tree with the free blocks of all lanes, which it shares, the slots of lanes in which there is no
    node, and the number of slots that are in no room and no block."""
    tops = [(top, top + 1) for top in jobs.tops.tolist()]
    rooms = zip(jobs.counts[:, USED].tolist(), jobs.ends.tolist(), strict=True)
    return tree._replace(free=jobs.free.reshape(-1)), [*tops, *rooms], int(jobs.tally[LOST])


class GrowingTree(InFlight):
    """The jobs in flight, and what each thread needs."""

    def __init__(self, setup: Setup, threads: int, jobs: Jobs) -> None:
        """``jobs``: new ones, or those between two stretches of an equal search."""
        super().__init__(setup, threads)
        tree, lanes, first = setup.tree, setup.plan.lanes, int(jobs.marks[NEXT])
        self._kernel, self._ring, self._nodes = setup.engine.take_subtrees, jobs, int(tree.counts[NODES])
        self.jobs = jobs
        self.jobs.tally[ISSUED] = int(tree.visits[ROOT])
        tree.counts[USED] = self.jobs.room[0]
        # Compiled, or loaded, before the clock of the search starts.
        self.jobs.marks[:] = 0
        self.begin_stretch()
        self.take_turns(self.goal(self.issued), 0)
        # As after a stretch, whose last jobs had nothing left to do; none of them before the first.
        self.jobs.marks[NEXT], self.jobs.marks[ABSORBED] = first, max(0, first - lanes)
        self.jobs.marks[READY:] = 1 if first else 0

    @property
    def ended(self) -> bool:
        return bool(self.jobs.tally[OVER])

    @property
    def issued(self) -> int:
        """Number of simulations that were begun since the tree was empty."""
        return int(self.jobs.tally[ISSUED])

    def goal(self, simulations: int) -> Goal:
        """A stretch that ends with so many simulations since the tree was empty."""
        return Goal(simulations, self._setup.context.request.stop_when_full, *self._streams_of_jobs)

    def begin_stretch(self) -> None:
        self.jobs.tally[IDLE] = 0
        super().begin_stretch()

    def end_stretch(self, first: int) -> StretchResult:
        tree, counts = self._setup.tree, self.jobs.counts
        tree.counts[NODES] = self._nodes + int(counts[:, NODES].sum())
        tree.counts[USED] = self.jobs.room[0]
        if self.jobs.room.sum() > len(tree.visits):
            tree.counts[FULL] |= counts[:, FULL].max()
        return super().end_stretch(first)

    @property
    def _results(self) -> tuple[int, int, int]:
        """All jobs that were played are in the tree after a stretch."""
        return sum(self._played), int(self._setup.tree.visits[ROOT]), int(self.jobs.playouts[-1])


class SubtreeStrategy(InPlaceStrategy):
    """Jobs that are neither sent nor kept: a stretch is all that the coordinator sees of them."""

    grows_trees = False
    sends_jobs = False

    @classmethod
    def rival(cls, request: SearchRequest, threads: int) -> tuple[str, str] | None:
        line = (
            "in more than two threads --strategy tree makes more simulations: on 16 cores it made 78 % of "
            "what independent searches make, subtree 20 % (gomoku)"
        )
        return ("tree", line) if threads > 2 else None

    @classmethod
    def refuse(cls, request: SearchRequest, game: Game) -> None:
        """Games that threads cannot search in one tree."""
        if game.hidden_information or game.has_chance or game.open_loop or not game.is_two_player:
            kind = "where something is hidden" if game.hidden_information else game.form
            cls.refuse_elsewhere(f"with {game.name}, {kind}")
        if not is_compiled(game.rules):
            cls.refuse_elsewhere(f"with {game.name}, whose rules are plain Python")

    @classmethod
    def refuse_elsewhere(cls, where: str) -> None:
        others = f"{', '.join(STRATEGIES[:-1])} or {STRATEGIES[-1]} {where}"
        raise InvalidInput("strategy", SUBTREE, f"{others}: the tree of {SUBTREE} is shared by threads")

    @classmethod
    def _fixed_rounds(cls, request: SearchRequest, rate: float, simulations: int, lanes: int) -> int:
        return math.ceil(simulations / max(rate * STRETCHES_S, lanes * LEAST_OF_A_STRETCH))

    @classmethod
    def _job_size(cls, request: SearchRequest, rate: float, lanes: int, job_s: float) -> int:
        return math.ceil(max(rate * STRETCHES_S / lanes, LEAST_OF_A_STRETCH))

    @classmethod
    def least_slots(cls, lanes: int, game: Game) -> int:
        return 2 * lanes * (1 + least_room(game))

    @classmethod
    def further_slots(cls, lanes: int, game: Game) -> int:
        return lanes * least_room(game)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.shared: GrowingTree | None = None
        self._jobs: Jobs | None = None
        """Those of `shared`, or of a search that goes on."""
        self._rate = 0.0
        """Simulations/s of the last stretch; 0 before the first."""
        self._longest = 0
        """The most simulations of the next stretch where the plan is not fixed."""

    @property
    def stretches_pay(self) -> bool:
        return True

    def share_tree(self, threads: int, results: Mapping[int, JobResult] | None = None) -> None:
        self._jobs = self._jobs or new_jobs(self.setup)
        self.shared = GrowingTree(self.setup, threads, self._jobs)

    def next_stretch(self, size: int, room: int, left_s: float) -> StretchJob:
        shared, plan = self.shared, self.plan
        assert shared is not None
        if plan.seconds is None:
            simulations = min(room, int(plan.sizes(self.issued, self.lanes).sum()))
        else:
            nominal = self.setup.engine.game.nominal_simulations_per_s
            aim_s = min(STRETCH_S, left_s / GROWTH)
            wanted = aim_s * (self._rate or nominal * FIRST_SHARE)
            wanted = min(wanted, GROWTH * self._longest) if self._longest else wanted
            simulations = min(room, max(1, int(wanted))) if size else 0
        return StretchJob(self.issued, simulations, shared.goal(shared.issued + simulations), shared)

    def end_stretch(self, job: StretchJob, result: StretchResult) -> None:
        assert self.shared is not None
        self.full = self.shared.ended
        if result.simulations:
            self.issued += self.lanes
            self.absorbed += self.lanes
            self._longest = result.simulations
            self._rate = result.simulations / result.duration_s

    def _pack_tree(self) -> Arrays:
        if self._jobs is None:
            return super()._pack_tree()
        return pack_tree(*whole_tree(self.tree, self._jobs))

    def _unpack_tree(self, arrays: Arrays) -> None:
        packed = without_prefix("tree.", arrays)
        first = int(take(arrays, "next_job", np.int64, 1)[0])
        require(first == 0 or first >= self.lanes, "the number of the next job makes no sense")
        if "rooms" not in arrays:
            require(first == 0, "the rooms of lanes are missing")
            unpack_tree(self.tree, packed)
            return
        slots = len(self.tree.visits)
        columns = take(arrays, "rooms", np.int64, 4 * self.lanes).reshape(4, self.lanes)
        within(columns[:3], 0, slots, "rooms")
        within(columns[3], 0, 1, "rooms.full")
        require(bool((columns[1] <= columns[2]).all()), "a room ends before it begins")
        lost = int(take(arrays, "lost", np.int64, 1)[0])
        require(0 <= lost <= slots, "lost slots make no sense")
        jobs = self._jobs = new_jobs(self.setup)
        jobs.tops[:], jobs.counts[:, USED], jobs.ends[:], jobs.counts[:, FULL] = columns
        jobs.tally[LOST], jobs.marks[NEXT] = lost, first
        tree, reserved, _ = whole_tree(self.tree, jobs)
        unpack_tree(tree, packed, reserved, lost)
        jobs.room[0] = tree.counts[USED]

    def _state(self) -> Arrays:
        if (jobs := self._jobs) is None:
            return {"next_job": np.zeros(1, dtype=np.int64)}
        rooms: list[npt.NDArray[Any]] = [jobs.tops, jobs.counts[:, USED], jobs.ends, jobs.counts[:, FULL]]
        return {
            "next_job": jobs.marks[NEXT : NEXT + 1].copy(),
            "rooms": np.concatenate(rooms, dtype=np.int64),
            "lost": jobs.tally[LOST : LOST + 1].copy(),
        }

    def _restore(self, arrays: Arrays, sizes: list[int]) -> list[Job]:
        require(not sizes and not arrays["tree.unobserved"].any(), "jobs of subtree are never out")
        return []
