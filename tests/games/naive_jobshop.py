"""Job-shop scheduling in plain Python, as slow as it is simple: the twin of `games.jobshop.rules`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

Jobs = tuple[tuple[tuple[int, int], ...], ...]
"""By job, its operations in order: machine and duration."""
Operation = tuple[int, int]
"""A job, and which of its operations."""


class NaiveJobShop:
    """A schedule that is built operation by operation."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self.times: dict[Operation, tuple[int, int]] = {}
        """When each operation dispatched so far begins and ends."""

    def waiting(self) -> list[Operation]:
        """The next operation of each job that has one."""
        counts = [sum(each == job for each, _ in self.times) for job in range(len(self.jobs))]
        return [(job, count) for job, count in enumerate(counts) if count < len(self.jobs[job])]

    def times_of(self, operation: Operation) -> tuple[int, int]:
        """When the operation would begin and end if it were dispatched now."""
        job, number = operation
        machine, duration = self.jobs[job][number]
        ends = [
            end
            for (other, which), (_, end) in self.times.items()
            if other == job or self.jobs[other][which][0] == machine
        ]
        begin = max(ends, default=0)
        return begin, begin + duration

    def legal(self) -> list[int]:
        """The jobs of which Giffler and Thompson would dispatch an operation."""
        waiting = self.waiting()
        if not waiting:
            return []
        first = min(waiting, key=lambda operation: self.times_of(operation)[1])
        machine = self.jobs[first[0]][first[1]][0]
        return [
            job
            for job, number in waiting
            if self.jobs[job][number][0] == machine
            and self.times_of((job, number))[0] < self.times_of(first)[1]
        ]

    def play(self, job: int) -> None:
        """Dispatch the job's next operation."""
        operation = next(each for each in self.waiting() if each[0] == job)
        self.times[operation] = self.times_of(operation)

    @property
    def makespan(self) -> int:
        """When the last operation ends."""
        return max((end for _, end in self.times.values()), default=0)


def semi_active_makespans(jobs: Jobs) -> Iterator[int]:
    """The makespan of every schedule: of all orders of the jobs on each machine that are no circle, with each
    operation as early as they allow."""
    machines = len(jobs[0])
    for orders in product(permutations(range(len(jobs))), repeat=machines):
        shop = NaiveJobShop(jobs)
        served = [0] * machines
        progress = True
        while progress:
            progress = False
            for job, number in shop.waiting():
                machine = jobs[job][number][0]
                if orders[machine][served[machine]] == job:
                    shop.play(job)
                    served[machine] += 1
                    progress = True
        if not shop.waiting():
            yield shop.makespan
