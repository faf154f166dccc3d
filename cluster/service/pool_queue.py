"""Jobs of many searches that wait for a worker: by priority, then round robin."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from cluster.executor import Task
from cluster.job_queue import JobQueue
from cluster.lane_homes import LaneHomes
from cluster.pool_task import PoolTask


@dataclass
class _Waiting:
    """What waits of one run."""

    search_id: str
    priority: int
    turn: int
    """Runs of one priority take their turns in this order."""
    homes: LaneHomes = field(default_factory=LaneHomes)
    jobs: JobQueue = field(init=False)

    def __post_init__(self) -> None:
        self.jobs = JobQueue(self.homes)


class PoolQueue:
    """A queue for each run of a search. Whoever was served goes to the end of those of its priority."""

    def __init__(self) -> None:
        self._waiting: dict[int, _Waiting] = {}
        self._present: tuple[int, ...] = (0,)
        self._turns = 0

    def open(self, run: int, search_id: str, priority: int) -> None:
        """Take tasks of this run from now on."""
        waiting = self._waiting[run] = _Waiting(search_id, priority, self._next_turn())
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
                waiting.jobs.add([task])

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

    def take(self, slot: int, num_slots: int, share: int, simulations: float) -> list[Task]:
        """The next bundle for a worker slot, all of one run; empty if nothing is for it."""
        order = sorted(self._waiting.values(), key=lambda waiting: (-waiting.priority, waiting.turn))
        for waiting in order:
            own = min(share, waiting.jobs.share(num_slots, 0))
            tasks = waiting.jobs.take(slot, num_slots, own, simulations)
            if tasks:
                waiting.turn = self._next_turn()
                running = tuple(each.search_id for each in self._waiting.values())
                return [replace(cast("PoolTask", task), running=running) for task in tasks]
        return []

    def _next_turn(self) -> int:
        self._turns += 1
        return self._turns
