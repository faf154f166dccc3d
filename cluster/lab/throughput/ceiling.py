"""The ceiling: the highest throughput that this machine can reach with the kernels of a search.

The jobs of a real search are recorded once. Then n independent processes run these jobs, each its share. They
start together, discard the results and do not communicate: no Ray, no coordinator, no merging. Their total
rate is an upper limit for n workers.
"""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from cluster.runtime.session import Session
from cluster.runtime.tasks import Executor
from cluster.workers.inline import InlineExecutor
from search.coordinator import Coordinator
from search.job import Context, GrowJob, Job, JobResult, LaneJob, LeafJob
from search.prepare import Search, open_search
from search.request import SearchRequest
from search.strategies import LeafStrategy
from search.worker import Worker

RECORDED_BYTES = 128 * 2**20
"""Largest size in bytes of recorded jobs; they are repeated to fill the measurement."""
JOINED = 64
"""Number of jobs that are joined to one where jobs run by stretches."""
START_S = 120.0
"""Time limit in seconds for the start of a process, with one process per worker starting at once."""


class _Recorder(Coordinator):
    """Runs a search and keeps its jobs."""

    def __init__(self, search: Search, workers: int) -> None:
        super().__init__(search, workers)
        self.recorded: list[Job] = []
        self._bytes = 0
        self._snapshots: set[int] = set()

    def work_in_place(self, threads: int, run: Callable[[Job], JobResult]) -> None:
        """Not here: jobs are recorded as workers elsewhere get them."""

    def _issue(self, elapsed_s: float) -> list[Job]:
        jobs = super()._issue(elapsed_s)
        for job in jobs:
            if self._bytes < RECORDED_BYTES:
                self.recorded.append(job)
                self._bytes += self._cost(job)
        return jobs

    def _cost(self, job: Job) -> int:
        if isinstance(job, LeafJob):
            return int(job.moves.nbytes + job.depths.nbytes + job.visits.nbytes)
        if isinstance(job, LaneJob) and job.snapshot.key not in self._snapshots:
            self._snapshots.add(job.snapshot.key)
            return job.snapshot.statistics.nbytes
        return 0


class Ceiling:
    """Processes that run the recorded jobs of one request; must be closed."""

    def __init__(self, request: SearchRequest, processes: int, executor: Executor | None = None) -> None:
        """Record a search, on ``executor`` or (None) in this thread, and start the processes.

        The recorded jobs do not depend on the executor; if simulations wait, many workers save time. Raises
        ConnectionError if a process does not start in time.
        """
        self._simulations = request.simulations or 0
        work = _record(request, executor or InlineExecutor())
        spawn = multiprocessing.get_context("spawn")
        self._pipes: list[Connection] = []
        self.processes: list[Any] = []
        for _ in range(processes):
            ours, theirs = spawn.Pipe()
            process = spawn.Process(target=_serve, args=(theirs,), daemon=True)
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self.processes.append(process)
        packed = pickle.dumps(work, pickle.HIGHEST_PROTOCOL)
        for pipe in self._pipes:
            pipe.send_bytes(packed)
        for pipe in self._pipes:
            if not pipe.poll(START_S):
                raise ConnectionError("a process that measures the ceiling did not start")
            pipe.recv()

    def measure(self, workers: int) -> float:
        """Simulations/s of ``workers`` processes together, each with an equal share of the work."""
        for share, pipe in enumerate(self._pipes[:workers]):
            pipe.send((share, workers, self._simulations // workers))
        answers = [pipe.recv() for pipe in self._pipes[:workers]]
        seconds = max(end for _, _, end in answers) - min(start for _, start, _ in answers)
        return float(sum(simulations for simulations, _, _ in answers) / seconds)

    def close(self) -> None:
        """End the processes."""
        for pipe in self._pipes:
            pipe.close()
        for process in self.processes:
            process.join(timeout=2.0)
            if process.is_alive():
                process.kill()
                process.join()


def _record(request: SearchRequest, executor: Executor) -> tuple[Context, list[Job]]:
    """The context and the jobs of a search on an executor."""
    search = open_search(request)
    executor.open(search.context)
    recorder = _Recorder(search, executor.num_workers)
    Session(recorder, executor).run()
    strategy = search.strategy
    if executor.threads_here and isinstance(strategy, LeafStrategy) and strategy.stretches_pay:
        return search.context, _joined(recorder.recorded)
    return search.context, recorder.recorded


def _joined(jobs: Sequence[Job]) -> list[Job]:
    """Fewer jobs with the same leaves: where a job costs no call of Python, none is in the ceiling."""
    joined = list[Job]()
    for first in range(0, len(jobs), JOINED):
        several = [job for job in jobs[first : first + JOINED] if isinstance(job, LeafJob)]
        longest = max(job.moves.shape[1] for job in several)
        moves = [np.pad(job.moves, ((0, 0), (0, longest - job.moves.shape[1]))) for job in several]
        columns = ("depths", "visits", "draws")
        others = {name: np.concatenate([getattr(job, name) for job in several]) for name in columns}
        joined.append(LeafJob(index=len(joined), moves=np.concatenate(moves), **others))
    return joined


def _serve(pipe: Connection) -> None:
    """Main function of a process: get the work, then do a share of it for each message."""
    # What comes from the terminal reaches this process too; the one that started it closes the pipe.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    context, jobs = pickle.loads(pipe.recv_bytes())
    # Compiles the kernels, or loads them.
    _run_share(context, jobs, 0, 1, 1)
    pipe.send("ready")
    with suppress(EOFError):
        while True:
            pipe.send(_run_share(context, jobs, *pipe.recv()))


def _run_share(
    context: Context, jobs: list[Job], share: int, shares: int, simulations: int
) -> tuple[int, float, float]:
    """Run jobs of one of ``shares`` shares until they have made so many simulations; returns these, start and
    end by the machine's monotonic clock."""
    worker = Worker()
    # The pieces of a lane go to one process; other jobs are dealt in turn.
    mine = [job for job in jobs if (job.lane if isinstance(job, GrowJob) else job.index) % shares == share]
    # With fewer jobs or lanes than shares some would have none, and never come to an end.
    mine = mine or jobs
    done = 0
    turn = 0
    start = time.monotonic()
    while done < simulations:
        # A new search id, so that the worker keeps no state of the previous turn.
        fresh = replace(context, search_id=f"ceiling {start} {turn}")
        for job in mine:
            done += worker.run(fresh, job).simulations
            if done >= simulations:
                break
        turn += 1
    return done, start, time.monotonic()
