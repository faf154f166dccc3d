"""Runs a search on this machine, and measures the time that its processes used."""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cluster.runtime.session import Session
from search.coordinator import Coordinator
from search.prepare import Search, open_search
from search.request import SearchRequest

if TYPE_CHECKING:
    from cluster.ray_backend.executor import RayExecutor

_TICKS_PER_S = 100
"""Clock ticks per second in /proc on Linux."""


class Rows(NamedTuple):
    """The largest messages of a search by `tree`, in rows; None for the search's own limit."""

    snapshot: int | None = None
    increments: int | None = None


@dataclass(frozen=True)
class Ran:
    """Times of a search: of the coordinator's thread, its process, and the workers."""

    elapsed_s: float
    thread_s: float
    """CPU time of the coordinator's thread."""
    process_s: float
    """CPU time of the coordinator's process."""
    busy_s: float
    """Time that the first worker spent in jobs."""
    worker_cpu_s: float
    jobs: int
    rounds: int
    calls: int


def open_with(request: SearchRequest, rows: Rows | None) -> Search:
    """Open the search; ``rows`` limits its messages."""
    search = open_search(request)
    if rows is None:
        return search
    context = replace(
        search.context,
        snapshot_rows=rows.snapshot or search.context.snapshot_rows,
        increment_rows=rows.increments or search.context.increment_rows,
    )
    search.strategy.context = context
    return replace(search, context=context)


def timed_run(
    request: SearchRequest, executor: RayExecutor, workers: int = 1, rows: Rows | None = None
) -> Ran:
    """Run a search on this number of workers."""
    search = open_with(request, rows)
    executor.use(workers)
    executor.open(search.context)
    calls, busy_s = executor.dispatcher.calls, executor.workers[0].busy_s
    coordinator = Coordinator(search, workers)
    thread_s, process_s = time.thread_time(), _process_s()
    worker_cpu_s = cpu_seconds(executor.worker_pids())
    result = Session(coordinator, executor).run()
    jobs = coordinator.counters.jobs_done
    return Ran(
        elapsed_s=result.elapsed_s,
        thread_s=time.thread_time() - thread_s,
        process_s=_process_s() - process_s,
        busy_s=executor.workers[0].busy_s - busy_s,
        worker_cpu_s=cpu_seconds(executor.worker_pids()) - worker_cpu_s,
        jobs=jobs,
        rounds=jobs // search.strategy.lanes if request.strategy == "tree" else 0,
        calls=executor.dispatcher.calls - calls,
    )


def cpu_seconds(pids: Sequence[int]) -> float:
    """CPU seconds that processes of this machine have used; 0 without /proc."""
    ticks = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / _TICKS_PER_S


def _process_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
