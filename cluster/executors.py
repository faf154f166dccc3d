"""The executors by name."""

from __future__ import annotations

import os
from collections.abc import Callable

from cluster.executor import DEFAULT_JOB_TIMEOUT_S, Executor, TaskWorker
from cluster.inline_executor import InlineExecutor
from cluster.job_queue import Queue
from cluster.resources import ONE_CPU, Resources
from cluster.workers import AUTO, Workers, exactly
from games.errors import InvalidInput
from search.worker import Worker

NAMES = ("ray", "inline")


def make_executor(
    name: str,
    workers: Workers | int | None,
    address: str | None = None,
    job_timeout_s: float = DEFAULT_JOB_TIMEOUT_S,
    *,
    make_worker: Callable[[], TaskWorker] = Worker,
    in_flight: int = 2,
    resources: Resources = ONE_CPU,
    queue: Queue | None = None,
    standing: bool = False,
) -> Executor:
    """An executor, started. ``workers`` None takes one for each CPU; ``address`` None embeds a local Ray.

    On a cluster, a range of workers follows the machines that join and leave; see `Workers`.
    ``make_worker`` makes what runs the jobs, in each process; of long jobs ``in_flight`` should be 1, so
    that none waits for a busy worker while another has nothing to do. ``resources``: what each reserves.
    ``queue`` decides which job is next. ``standing``: it is opened once, for whatever will come:
    that ends with or without workers, for which jobs wait then, and idle workers are given back.
    Raises InvalidInput (executor, workers, address, job_timeout, gpus_per_worker, cpus_per_worker,
    worker_resources).
    """
    if name not in NAMES:
        raise InvalidInput("executor", name, " or ".join(NAMES))
    wanted = AUTO if workers is None else exactly(workers) if isinstance(workers, int) else workers
    if not 0 < job_timeout_s < float("inf"):
        raise InvalidInput("job_timeout", job_timeout_s, "seconds, more than 0")
    if name == "inline":
        if wanted.least > 1:
            raise InvalidInput("workers", wanted.said, "1: the inline executor is one process")
        if address is not None:
            raise InvalidInput("address", address, "no address: the inline executor needs no Ray")
        if resources.gpus or resources.others:
            raise InvalidInput("executor", "inline", "ray, which is what reserves GPUs and other resources")
        return InlineExecutor(make_worker, queue)
    if address is None:
        # Undocumented, read when Ray is imported, and the only way to keep every socket of a local
        # Ray on loopback (tests/cluster/test_ray_executor.py watches it).
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    # Ray takes more than a second to import: only those who use it wait for it.
    from cluster.ray_executor import RayExecutor

    return RayExecutor(wanted, address, job_timeout_s, make_worker, in_flight, resources, queue, standing)
