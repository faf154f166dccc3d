"""What runs in a worker process: a worker, and what came to it from afar made ready for it."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cluster.executor import Task, TaskWorker
from search.job import LaneTree, RoundJob, Snapshot
from search.statistics import Statistics
from search.worker import Worker


class WorkerProcess:
    """Runs bundles of jobs, one at a time."""

    def __init__(self, make_worker: Callable[[], TaskWorker]) -> None:
        self._worker = make_worker()
        self._context: Any = None
        self._snapshot: Snapshot | None = None

    def prepare(self, context: Any) -> int:
        """Load what the search needs, and keep it for the calls that follow; the process id."""
        self._context = context
        self._snapshot = None
        self._worker.prepare(context)
        return os.getpid()

    def hand_over(self, lane: int) -> LaneTree | None:
        """root: see `Worker.hand_over`."""
        return self._worker.hand_over(self._context, lane) if isinstance(self._worker, Worker) else None

    def run(self, statistics: Statistics | None, packed: bytes) -> bytes:
        """Run the jobs in their order; ``statistics`` is a snapshot that was not sent before."""
        jobs: list[Task] = pickle.loads(packed)
        if statistics is not None and isinstance(jobs[0], RoundJob):
            # What comes out of the object store is read-only, which is another type to a compiled kernel.
            copied = Statistics._make(column.copy() for column in statistics)
            self._snapshot = Snapshot(jobs[0].snapshot.key, copied)
        return pack([self._worker.run(self._context, self._with_snapshot(job)) for job in jobs])

    def _with_snapshot(self, job: Task) -> Task:
        if not isinstance(job, RoundJob):
            return job
        assert self._snapshot is not None
        assert self._snapshot.key == job.snapshot.key
        return replace(job, snapshot=self._snapshot)


def pack(items: list[Any]) -> bytes:
    """Jobs or results as bytes, which Ray passes on as they are: to take objects apart costs it more."""
    return pickle.dumps(items, pickle.HIGHEST_PROTOCOL)
