"""Tree parallelisation by rounds: every lane starts from the busy top of the shared tree.

After each round the lanes' increments are merged and the next snapshot is published once for all lanes
(Gelly et al. 2008; Pachi's distributed engine). Each lane grows other subtrees, those that the coordinator
has planned for it (search/kernel/portions.py), so that no lane works on what another one changes meanwhile.
With hidden information, where a node is no position that could be handed out, all lanes grow the whole tree.
They divide the visits of each node, and count those of the others in exploration: unobserved samples (Liu et
al. 2020), expected instead of observed (search/kernel/lazy_snapshot.py).
"""

from __future__ import annotations

import numpy as np

from search.job import Job, JobResult, Portions, RoundJob, Snapshot
from search.packing.arrays import Arrays, prefixed, require, take, without_prefix
from search.packing.snapshots import pack_snapshots, unpack_snapshots
from search.strategies.base import Setup, Strategy
from search.strategies.portions import Planner, pack_portions, resized, unpack_portions
from search.tree.snapshot import snapshot


class TreeStrategy(Strategy):
    """Every round starts from the merge of all rounds before it."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._plan = setup.plan
        self._plies = setup.engine.game.max_plies + 1
        self.planner = Planner(setup) if self.lanes > 1 and self.context.has_portions else None
        """Cuts the tree into portions; None where every lane grows all of it."""
        self._portions: list[Portions] = []
        """Of each lane, in the round that was begun last; empty before the first, or without a planner."""
        self._min_visits = self.context.request.share_visits
        # Not a lone root where the search goes on from a tree that was kept.
        statistics, self._min_visits = snapshot(self.tree, self._min_visits, self.snapshot_rows)
        self._snapshot = Snapshot(0, statistics)
        """That of the round whose results are being absorbed; its key is the number of the round."""

    @property
    def ready(self) -> bool:
        return self.issued // self.lanes == self._snapshot.key

    def _make_job(self, simulations: int) -> Job:
        if self.planner is not None and self.issued % self.lanes == 0:
            sizes = np.full(self.lanes, simulations, dtype=np.int64)
            if self._plan.is_fixed:
                sizes = self._plan.sizes(self.issued, self.lanes)
            self._portions = self.planner.plan(sizes, self.issued)
        return self._job(self.issued, simulations)

    def _job(self, index: int, simulations: int) -> Job:
        this_round, lane = divmod(index, self.lanes)
        portions = resized(self._portions[lane], simulations) if self._portions else None
        return RoundJob(index, lane, this_round, simulations, self._snapshot, portions)

    def _absorb(self, job: Job, result: JobResult) -> None:
        assert isinstance(job, RoundJob)
        assert result.added is not None
        self._merge(result.added)
        if job.lane == self.lanes - 1:
            # Taken here and not when the next job is made, so that it always holds the same jobs.
            statistics, self._min_visits = snapshot(self.tree, self._min_visits, self.snapshot_rows)
            self._snapshot = Snapshot(job.round + 1, statistics)

    def _state(self) -> Arrays:
        least = np.array([self._min_visits], dtype=np.int64)
        packed = pack_snapshots([self._snapshot.statistics], self.lone_root)
        portions = prefixed("portions.", pack_portions(self._portions))
        return prefixed("snapshots.", packed) | portions | {"min_visits": least}

    def _restore(self, arrays: Arrays, sizes: list[int]) -> list[Job]:
        self._min_visits = int(take(arrays, "min_visits", np.int64, 1)[0])
        require(self._min_visits >= self.context.request.share_visits, "min_visits is less than asked")
        packed = without_prefix("snapshots.", arrays)
        (statistics,) = unpack_snapshots(packed, 1, self.snapshot_rows, self.lone_root)
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
