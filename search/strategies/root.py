"""Root parallelisation (Chaslot et al. 2008): every lane grows a tree of its own; the tops are added up."""

from __future__ import annotations

import numpy as np

from search.job import GrowJob, Job, JobResult
from search.kept import Arrays, take, within
from search.request import MAX_SIMULATIONS
from search.strategies.base import Setup, Strategy


class RootStrategy(Strategy):
    """Lanes that never hear of each other.

    A lane's tree is grown in pieces, so that there is progress to see and a lost piece is
    cheap; it stays on its worker between pieces, as a cache.
    """

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._sizes: dict[int, tuple[int, ...]] = {}
        self._nodes: dict[int, int] = {}

    @property
    def ready(self) -> bool:
        # Two pieces of each lane on their way keep every worker busy and bound what waits.
        return self.issued < self.absorbed + 2 * self.lanes

    def tree_nodes(self) -> int:
        """Nodes of all lanes' trees."""
        return sum(self._nodes.values())

    def _make_job(self, simulations: int) -> Job:
        lane = self.issued % self.lanes
        self._sizes[lane] = (*self._sizes.get(lane, ()), simulations)
        return GrowJob(self.issued, lane, self._sizes[lane])

    def _absorb(self, job: Job, result: JobResult) -> None:
        assert isinstance(job, GrowJob)
        assert result.added is not None
        self._merge(result.added)
        self._nodes[job.lane] = result.tree_nodes

    def _state(self) -> Arrays:
        nodes = [self._nodes.get(lane, 0) for lane in range(self.lanes)]
        merged = [self._sizes[job % self.lanes][job // self.lanes] for job in range(self.absorbed)]
        return {"nodes": np.array(nodes, dtype=np.int64), "merged_sizes": np.array(merged, dtype=np.int64)}

    def _restore(self, arrays: Arrays, sizes: list[int]) -> list[Job]:
        nodes = take(arrays, "nodes", np.int64, self.lanes)
        within(nodes, 0, 2**62, "nodes")
        self._nodes = {lane: count for lane, count in enumerate(nodes.tolist()) if count}
        merged = take(arrays, "merged_sizes", np.int64, self.absorbed)
        within(merged, 1, MAX_SIMULATIONS, "merged_sizes")
        pieces = [*merged.tolist(), *sizes]
        self._sizes = {
            lane: tuple(pieces[lane :: self.lanes]) for lane in range(min(self.lanes, self.issued))
        }
        return [self._job(index) for index in range(self.absorbed, self.issued)]

    def _job(self, index: int) -> Job:
        """The job of that index again, from the sizes of its lane."""
        piece, lane = divmod(index, self.lanes)
        return GrowJob(index, lane, self._sizes[lane][: piece + 1])
