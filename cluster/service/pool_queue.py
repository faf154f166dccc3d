"""Jobs of many searches that wait for a worker: by priority, then by the worker time that each has used.

This is start-time fair queueing (Goyal, Vin and Cheng 1996); what is divided is worker time. Of the runs of
one priority whose jobs wait, the one that has used least goes first. A job is charged as it is handed out,
with what it should take, and when it ends with what it took instead. Who begins, or comes back with nothing
waiting, is put level with the one that was served last: so nobody saves up a claim by being idle, and nobody
has to wait until others have caught up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from cluster.executor import Task
from cluster.job_queue import JobQueue
from cluster.lane_homes import LaneHomes
from cluster.pool_task import WORK_UNIT_S, PoolOutcome, PoolTask

SHARED_BUNDLE_S = 0.1
"""A bundle's aim where several runs share the workers: one job of the usual length."""
AHEAD_S = 0.02
"""There a worker gets its next bundle when the one that it has is done, but for very short ones. It waits for
some 2 ms then, and a search of short rounds not for whole bundles of others in each of them."""


@dataclass
class _Waiting:
    """What waits of one run."""

    run: int
    search_id: str
    priority: int
    used_s: float
    """Worker time: of those of one priority, who has used least is served first."""
    homes: LaneHomes = field(default_factory=LaneHomes)
    jobs: JobQueue = field(init=False)

    def __post_init__(self) -> None:
        self.jobs = JobQueue(self.homes)


class PoolQueue:
    """A queue for each run of a search."""

    def __init__(self) -> None:
        self._waiting: dict[int, _Waiting] = {}
        self._present: tuple[int, ...] = (0,)
        self._reached_s: defaultdict[int, float] = defaultdict(float)
        """By priority: what those had used, at most, who were served so far, before they were."""

    def open(self, run: int, search_id: str, priority: int) -> None:
        """Take tasks of this run from now on."""
        waiting = self._waiting[run] = _Waiting(run, search_id, priority, self._reached_s[priority])
        waiting.homes.settle(self._present, ())

    def close(self, run: int) -> None:
        """Forget the run and its tasks."""
        self._waiting.pop(run, None)

    def __len__(self) -> int:
        return sum(len(waiting.jobs) for waiting in self._waiting.values())

    def add(self, jobs: Iterable[Task]) -> None:
        """Put tasks at the end of the queues of their runs; those of other runs are dropped."""
        for task in jobs:
            waiting = self._waiting.get(cast("PoolTask", task).run)
            if waiting is not None:
                if not len(waiting.jobs):
                    waiting.used_s = max(waiting.used_s, self._reached_s[waiting.priority])
                waiting.jobs.add([task])

    def ended(self, run: int, outcome: PoolOutcome) -> None:
        """Charge a run with what a task of it took, instead of what it should have taken."""
        waiting = self._waiting.get(run)
        if waiting is not None:
            waiting.used_s += outcome.duration_s - outcome.simulations * WORK_UNIT_S

    def clear(self) -> None:
        """Forget all tasks."""
        for waiting in self._waiting.values():
            waiting.jobs.clear()

    def share(self, bundles: int, running: int) -> int:
        """As of one queue; what a bundle gets is divided once more by what its own run has."""
        return max(1, -(-(len(self) + running) // bundles))

    def lanes(self) -> set[Hashable]:
        """The lanes of the tasks that wait, of all runs."""
        return set().union(*(waiting.jobs.lanes() for waiting in self._waiting.values()))

    def settle(self, present: Sequence[int], ready: Sequence[int]) -> list[tuple[int, int]]:
        """Lanes of slots that have gone find others. No lane moves to a slot that is new, so no tree does."""
        if tuple(present) != self._present:
            self._present = tuple(present)
            for waiting in self._waiting.values():
                waiting.homes.settle(self._present, ())
        return []

    def early(self, ahead: Sequence[Task]) -> bool:
        """Whether a worker is to be given more than it has; if not, whoever waits is served sooner."""
        work_s = sum(task.simulations for task in ahead) * WORK_UNIT_S
        return len(self._waiting) < 2 or work_s < AHEAD_S

    def take(self, slot: int, num_slots: int, share: int, simulations: float) -> list[Task]:
        """The next bundle for a worker slot, all of one run; empty if nothing is for it."""
        if len(self._waiting) > 1:
            simulations = min(simulations, SHARED_BUNDLE_S / WORK_UNIT_S)
        order = sorted(
            self._waiting.values(), key=lambda waiting: (-waiting.priority, waiting.used_s, waiting.run)
        )
        for waiting in order:
            own = min(share, waiting.jobs.share(num_slots, 0))
            tasks = waiting.jobs.take(slot, num_slots, own, simulations)
            if tasks:
                self._charge(waiting, sum(task.simulations for task in tasks) * WORK_UNIT_S)
                running = tuple(each.search_id for each in self._waiting.values())
                return [replace(cast("PoolTask", task), running=running) for task in tasks]
        return []

    def _charge(self, waiting: _Waiting, work_s: float) -> None:
        reached_s = self._reached_s[waiting.priority]
        self._reached_s[waiting.priority] = max(reached_s, waiting.used_s)
        waiting.used_s += work_s
