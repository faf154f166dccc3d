"""One process of workers on Ray: the threads that run its jobs, and calls from outside."""

from __future__ import annotations

import os
import pickle
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from cluster.runtime.broadcast import Call, unpack_call
from cluster.runtime.session import task_of
from cluster.runtime.tasks import JobDone, JobFailed, TaskWorker, code_of_searches
from cluster.system.processes import give_way
from cluster.workers.contexts import ContextWorkers
from cluster.workers.threads import ThreadsExecutor

COLLECT_S, MORE_S = 0.25, 0.002
"""Seconds that a call waits for a begun job to end, at most (jobs of later calls begin only after it).
Seconds that it then waits for others to end, which costs less than another call."""


class Ready(NamedTuple):
    """The answer of a process that can take jobs."""

    pid: int
    code: str
    """The fingerprint of its code (`code_of_searches`)."""
    at_once: int
    """How many jobs of the context OPENED should be begun in it before the first has ended."""
    host: str
    """The name of its machine."""
    node: str
    """Ray's id of its machine."""


class WorkerProcess(ContextWorkers):
    """Runs bundles of jobs, in a thread for each of its workers; with one worker, one job at a time. Jobs
    that await something are begun, and end in the same or a later call."""

    def __init__(
        self,
        make_worker: Callable[[], TaskWorker],
        gives_way: bool = False,
        node: str = "",
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """``gives_way``: whether the process lowers its priority for other processes, such as a server."""
        self._node, self._clock = node, clock
        if gives_way:
            give_way()
        super().__init__(make_worker)
        self._threads: ThreadsExecutor | None = None
        """The threads that run jobs; None: the caller's alone."""
        self._common: Any = None
        """The common part of the jobs of the last call."""

    def prepare(self, workers: int, context: bytes) -> Ready:
        """Forget all contexts and jobs, and load what jobs of this context need: see `Executor.open`.

        From now on jobs run in ``workers`` threads or, for one worker, in the thread of the caller.
        """
        self._common = None
        if self._threads is not None and self._threads.num_workers != workers:
            self._threads.close()
            self._threads = None
        if self._threads is None and workers > 1:
            self._threads = ThreadsExecutor(workers, self._make_worker, self)
        (self if self._threads is None else self._threads).open(pickle.loads(context))
        return Ready(os.getpid(), code_of_searches(), self.at_once, socket.gethostname(), self._node)

    def stop(self) -> None:
        """Cancel all jobs that were begun."""
        self.begun.cancel()

    def run_call(self, packed: bytes, *values: bytes) -> bytes:
        """Run or begin the jobs of a packed call in order; ``values``: the pickled values listed in `Call`.

        Returns a pickled list of the events of all jobs that have ended, also those that an earlier call
        began; events of failed jobs come without the exception. If no job has ended, waits for one, at most
        COLLECT_S seconds.
        """

        def common_value(call: Call) -> Any:
            if call.brings_common:
                self._common = pickle.loads(values[-1])
            return self._common

        call, jobs = unpack_call(packed, common_value)
        self.keep_only(call.live)
        for key, value in zip(call.brings, values, strict=False):
            self.add(key, pickle.loads(value))
        for context, lane, state in call.states:
            ContextWorkers.take_over(self._of_lane(lane), context, lane, state)
        came = [(event, self._clock()) for event in self._run_all(jobs)]
        came += [(event, self._clock()) for event in self.ended(0.0 if came else COLLECT_S, MORE_S)]
        sent = [
            replace(each, held_s=self._clock() - came_s)
            if isinstance(each, JobDone)
            else replace(each, cause=None)
            for each, came_s in came
        ]
        return pickle.dumps(sent, pickle.HIGHEST_PROTOCOL)

    def hand_over(self, key: int, lane: int) -> Any:
        return ContextWorkers.hand_over(self._of_lane(lane), key, lane)

    def _of_lane(self, lane: int) -> ContextWorkers:
        """The workers of the thread that keeps the state of a lane."""
        return self if self._threads is None else self._threads.of_lane(lane)

    def _run_all(self, jobs: list[tuple[int, int, Any]]) -> Iterable[JobDone | JobFailed]:
        """Run jobs, or begin them, in all threads; returns their events."""
        threads = self._threads
        joined = self.joined(jobs, 1 if threads is None else threads.num_workers, sent=True)
        if threads is None:
            began = (self.run(key, indices[0], job) for key, indices, job in joined)
            events: Iterable[JobDone | JobFailed] = (event for event in began if event is not None)
        else:
            events = threads.outcomes([task_of(job, key) for key, _, job in joined])
        members = {(key, indices[0]): indices for key, indices, _ in joined}
        for event in events:
            if isinstance(event, JobFailed):
                yield from (replace(event, index=each) for each in members[event.context, event.index])
            else:
                yield event
