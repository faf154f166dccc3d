"""Jobs of many searches on one executor: each travels with the search that it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from search.job import Context, Job, JobResult
from search.worker import Worker

JOBS_A_RUN = 2**32
"""More than any search makes: the index of a task is that of its run, times this, plus that of its job."""
WORK_UNIT_S = 1e-6
"""What a task's ``simulations`` count: microseconds that it should take. Those of two games are not alike."""
POOL = "pool"
"""The executor's context: what a task needs it brings along."""


@dataclass(frozen=True, eq=False)
class PoolTask:
    """A job of one of the searches."""

    run: int
    """Which run of which search: numbered as they begin."""
    job: Job
    context: Context
    simulations: int
    """WORK_UNIT_S that it should take; not the simulations of the job."""
    running: tuple[str, ...] = ()
    """The search_ids that run when it is sent: a worker forgets what it keeps for any other."""

    @property
    def index(self) -> int:
        return self.run * JOBS_A_RUN + self.job.index


@dataclass(frozen=True, eq=False)
class PoolOutcome:
    """What came of a task: the job's result, or why there is none."""

    index: int
    simulations: int
    """As the task's."""
    duration_s: float
    result: JobResult | None
    error: str | None = None


class PoolWorker:
    """Runs jobs of any search, with a worker for each search that runs.

    A job that raises is the affair of its search alone.
    """

    def __init__(self) -> None:
        self._workers: dict[str, Worker] = {}

    def prepare(self, context: Any) -> None:
        """There is nothing that all searches need."""

    def run(self, context: Any, task: PoolTask) -> PoolOutcome:
        """The job's result; an exception as text."""
        for search_id in [known for known in self._workers if known not in task.running]:
            del self._workers[search_id]
        try:
            result = self._worker_of(task.context).run(task.context, task.job)
        except Exception as error:
            return PoolOutcome(task.index, task.simulations, 0.0, None, f"{type(error).__name__}: {error}")
        return PoolOutcome(task.index, task.simulations, result.duration_s, result)

    def _worker_of(self, context: Context) -> Worker:
        worker = self._workers.get(context.search_id)
        if worker is None:
            worker = Worker()
            worker.prepare(context)
            self._workers[context.search_id] = worker
        return worker
