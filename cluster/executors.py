"""The executors by name."""

from __future__ import annotations

import os
from collections.abc import Callable

from cluster.executor import DEFAULT_JOB_TIMEOUT_S, Executor, TaskWorker
from cluster.inline_executor import InlineExecutor
from cluster.job_queue import Queue
from games.errors import InvalidInput
from search.worker import Worker

NAMES = ("ray", "inline")


def make_executor(
    name: str,
    workers: int | None,
    address: str | None = None,
    job_timeout_s: float = DEFAULT_JOB_TIMEOUT_S,
    *,
    make_worker: Callable[[], TaskWorker] = Worker,
    in_flight: int = 2,
    queue: Queue | None = None,
) -> Executor:
    """An executor, started. ``workers`` None takes one for each CPU; ``address`` None embeds a local Ray.

    ``make_worker`` makes what runs the jobs, in each process; of long jobs ``in_flight`` should be 1, so
    that none waits for a busy worker while another has nothing to do. ``queue`` decides which job is next.
    Raises InvalidInput (executor, workers, address, job_timeout).
    """
    if name not in NAMES:
        raise InvalidInput("executor", name, " or ".join(NAMES))
    if workers is not None and workers < 1:
        raise InvalidInput("workers", workers, "a whole number of at least 1, or auto")
    if not 0 < job_timeout_s < float("inf"):
        raise InvalidInput("job_timeout", job_timeout_s, "seconds, more than 0")
    if name == "inline":
        if workers not in (None, 1):
            raise InvalidInput("workers", workers, "1: the inline executor is one process")
        if address is not None:
            raise InvalidInput("address", address, "no address: the inline executor needs no Ray")
        return InlineExecutor(make_worker, queue)
    if address is None:
        # Undocumented, read when Ray is imported, and the only way to keep every socket of a local
        # Ray on loopback (tests/cluster/test_ray_executor.py watches it).
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    # Ray takes more than a second to import: only those who use it wait for it.
    from cluster.ray_executor import RayExecutor

    return RayExecutor(workers, address, job_timeout_s, make_worker, in_flight, queue)
