"""What the coordinator asks of a strategy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from search.engine import Engine
from search.final_move import Child
from search.job import Context, Job, JobResult
from search.kept import Arrays, prefixed, require, take, within, without_prefix
from search.packed_tree import pack, unpack
from search.request import MAX_SIMULATIONS
from search.selection import Knobs, prove_root
from search.statistics import Statistics, merge
from search.summary import root_children
from search.tree import NODES, ROOT, Tree, proof_of


@dataclass(frozen=True, eq=False)
class Setup:
    """What a strategy starts from."""

    context: Context
    engine: Engine
    knobs: Knobs
    lanes: int
    """The request's lanes, or fewer if the budget is smaller than that."""
    playouts_per_leaf: int
    tree: Tree
    """The shared tree, a lone root."""
    mover: int
    """Who moves at the root."""
    num_legal: int
    """How many legal moves the root has."""


class Strategy(ABC):
    """Which jobs come next, and what a result does to the shared tree. Pure: no clock, no network.

    Jobs are numbered from 0 in the order in which `next_job` makes them, and their results
    must be absorbed in that order; so the shared tree is a fold over jobs, and does not
    depend on where or when they ran.
    """

    def __init__(self, setup: Setup) -> None:
        self.context = setup.context
        self.lanes = setup.lanes
        self.tree = setup.tree
        self.issued = 0
        """Jobs made so far: the index of the next one."""
        self.absorbed = 0
        """Results absorbed so far."""
        self.created = 0
        """Nodes that jobs made, and..."""
        self.duplicates = 0
        """...how many of them another lane had made as well: the price of not knowing of each other."""
        self.unobserved = 0
        """Visits handed out and not yet absorbed."""
        self.jobs: dict[int, Job] = {}
        """Jobs made and not yet absorbed, in their order."""
        self.hidden = setup.engine.hidden
        self.lone_root = setup.engine.lone_root()
        """Statistics as all of this search are: of nothing."""
        self._mover = setup.mover
        self._num_legal = setup.num_legal
        self._places = np.zeros(1, dtype=np.int32)

    @property
    @abstractmethod
    def ready(self) -> bool:
        """Whether the next job can be made before another result is absorbed."""

    @property
    def most(self) -> int:
        """The most simulations that the next job may have, where no plan says how many it has."""
        return MAX_SIMULATIONS

    @property
    def least_jobs(self) -> int:
        """How many results it takes before the tree can say anything of the root's moves."""
        return 1

    def next_job(self, simulations: int) -> Job:
        """The next job, of that many simulations; only when `ready`."""
        job = self.jobs[self.issued] = self._make_job(simulations)
        self.issued += 1
        self.unobserved += simulations
        return job

    def absorb(self, job: Job, result: JobResult) -> None:
        """Add the result of the next job in order to the shared tree."""
        if not job.index == result.index == self.absorbed:
            raise ValueError(
                f"job {self.absorbed} is to be absorbed next, not {job.index} with {result.index}"
            )
        self._absorb(job, result)
        del self.jobs[job.index]
        self.absorbed += 1
        self.unobserved -= job.simulations

    def tree_nodes(self) -> int:
        """Nodes of all trees that the search keeps."""
        return int(self.tree.counts[NODES])

    def root_children(self) -> list[Child]:
        """The root's children as the player to move there sees them; most visited first."""
        return root_children(self.tree, self._mover)

    def hand_in(self) -> None:
        """Have the next jobs bring what workers keep and a search that goes on would have to make again."""
        return

    @property
    def proven(self) -> int:
        """What is proven of the root; see search/tree.py."""
        return proof_of(self.tree, ROOT)

    def state(self) -> Arrays:
        """All that the strategy goes on from: the shared tree, and what the jobs that are out are made of."""
        tally = [self.issued, self.absorbed, self.created, self.duplicates]
        sizes = [job.simulations for job in self.jobs.values()]
        own = {"tally": np.array(tally, dtype=np.int64), "sizes": np.array(sizes, dtype=np.int64)}
        return own | prefixed("tree.", pack(self.tree)) | self._state()

    def restore(self, arrays: Arrays) -> None:
        """Go on from a state of a strategy with the same context; only before the first job.

        Raises Unsound, and then the strategy is not to be used.
        """
        issued, absorbed, self.created, self.duplicates = take(arrays, "tally", np.int64, 4).tolist()
        most_out = 2 * self.lanes * (1 + self.context.staleness)
        require(0 <= absorbed <= issued <= min(absorbed + most_out, MAX_SIMULATIONS), "jobs are out of order")
        require(0 <= self.duplicates <= self.created, "created nodes make no sense")
        sizes = take(arrays, "sizes", np.int64, issued - absorbed)
        within(sizes, 1, MAX_SIMULATIONS, "sizes")
        unpack(self.tree, without_prefix("tree.", arrays))
        self.issued, self.absorbed, self.unobserved = issued, absorbed, int(sizes.sum())
        jobs = self._restore(arrays, sizes.tolist())
        self.jobs = {job.index: job for job in jobs}
        require(list(self.jobs) == list(range(absorbed, issued)), "jobs that are out are missing")

    @abstractmethod
    def _make_job(self, simulations: int) -> Job: ...

    @abstractmethod
    def _absorb(self, job: Job, result: JobResult) -> None: ...

    @abstractmethod
    def _state(self) -> Arrays:
        """What the state has beside tree, counts, and sizes of the jobs that are out."""

    @abstractmethod
    def _restore(self, arrays: Arrays, sizes: list[int]) -> list[Job]:
        """Take it back, and make the jobs that are out once more, of these sizes; raises Unsound."""

    def _merge(self, added: Statistics) -> None:
        """Merge increments, and see whether the lanes together have proven the root."""
        if len(self._places) < len(added.visits):
            self._places = np.zeros(2 * len(added.visits), dtype=np.int32)
        created, duplicates = merge(self.tree, added, self._places)
        self.created += created
        self.duplicates += duplicates
        if self.context.request.solver:
            prove_root(self.tree, self._mover, self._num_legal)
