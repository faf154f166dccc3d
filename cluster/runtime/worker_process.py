"""The receiving side of calls in a worker process: unpacks them and runs their jobs."""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Callable
from typing import Any, NamedTuple

from cluster.runtime.broadcast import Call, unpack_call
from cluster.runtime.code_version import code_of_searches
from cluster.runtime.context_workers import ContextWorkers
from cluster.runtime.in_flight import Ended, InFlight
from cluster.runtime.tasks import TaskWorker
from cluster.system.processes import give_way

COLLECT_S = 0.25
"""Longest wait of a call in seconds for the first job that ends: jobs of later calls are begun after it."""
MORE_S = 0.002
"""Seconds that a call waits for other jobs when the first has ended: a call costs more than that."""

Said = tuple[int, int, Any, str | None]
"""Context and index of a job, its outcome, and the text of its exception; one of the last two is None."""


class Ready(NamedTuple):
    """The answer of a process that can take jobs."""

    pid: int
    code: str
    """The fingerprint of its code (`code_of_searches`)."""
    at_once: int
    """How many jobs of the context OPENED should be begun in it before the first has ended."""
    host: str
    """The name of its machine."""


class WorkerProcess:
    """Runs bundles of jobs, one at a time; jobs that await something are begun, and end in a later call."""

    def __init__(self, make_worker: Callable[[], TaskWorker], gives_way: bool = False) -> None:
        """``gives_way``: whether the process lowers its priority for other processes, such as a server."""
        if gives_way:
            give_way()
        self._workers = ContextWorkers(make_worker)
        self._in_flight = InFlight()
        self._shared: Any = None
        """The shared part of the jobs of the last call."""

    def prepare(self, context: bytes) -> Ready:
        """Forget all contexts and jobs, and load what jobs of this context need: see `Executor.open`."""
        self.stop()
        self._shared = None
        self._workers.open(pickle.loads(context))
        return Ready(os.getpid(), code_of_searches(), self._workers.at_once, socket.gethostname())

    def stop(self) -> None:
        """Cancel all jobs that were begun."""
        self._in_flight.cancel()

    def hand_over(self, context: int, lane: int) -> Any:
        """Remove and return the state of a lane; None if it is not in this process."""
        return self._workers.hand_over(context, lane)

    def run(self, packed: bytes, *values: bytes) -> bytes:
        """Run or begin the jobs of a packed call in order; ``values``: the pickled values listed in `Call`.

        Returns a pickled list of `Said`, with all jobs that have ended, also those that an earlier call
        began. If none has, it waits for one, at most COLLECT_S seconds.
        """

        def shared_value(call: Call) -> Any:
            if call.brings_shared:
                self._shared = pickle.loads(values[-1])
            return self._shared

        call, jobs = unpack_call(packed, shared_value)
        self._workers.keep_only(call.live)
        for key, value in zip(call.brings, values, strict=False):
            self._workers.add(key, pickle.loads(value))
        for context, lane, state in call.states:
            self._workers.take_over(context, lane, state)
        ended = [found for context, index, job in jobs if (found := self._run_one(context, index, job))]
        ended += self._in_flight.take(0.0 if ended else COLLECT_S, MORE_S)
        return pickle.dumps([_said(each) for each in ended], pickle.HIGHEST_PROTOCOL)

    def _run_one(self, context: int, index: int, job: Any) -> Ended | None:
        """Run a job, or begin it: then None."""
        try:
            future = self._workers.begin(context, job)
            if future is None:
                return Ended(context, index, self._workers.run(context, job), None)
        except Exception as error:
            return Ended(context, index, None, error)
        self._in_flight.add(context, index, future)
        return None


def _said(ended: Ended) -> Said:
    error = ended.error
    text = None if error is None else f"{type(error).__name__}: {error}"
    return ended.context, ended.index, ended.outcome, text
