"""A search whose leaves are evaluated elsewhere, as a state machine: no clock, no lock, no thread.

The coordinator is that of every search. Its jobs go to a desk, and the desk's results come back. So the tree,
and which leaves there are, do not depend on the order of the answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Set

from search.ask_tell.desk import Desk
from search.coordinator import Coordinator
from search.job import JobResult, LeafJob
from search.packing.arrays import Arrays, prefixed, without_prefix
from search.strategies.in_place import AnyJob


class Machine:
    """The state of one search: its coordinator, its desk, and what is on the way between them."""

    def __init__(self, coordinator: Coordinator) -> None:
        """The search is opened with ``external``, and has no budget in seconds."""
        self.coordinator, self.desk = coordinator, Desk(coordinator.search)
        self._next_number = 0
        self._jobs: deque[AnyJob] = deque()
        """Jobs for the desk."""
        self._results: deque[JobResult] = deque()
        """Results for the coordinator."""
        self._done: Set[int] = frozenset()
        """Indices of restored jobs whose results the coordinator has."""

    def begin(self) -> None:
        """Make the first jobs; in a restored search, leaves without an answer are handed out again."""
        self._next_number = self.coordinator.counters.simulations
        jobs = self.coordinator.search.strategy.jobs
        self._done = jobs.keys() - {job.index for job in self.coordinator.start()}
        self._jobs += jobs.values()

    def settle(self, results: Iterable[JobResult], goes_on: Callable[[], bool]) -> bool:
        """Give results to the coordinator, and the jobs that follow from them to the desk, while ``goes_on``.

        Where all leaves are finished games, jobs without end are complete at once. Returns whether nothing is
        left for the next call.
        """
        self._results += results
        while (self._jobs or (self._results and not self.coordinator.finished)) and goes_on():
            if not self._jobs:
                self._jobs += self.coordinator.job_done(self._results.popleft())
                continue
            job = self._jobs.popleft()
            assert isinstance(job, LeafJob)
            complete = self.desk.add(job, self._next_number)
            self._next_number += job.simulations
            if complete is not None and job.index not in self._done:
                self._results.append(complete)
        return not self._jobs and not self._results

    def state(self) -> Arrays:
        """The state as arrays: that of the coordinator, and the answers that wait for their turn."""
        return self.coordinator.state() | prefixed("ask_tell.", self.desk.state())

    def restore(self, arrays: Arrays, stopped_by: str | None) -> None:
        """Continue from the `state` of an equal search; before `begin`.

        Raises CorruptState; then the machine must not be used.
        """
        self.coordinator.restore(arrays, stopped_by)
        self.restore_desk(without_prefix("ask_tell.", arrays))

    def restore_desk(self, arrays: Arrays) -> None:
        """Continue from a state of the desk; after the coordinator, before `begin`. Raises CorruptState."""
        leaves = self.coordinator.counters.simulations + self.coordinator.search.strategy.unobserved
        self.desk.restore(arrays, leaves)
