"""A search whose leaves are evaluated elsewhere, as a state machine: no clock, no lock, no thread.

Results are absorbed in the order of their jobs, and the next job is made after each of them. So the tree, and
which leaves there are, do not depend on the order of the answers.
"""

from __future__ import annotations

import numpy as np

from search.ask_tell.desk import Desk
from search.ask_tell.leaf import Policy
from search.job import Job, JobResult, LeafJob
from search.packing.arrays import Arrays, prefixed, require, take, within, without_prefix
from search.prepare import Search
from search.tree.arena import FULL, ROOT, UNPROVEN


class Machine:
    """The state of one search: its tree, its desk, and the answers that were told."""

    def __init__(self, search: Search) -> None:
        """``search`` is opened with ``external``, and has no budget in seconds."""
        self.search = search
        self.desk = Desk(search)
        self.stopped_by: str | None = None
        """Why the search is over, one of `search.result.STOPPED_BY`; None before that."""
        self.simulations = 0
        self.playouts = 0
        """Evaluations in the tree: one for each leaf that was answered."""
        self.tree_full = False
        self.resumed = 0
        """How often the search was resumed from a checkpoint."""
        self._early: dict[int, JobResult] = {}
        self._next_id = 0

    @property
    def done(self) -> bool:
        return self.stopped_by is not None

    def begin(self) -> None:
        """Make the first jobs, of a search that is not restored."""
        self._advance()

    def tell(self, leaf_id: str, value: float, policy: Policy | None) -> None:
        """Take an answer. Raises InvalidInput as `Desk.tell` does."""
        for complete in self.desk.tell(leaf_id, value, policy):
            self._early[complete.index] = complete
        self._advance()

    def state(self) -> Arrays:
        """The state as arrays: the tree, leaves in flight, answers that wait for their turn, and counts."""
        strategy = self.search.strategy
        counts = [self.simulations, self.playouts, self.tree_full, self.resumed]
        own = {"counts": np.array(counts, dtype=np.int64)} | self.desk.state(strategy.absorbed)
        return strategy.state() | prefixed("ask_tell.", own)

    def restore(self, arrays: Arrays) -> None:
        """Continue from the `state` of an equal search, instead of `begin`.

        Leaves without an answer are handed out again, with their ids. Raises CorruptState; then the machine
        must not be used.
        """
        strategy, own = self.search.strategy, without_prefix("ask_tell.", arrays)
        strategy.restore(arrays)
        counts = take(own, "counts", np.int64, 4)
        within(counts, 0, 2**62, "counts")
        self.simulations, self.playouts, full, self.resumed = counts.tolist()
        self.tree_full = bool(full)
        require(self.simulations == strategy.tree.visits[ROOT], "simulations are not as many as visits")
        sizes = all(job.simulations == self._size(index) for index, job in strategy.jobs.items())
        require(sizes, "jobs are not those of the request")
        self.desk.restore(own, self.simulations + strategy.unobserved)
        self._next_id = self.simulations
        for job in strategy.jobs.values():
            self._hand_in(job)
        self.stopped_by = self._reason_to_stop()
        self.resumed += not self.done
        self._advance()

    def _advance(self) -> None:
        """Absorb all results whose turn it is, and make all jobs that can be made."""
        strategy = self.search.strategy
        self._issue()
        while not self.done and strategy.absorbed in self._early:
            self._absorb(self._early.pop(strategy.absorbed))
            # After each single result: what a job is made from must not depend on how many came together.
            self._issue()

    def _issue(self) -> None:
        strategy = self.search.strategy
        while not self.done and strategy.ready and (size := self._size(strategy.issued)):
            self._hand_in(strategy.next_job(size))

    def _hand_in(self, job: Job) -> None:
        assert isinstance(job, LeafJob)
        complete = self.desk.add(job, self._next_id)
        self._next_id += job.simulations
        if complete is not None:
            self._early[job.index] = complete

    def _size(self, index: int) -> int:
        """The number of leaves of a job; 0 if there is no such job."""
        plan, request = self.search.plan, self.search.request
        if plan.is_fixed:
            return plan.size(index)
        batch = request.batch or 1
        # Job 0 is the root alone.
        first_id = 0 if index == 0 else 1 + (index - 1) * batch
        return max(0, min(1 if index == 0 else batch, request.most_simulations - first_id))

    def _absorb(self, complete: JobResult) -> None:
        strategy = self.search.strategy
        strategy.absorb(strategy.jobs[strategy.absorbed], complete)
        self.simulations += complete.simulations
        self.playouts += complete.playouts
        self.tree_full |= bool(strategy.tree.counts[FULL])
        self.stopped_by = self._reason_to_stop()

    def _reason_to_stop(self) -> str | None:
        strategy = self.search.strategy
        if strategy.proven != UNPROVEN:
            return "proven"
        if self._size(strategy.absorbed) == 0:
            return "simulations"
        return "memory" if self.tree_full and self.search.request.stop_when_full else None
