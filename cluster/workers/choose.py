"""Creates executors by name."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from cluster.runtime.queue import TaskQueue
from cluster.runtime.tasks import DEFAULT_JOB_TIMEOUT_S, Executor, TaskWorker
from cluster.runtime.workers import ONE_CPU, Resources, Workers, parse_workers
from cluster.system.processes import num_cores
from cluster.workers.handover import HandoverExecutor
from cluster.workers.inline import InlineExecutor
from cluster.workers.ray_executor import RayExecutor
from cluster.workers.threads import ThreadsExecutor
from games.errors import InvalidInput
from search.worker import Worker

NAMES = ("auto", "ray", "threads", "inline")


def make_executor(
    name: str,
    workers: Workers | int | None,
    address: str | None = None,
    job_timeout_s: float = DEFAULT_JOB_TIMEOUT_S,
    *,
    make_worker: Callable[[], TaskWorker] = Worker,
    in_flight: int = 2,
    resources: Resources = ONE_CPU,
    queue: TaskQueue | None = None,
    standing: bool = False,
    notify: Callable[[str], None] | None = None,
    explain: Callable[[str], None] | None = None,
    cancelled: threading.Event | None = None,
) -> Executor:
    """Create and start an executor. ``workers`` None: one per CPU; ``address`` None: an embedded local Ray.

    ``name`` is ``ray``, ``threads`` (of this process; only for searches), ``inline`` (the caller's thread),
    or ``auto``: without an address, a search runs in threads or begins inline (`HandoverExecutor`);
    everything else uses ``ray``. Threads ignore ``job_timeout_s``: a job in a thread cannot be ended.

    On a cluster, a range of workers follows the machines that join and leave; see `Workers`.
    ``make_worker`` creates, in each process, the object that runs jobs. ``in_flight``: bundles per worker; 1
    for long jobs, so that no job waits for a busy worker while another is idle. ``resources``: what each
    worker reserves. ``queue`` decides which job is next. ``standing``: the executor is opened once for many
    searches (a service): opening succeeds without workers, jobs wait for them, and idle workers are given
    back. ``notify`` is called with a line when Ray has ended and when it is back (None: lines go to standard
    error). ``explain`` is called with the executor that ``auto`` chose, and why. ``cancelled``, when set,
    ends the wait for a starting local Ray.

    Raises InvalidInput (executor, workers, address, job_timeout, gpus_per_worker, cpus_per_worker,
    worker_resources), and ConnectionError if Ray could not be started.
    """
    if name not in NAMES:
        raise InvalidInput("executor", name, " or ".join(NAMES))
    wanted = workers if isinstance(workers, Workers) else parse_workers(workers)
    if not 0 < job_timeout_s < float("inf"):
        raise InvalidInput("job_timeout", job_timeout_s, "seconds, more than 0")
    if name in ("inline", "threads"):
        if name == "inline" and wanted.least > 1:
            raise InvalidInput("workers", wanted.said, "1: the inline executor is one thread")
        if address is not None:
            raise InvalidInput("address", address, f"no address: the executor {name} needs no Ray")
        if resources.gpus or resources.others:
            raise InvalidInput("executor", name, "ray: only it reserves GPUs and other resources")
        if name == "inline":
            return InlineExecutor(make_worker, queue)
        if make_worker is not Worker or standing:
            raise InvalidInput("executor", name, "ray or inline: threads are for one search")
        return ThreadsExecutor(on_this_machine(wanted))
    notify = notify or (lambda line: print(f"banyan: {line}", file=sys.stderr, flush=True))
    if name == "auto" and address is None and resources == ONE_CPU and make_worker is Worker:
        return _handover(wanted, job_timeout_s, notify, explain or (lambda line: None))
    return RayExecutor(
        wanted, address, job_timeout_s, make_worker, in_flight, resources, queue, standing, notify, cancelled
    )


def _handover(
    wanted: Workers, job_timeout_s: float, notify: Callable[[str], None], explain: Callable[[str], None]
) -> HandoverExecutor:
    """An executor that begins in this process."""

    def start(cancelled: threading.Event) -> Executor:
        return RayExecutor(wanted, None, job_timeout_s, notify=notify, cancelled=cancelled)

    return HandoverExecutor(start, on_this_machine(wanted), explain)


def on_this_machine(wanted: Workers) -> int:
    """As many workers as there are cores, within the range."""
    return max(wanted.least, wanted.within(num_cores()))
