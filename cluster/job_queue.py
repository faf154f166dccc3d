"""Jobs that wait for a worker, and how they are bundled: where a job goes, never what is in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from typing import Protocol

from cluster.executor import Task
from cluster.lane_homes import LaneHomes
from cluster.pool_task import PoolTask
from cluster.shared_parts import job_in, part_key
from search.job import GrowJob, RoundJob

BUNDLE_S = 0.25
"""A bundle's aim in seconds: the 3 ms that a call costs are little more than 1 % of it."""
IN_FLIGHT = 2
"""Bundles in flight for each worker: the second bridges the time that the driver takes to see the first."""


class Queue(Protocol):
    """What executors ask of a queue; see `JobQueue`."""

    def add(self, jobs: Iterable[Task]) -> None: ...

    def clear(self) -> None: ...

    def share(self, bundles: int, running: int) -> int: ...

    def take(self, slot: int, num_slots: int, share: int, simulations: float) -> list[Task]: ...

    def early(self, ahead: Sequence[Task]) -> bool: ...

    def lanes(self) -> set[Hashable]: ...

    def settle(self, present: Sequence[int], ready: Sequence[int]) -> list[tuple[int, int]]: ...

    def __len__(self) -> int: ...


class JobQueue:
    """First come, first served, as far as caches and snapshots allow."""

    def __init__(self, homes: LaneHomes | None = None) -> None:
        """``homes`` says which slot has the tree of a lane; without, lanes are dealt out once and for all."""
        self._waiting: deque[Task] = deque()
        self._homes = homes

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, jobs: Iterable[Task]) -> None:
        """Put jobs at the end."""
        self._waiting.extend(jobs)

    def clear(self) -> None:
        """Forget them all."""
        self._waiting.clear()

    def share(self, bundles: int, running: int) -> int:
        """How many jobs a bundle may have, if all are to be divided among so many.

        A round ends when all its jobs have ended: what is left of it, without the jobs that are
        ``running``, is divided finely. Where there are no rounds, those count as well: a worker
        that comes back with four jobs is given the four that follow from them.
        """
        waiting = len(self._waiting)
        if waiting and not isinstance(self._waiting[0], RoundJob):
            waiting += running
        return -(-waiting // bundles)

    def take(self, slot: int, num_slots: int, share: int, simulations: float) -> list[Task]:
        """The next bundle for a worker slot; empty if nothing is for it.

        It has ``share`` jobs at most, and once it has ``simulations`` no more. Jobs of one
        bundle share the same (shared_parts.py). A lane's pieces always go to the slot that has its tree.
        """
        jobs: list[Task] = []
        work = 0
        passed: list[Task] = []
        while self._waiting and len(jobs) < share and (not jobs or work < simulations):
            job = self._waiting.popleft()
            inside = job_in(job)
            if isinstance(inside, GrowJob) and self._home(inside, num_slots) != slot:
                passed.append(job)
                continue
            if jobs and part_key(job) != part_key(jobs[0]):
                passed.append(job)
                break
            jobs.append(job)
            work += job.simulations
        self._waiting.extendleft(reversed(passed))
        return jobs

    def early(self, ahead: Sequence[Task]) -> bool:
        """Whether a worker that still has these jobs is to be given others, so that it never waits."""
        return True

    def lanes(self) -> set[Hashable]:
        """The lanes of the jobs that wait. A job of no lane is one of its own."""
        return {lane_of(job) for job in self._waiting}

    def settle(self, present: Sequence[int], ready: Sequence[int]) -> list[tuple[int, int]]:
        """The slots that there are have changed, perhaps: see `LaneHomes.settle`."""
        return [] if self._homes is None else self._homes.settle(present, ready)

    def _home(self, job: GrowJob, num_slots: int) -> int | None:
        return job.lane % num_slots if self._homes is None else self._homes.of(job.lane)


def lane_of(task: Task) -> Hashable:
    """A job's lane, and the search that it is a lane of; of other jobs what tells them apart."""
    job = job_in(task)
    if not isinstance(job, GrowJob | RoundJob):
        return -1 - task.index
    return (task.run, job.lane) if isinstance(task, PoolTask) else job.lane
