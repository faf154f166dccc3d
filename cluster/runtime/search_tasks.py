"""Converts jobs of a search to tasks: the only module that knows lanes and shared parts of job types."""

from __future__ import annotations

from cluster.runtime.tasks import OPENED, Shared, Task
from search.job import GrowJob, RoundJob
from search.strategies.in_place import AnyJob, StretchJob


def task_of(job: AnyJob, context: int = OPENED, work: int | None = None) -> Task:
    """The task that runs a job. ``work`` None: the job's number of simulations."""
    work = job.simulations if work is None else work
    if isinstance(job, StretchJob):
        return Task(job.index, job, work, context, divided=True)
    if isinstance(job, GrowJob):
        return Task(job.index, job, work, context, job.lane, pieces=job.sizes)
    if isinstance(job, RoundJob):
        statistics = job.snapshot.statistics
        shared = Shared(job.snapshot.key, statistics, statistics.nbytes)
        return Task(job.index, job, work, context, job.lane, shared=shared)
    return Task(job.index, job, work, context)
