"""Jobs that wait for a worker, and how they are bundled: where a job goes, never what is in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Protocol

from cluster.executor import Task
from cluster.shared_parts import job_in, part_key
from search.job import GrowJob

BUNDLE_S = 0.1
"""A bundle's aim in seconds: 4 ms a call are 4 % of it, and a budget in seconds is overrun by less."""
IN_FLIGHT = 2
"""Bundles in flight for each worker: the second bridges the time that the driver takes to see the first."""


class Queue(Protocol):
    """What executors ask of a queue; see `JobQueue`."""

    def add(self, jobs: Iterable[Task]) -> None: ...

    def clear(self) -> None: ...

    def share(self, bundles: int) -> int: ...

    def take(self, slot: int, num_slots: int, share: int, simulations: float) -> list[Task]: ...


class JobQueue:
    """First come, first served, as far as caches and snapshots allow."""

    def __init__(self) -> None:
        self._waiting: deque[Task] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, jobs: Iterable[Task]) -> None:
        """Put jobs at the end."""
        self._waiting.extend(jobs)

    def clear(self) -> None:
        """Forget them all."""
        self._waiting.clear()

    def share(self, bundles: int) -> int:
        """How many jobs a bundle may have, if what waits is to be divided among so many."""
        return -(-len(self._waiting) // bundles)

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
            if isinstance(inside, GrowJob) and inside.lane % num_slots != slot:
                passed.append(job)
                continue
            if jobs and part_key(job) != part_key(jobs[0]):
                passed.append(job)
                break
            jobs.append(job)
            work += job.simulations
        self._waiting.extendleft(reversed(passed))
        return jobs
