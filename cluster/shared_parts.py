"""What several jobs carry alike: it travels once for all of them, and is put back where they run.

Of a RoundJob that is the statistics of its snapshot; of a task of the pool the context of its search as well.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

from cluster.executor import Task
from cluster.pool_task import PoolTask
from search.job import RoundJob, Snapshot
from search.statistics import Statistics

KEPT, KEPT_BYTES = 64, 64 * 2**20
"""Parts that stay published at most, and their size: the last few snapshots of each search that may run."""

_LEFT_OUT: Any = None
"""In place of the statistics: whoever looks at them before they are put back fails."""


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
        return replace(task, snapshot=Snapshot(task.snapshot.key, _LEFT_OUT))
    return task


class Published:
    """Where the parts are that were published last."""

    def __init__(self, put: Callable[[Any], Any]) -> None:
        self._put = put
        self._kept: dict[Hashable, tuple[Any, int]] = {}

    def reference(self, key: Hashable, first: Task) -> Any:
        """That to the part of a task, which is published if it is not there any more."""
        # Older parts are needed only by jobs that were lost; they are put again then.
        kept = self._kept.pop(key, None)
        if kept is None:
            part = part_of(first)
            kept = self._put(part), _bytes_of(part)
        self._kept[key] = kept
        while len(self._kept) > 1 and (
            len(self._kept) > KEPT or sum(size for _, size in self._kept.values()) > KEPT_BYTES
        ):
            del self._kept[next(iter(self._kept))]
        return kept[0]

    def clear(self) -> None:
        self._kept.clear()


def _bytes_of(part: Any) -> int:
    """Of its statistics: a context is small."""
    statistics = part if isinstance(part, Statistics) else part[1]
    return 0 if statistics is None else statistics.nbytes


def writable(part: Any) -> Any:
    """A part that came out of an object store, which is read-only: another type to a compiled kernel."""
    if isinstance(part, Statistics):
        return Statistics._make(column.copy() for column in part)
    context, statistics = part
    return context, None if statistics is None else writable(statistics)


def with_part(task: Task, part: Any) -> Task:
    """The task as it was before `without_part`."""
    if isinstance(task, PoolTask):
        context, statistics = part
        job: Any = with_part(task.job, statistics)
        return replace(task, job=job, context=context)
    if isinstance(task, RoundJob):
        return replace(task, snapshot=Snapshot(task.snapshot.key, part))
    return task
