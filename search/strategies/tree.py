"""Tree parallelisation by rounds: every lane starts from the busy top of the shared tree.

After each round the lanes' increments are merged and the next snapshot is published once
for all lanes (Gelly et al. 2008; Pachi's distributed engine). Lanes that start from equal
statistics would select equal leaves. So each lane counts a visit of its own as one of every
other lane too, in exploration only: unobserved samples (Liu et al. 2020), expected instead
of observed. And each lane makes its own share of the visits that a round makes of a node
(search/kernel/lazy_snapshot.py).
"""

from __future__ import annotations

import numpy as np

from search.job import Job, JobResult, RoundJob, Snapshot
from search.packing.arrays import Arrays, prefixed, require, take, without_prefix
from search.packing.snapshots import pack_snapshots, unpack_snapshots
from search.strategies.base import Setup, Strategy
from search.tree.snapshot import snapshot


class TreeStrategy(Strategy):
    """Every round starts from the merge of all rounds before it."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._min_visits = self.context.request.share_visits
        # Not a lone root where the search goes on from a tree that was kept.
        statistics, self._min_visits = snapshot(self.tree, self._min_visits, self.snapshot_rows)
        self._snapshot = Snapshot(0, statistics)
        """That of the round whose results are being absorbed; its key is the number of the round."""

    @property
    def ready(self) -> bool:
        return self.issued // self.lanes == self._snapshot.key

    def _make_job(self, simulations: int) -> Job:
        return self._job(self.issued, simulations)

    def _job(self, index: int, simulations: int) -> Job:
        this_round, lane = divmod(index, self.lanes)
        return RoundJob(index, lane, this_round, simulations, self._snapshot)

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
        return prefixed("snapshots.", packed) | {"min_visits": least}

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
        return [self._job(self.absorbed + k, size) for k, size in enumerate(sizes)]

    @property
    def snapshot_rows(self) -> int:
        """The most rows of a snapshot, such that a job's arena has room for them twice."""
        return max(1, min(self.context.snapshot_rows, self.context.tree_slots // 4))
