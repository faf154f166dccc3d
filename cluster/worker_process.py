"""What runs in a worker process: a worker, and what came to it from afar made ready for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cluster.executor import Outcome, Task, TaskWorker
from search.job import RoundJob, Snapshot
from search.statistics import Statistics


class WorkerProcess:
    """Runs bundles of jobs, one at a time."""

    def __init__(self, make_worker: Callable[[], TaskWorker]) -> None:
        self._worker = make_worker()
        self._snapshot: tuple[str, Snapshot] | None = None

    def prepare(self, context: Any) -> int:
        """Load what the search needs; the process id."""
        self._worker.prepare(context)
        return os.getpid()

    def run(self, context: Any, statistics: Statistics | None, jobs: list[Task]) -> list[Outcome]:
        """Run the jobs in their order; RoundJobs get the snapshot that came beside them."""
        results = []
        for job in jobs:
            if isinstance(job, RoundJob) and statistics is not None:
                job = replace(job, snapshot=self._writable(context, job.snapshot.key, statistics))
            results.append(self._worker.run(context, job))
        return results

    def _writable(self, context: Any, key: int, statistics: Statistics) -> Snapshot:
        # What comes out of the object store is read-only, which is another type to a compiled kernel.
        if self._snapshot is None or self._snapshot[0] != context.search_id or self._snapshot[1].key != key:
            copied = Statistics._make(column.copy() for column in statistics)
            self._snapshot = (context.search_id, Snapshot(key, copied))
        return self._snapshot[1]
