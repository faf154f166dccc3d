"""The receiving side of calls in a worker process: unpacks them and runs their jobs."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import Any

from cluster.runtime.broadcast import Call, unpack_call
from cluster.runtime.code_version import code_of_searches
from cluster.runtime.context_workers import ContextWorkers
from cluster.runtime.tasks import TaskWorker
from cluster.system.processes import give_way


class WorkerProcess:
    """Runs bundles of jobs, one at a time."""

    def __init__(self, make_worker: Callable[[], TaskWorker], gives_way: bool = False) -> None:
        """``gives_way``: whether the process lowers its priority for other processes, such as a server."""
        if gives_way:
            give_way()
        self._workers = ContextWorkers(make_worker)
        self._shared: Any = None
        """The shared part of the jobs of the last call."""

    def prepare(self, context: bytes) -> tuple[int, str]:
        """Forget all contexts and load what jobs of this context need: see `Executor.open`.

        Returns the process id and the fingerprint of its code (`code_of_searches`).
        """
        self._shared = None
        self._workers.open(pickle.loads(context))
        return os.getpid(), code_of_searches()

    def hand_over(self, context: int, lane: int) -> Any:
        """Remove and return the state of a lane; None if it is not in this process."""
        return self._workers.hand_over(context, lane)

    def run(self, packed: bytes, *values: bytes) -> bytes:
        """Run the jobs of a packed call in order; ``values``: the pickled values listed in `Call`.

        Returns a pickled list with a pair per job: (outcome, None) or (None, text of the exception).
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
        outcomes = [self._run_one(context, job) for context, _, job in jobs]
        return pickle.dumps(outcomes, pickle.HIGHEST_PROTOCOL)

    def _run_one(self, context: int, job: Any) -> tuple[Any, str | None]:
        try:
            return self._workers.run(context, job), None
        except Exception as error:
            return None, f"{type(error).__name__}: {error}"
