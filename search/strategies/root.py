"""Root parallelisation (Chaslot et al. 2008): every lane grows a tree of its own; the tops are added up."""

from __future__ import annotations

from search.job import GrowJob, Job, JobResult
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
