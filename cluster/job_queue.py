"""Jobs that wait for a worker, and how they are bundled: where a job goes, never what is in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
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
ROUND_SHARE, SHORT_ROUND_SHARE = 1.2, 1.5
"""Of a round a bundle gets so many times its share of what waits. More, and workers end a round one by one,
with many results to merge at its end; less, and it takes more calls: which is worse where few workers..."""
SHORT_ROUND, FEW_BUNDLES = 4, 16
"""...have at most so many jobs for each of at most so many bundles. By the simulated executor: 1.7 % for 16
lanes on two workers, 1.2 % on four, and nothing lost with more lanes or workers."""
OVERLAPPING_SHARE, FEW_WORKERS = 0.4, 4
"""Where rounds overlap, nobody waits at a round's end: with so few workers a bundle has so much of BUNDLE_S
at least, as long as that is no more than a worker's part of a round. Jobs of 9 ms of gomoku 12x12 on two
workers: 2 calls a round instead of 5, 9 % more simulations a second. With more workers it brings nothing."""


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
        """Jobs for whoever comes..."""
        self._at_home: dict[int | None, deque[Task]] = {}
        """...and pieces of lanes, by the slot that has the lane's tree (None: no slot has it)..."""
        self._new: list[Task] = []
        """...and those whose lane has not been asked about."""
        self._homes = homes
        self._divided = 0
        """How lanes were divided when that was last looked at."""
        self._size = 0
        self._short = False
        """Whether the round that waits has few jobs for each of few workers."""
        self._begun = False
        """Whether jobs of a round have come since shares were asked for, that is..."""
        self._overlapping = False
        """...whether they came before the round before them had ended..."""
        self._lanes = 1
        """...and how many a round has."""

    def __len__(self) -> int:
        return self._size

    def add(self, jobs: Iterable[Task]) -> None:
        """Put jobs at the end."""
        for job in jobs:
            self._size += 1
            if isinstance(job_in(job), GrowJob):
                # Whose it is, is asked when somebody wants it.
                self._new.append(job)
                continue
            self._waiting.append(job)
            if isinstance(this := job_in(job), RoundJob):
                self._begun |= this.lane == 0
                self._lanes = this.lane + 1

    def clear(self) -> None:
        """Forget them all."""
        self._waiting.clear()
        self._new.clear()
        self._at_home.clear()
        self._size = 0

    def share(self, bundles: int, running: int) -> int:
        """How many jobs a bundle may have, if all are to be divided among so many; 0 if there are none.

        A round ends when all its jobs have ended: what is left of it, without the jobs that are
        ``running``, is divided ever more finely. Where there are no rounds, those count as well: a worker
        that comes back with four jobs is given the four that follow from them.
        """
        if not self._size:
            return 0
        if self._waiting and isinstance(self._waiting[0], RoundJob):
            if self._begun:
                self._begun = False
                self._overlapping = running > 0 or part_key(self._waiting[0]) != part_key(self._waiting[-1])
            if not running:
                self._short = self._size <= SHORT_ROUND * bundles and bundles <= FEW_BUNDLES
            return max(1, round(self._size * (SHORT_ROUND_SHARE if self._short else ROUND_SHARE) / bundles))
        return -(-(self._size + running) // bundles)

    def take(self, slot: int, num_slots: int, share: int, simulations: float) -> list[Task]:
        """The next bundle for a worker slot; empty if nothing is for it.

        It has ``share`` jobs at most (more if those are short and rounds overlap), and once it has
        ``simulations`` no more. Jobs of one bundle share the same (shared_parts.py). A lane's pieces
        always go to the slot that has its tree.
        """
        self._divide(num_slots)
        source = self._at_home.get(slot) or self._waiting
        jobs: list[Task] = []
        work = 0
        long_enough = OVERLAPPING_SHARE * simulations
        least = self._lanes // num_slots if self._overlapping and num_slots <= FEW_WORKERS else 0
        while source and (not jobs or work < simulations):
            if len(jobs) >= share and (len(jobs) >= least or work >= long_enough):
                break
            if jobs and part_key(source[0]) != part_key(jobs[0]):
                break
            jobs.append(source.popleft())
            work += jobs[-1].simulations
        self._size -= len(jobs)
        return jobs

    def _divide(self, num_slots: int) -> None:
        """Put pieces of lanes where their lanes are."""
        divided = num_slots if self._homes is None else self._homes.divided
        if divided != self._divided:
            self._divided = divided
            self._new[:0] = sorted(chain(*self._at_home.values()), key=lambda job: job.index)
            self._at_home.clear()
        for job in self._new:
            lane = job_in(job).lane
            home = lane % num_slots if self._homes is None else self._homes.of(lane)
            self._at_home.setdefault(home, deque()).append(job)
        self._new.clear()

    def early(self, ahead: Sequence[Task]) -> bool:
        """Whether a worker that still has these jobs is to be given others, so that it never waits."""
        return True

    def lanes(self) -> set[Hashable]:
        """The lanes of the jobs that wait. A job of no lane is one of its own."""
        return {lane_of(job) for job in chain(self._waiting, self._new, *self._at_home.values())}

    def settle(self, present: Sequence[int], ready: Sequence[int]) -> list[tuple[int, int]]:
        """The slots that there are have changed, perhaps: see `LaneHomes.settle`."""
        return [] if self._homes is None else self._homes.settle(present, ready)


def lane_of(task: Task) -> Hashable:
    """A job's lane, and the search that it is a lane of; of other jobs what tells them apart."""
    job = job_in(task)
    if not isinstance(job, GrowJob | RoundJob):
        return -1 - task.index
    return (task.run, job.lane) if isinstance(task, PoolTask) else job.lane
