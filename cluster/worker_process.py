"""What runs in a worker process: a worker, and what came to it from afar made ready for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from cluster.executor import Outcome, Task, TaskWorker
from cluster.shared_parts import Parts


class WorkerProcess:
    """Runs bundles of jobs, one at a time."""

    def __init__(self, make_worker: Callable[[], TaskWorker]) -> None:
        self._worker = make_worker()
        self._parts = Parts()

    def prepare(self, context: Any) -> int:
        """Load what the search needs; the process id."""
        self._worker.prepare(context)
        return os.getpid()

    def run(self, context: Any, part: Any, jobs: list[Task]) -> list[Outcome]:
        """Run the jobs in their order, each with the part that came beside them."""
        search = getattr(context, "search_id", None)
        return [self._worker.run(context, self._parts.with_part(search, job, part)) for job in jobs]
