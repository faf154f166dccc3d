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
    """Round r starts from the merge of all rounds before r - staleness."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._min_visits = self.context.request.share_visits
        # Not a lone root where the search goes on from a tree that was kept.
        statistics, self._min_visits = snapshot(self.tree, self._min_visits, self.snapshot_rows)
        first = Snapshot(0, statistics)
        self._snapshots = dict.fromkeys(range(self.context.staleness + 1), first)

    @property
    def ready(self) -> bool:
        return self.issued // self.lanes in self._snapshots

    def _make_job(self, simulations: int) -> Job:
        return self._job(self.issued, simulations)

    def _job(self, index: int, simulations: int) -> Job:
        this_round, lane = divmod(index, self.lanes)
        return RoundJob(index, lane, this_round, simulations, self._snapshots[this_round])

    def _absorb(self, job: Job, result: JobResult) -> None:
        assert isinstance(job, RoundJob)
        assert result.added is not None
        self._merge(result.added)
        if job.lane == self.lanes - 1:
            # Taken here and not when the next job is made, so that it always holds the same jobs.
            del self._snapshots[job.round]
            statistics, self._min_visits = snapshot(self.tree, self._min_visits, self.snapshot_rows)
            key = job.round + 1 + self.context.staleness
            self._snapshots[key] = Snapshot(key, statistics)

    def _state(self) -> Arrays:
        kept = [self._snapshots[key].statistics for key in self._rounds_at_hand()]
        least = np.array([self._min_visits], dtype=np.int64)
        return prefixed("snapshots.", pack_snapshots(kept, self.lone_root)) | {"min_visits": least}

    def _restore(self, arrays: Arrays, sizes: list[int]) -> list[Job]:
        self._min_visits = int(take(arrays, "min_visits", np.int64, 1)[0])
        require(self._min_visits >= self.context.request.share_visits, "min_visits is less than asked")
        keys = self._rounds_at_hand()
        kept = unpack_snapshots(
            without_prefix("snapshots.", arrays), len(keys), self.snapshot_rows, self.lone_root
        )
        self._snapshots = {key: Snapshot(key, item) for key, item in zip(keys, kept, strict=True)}
        require(not sizes or (self.issued - 1) // self.lanes in keys, "jobs that are out have no snapshot")
        return [self._job(self.absorbed + k, size) for k, size in enumerate(sizes)]

    def _rounds_at_hand(self) -> range:
        """Rounds whose jobs can be made: the one that is being absorbed, and those that overlap it."""
        this_round = self.absorbed // self.lanes
        return range(this_round, this_round + 1 + self.context.staleness)

    @property
    def snapshot_rows(self) -> int:
        """The most rows of a snapshot, such that a job's arena has room for them twice."""
        return max(1, min(self.context.snapshot_rows, self.context.tree_slots // 4))
