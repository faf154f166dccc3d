"""What several jobs carry alike: it travels once for all of them, and is put back where they run.

Of a RoundJob that is the statistics of its snapshot; of a task of the pool the context of its search as well.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from cluster.executor import Task
from cluster.pool_task import PoolTask
from search.job import RoundJob, Snapshot
from search.statistics import Statistics, lone_root

KEPT = 64
"""Parts that stay published: the last few snapshots of each search that may run."""


def job_in(task: Task) -> Any:
    """The job of a search that the task is, or has in it."""
    return task.job if isinstance(task, PoolTask) else task


def part_key(task: Task) -> Hashable:
    """Names what the task shares with others; None if it is nothing. Tasks of one bundle have the same."""
    job = job_in(task)
    key = job.snapshot.key if isinstance(job, RoundJob) else None
    return (task.run, key) if isinstance(task, PoolTask) else key


def part_of(task: Task) -> Any:
    """That which is shared, for `with_part`."""
    job = job_in(task)
    statistics = job.snapshot.statistics if isinstance(job, RoundJob) else None
    return (task.context, statistics) if isinstance(task, PoolTask) else statistics


def without_part(task: Task) -> Task:
    """The task as it travels."""
    if isinstance(task, PoolTask):
        return replace(task, job=without_part(task.job), context=None)  # type: ignore[arg-type]
    if isinstance(task, RoundJob):
        return replace(task, snapshot=Snapshot(task.snapshot.key, lone_root()))
    return task


class Parts:
    """Gives tasks back what they share, where they run."""

    def __init__(self) -> None:
        self._key: Hashable = None
        self._snapshot: Snapshot | None = None

    def with_part(self, search: Hashable, task: Task, part: Any) -> Task:
        """The task as it was; ``search`` tells the snapshots of one search from those of another."""
        if isinstance(task, PoolTask):
            context, statistics = part
            job: Any = self.with_part(context.search_id, task.job, statistics)
            return replace(task, job=job, context=context)
        if isinstance(task, RoundJob) and part is not None:
            return replace(task, snapshot=self._writable((search, task.snapshot.key), part))
        return task

    def _writable(self, key: tuple[Hashable, int], statistics: Statistics) -> Snapshot:
        # What comes out of the object store is read-only, which is another type to a compiled kernel.
        if self._snapshot is None or self._key != key:
            copied = Statistics._make(column.copy() for column in statistics)
            self._key, self._snapshot = key, Snapshot(key[1], copied)
        return self._snapshot
