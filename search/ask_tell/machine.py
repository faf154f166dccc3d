"""A search whose leaves are evaluated elsewhere, as a state machine: no clock, no lock, no thread.

The coordinator is that of every search. Its jobs go to a desk, and the desk's results come back. So the tree,
and which leaves there are, do not depend on the order of the answers.
"""

from __future__ import annotations

from collections.abc import Iterable

from search.ask_tell.desk import Desk
from search.ask_tell.leaf import Policy
from search.coordinator import Coordinator
from search.job import JobResult, LeafJob
from search.packing.arrays import Arrays, prefixed, without_prefix
from search.prepare import Search
from search.strategies.in_place import AnyJob


class Machine:
    """The state of one search: its coordinator, and its desk with the answers that were told."""

    def __init__(self, search: Search) -> None:
        """``search`` is opened with ``external``, and has no budget in seconds."""
        self.coordinator, self.desk = Coordinator(search, 1), Desk(search)
        self._next_id = 0

    def begin(self) -> None:
        """Make the first jobs; in a restored search, leaves without an answer are handed out again."""
        coordinator, strategy = self.coordinator, self.coordinator.search.strategy
        self._next_id = coordinator.counters.simulations
        pending = {job.index for job in coordinator.start()}
        complete = [self._hand_in(job) for job in strategy.jobs.values()]
        self._settle(each for each in complete if each is not None and each.index in pending)

    def tell(self, leaf_id: str, value: float, policy: Policy | None) -> None:
        """Take an answer. Raises InvalidInput as `Desk.tell` does."""
        self._settle(self.desk.tell(leaf_id, value, policy))

    def state(self) -> Arrays:
        """The state as arrays: that of the coordinator, and the answers that wait for their turn."""
        coordinator = self.coordinator
        return coordinator.state() | prefixed(
            "ask_tell.", self.desk.state(coordinator.search.strategy.absorbed)
        )

    def restore(self, arrays: Arrays, stopped_by: str | None) -> None:
        """Continue from the `state` of an equal search; before `begin`.

        Raises CorruptState; then the machine must not be used.
        """
        coordinator = self.coordinator
        coordinator.restore(arrays, stopped_by)
        ids = coordinator.counters.simulations + coordinator.search.strategy.unobserved
        self.desk.restore(without_prefix("ask_tell.", arrays), ids)

    def _settle(self, results: Iterable[JobResult]) -> None:
        """Give results to the coordinator, and the jobs that follow from them to the desk."""
        waiting = list(results)
        while waiting:
            added = [self._hand_in(job) for job in self.coordinator.job_done(waiting.pop(0))]
            waiting += [each for each in added if each is not None]

    def _hand_in(self, job: AnyJob) -> JobResult | None:
        assert isinstance(job, LeafJob)
        complete = self.desk.add(job, self._next_id)
        self._next_id += job.simulations
        return complete
