"""What runs in a worker process: a worker, and what came to it from afar made ready for it."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Hashable
from typing import Any

from cluster.executor import Task, TaskWorker
from cluster.processes import give_way
from cluster.shared_parts import part_key, with_part, writable
from search.job import LaneTree
from search.worker import Worker


class WorkerProcess:
    """Runs bundles of jobs, one at a time."""

    def __init__(self, make_worker: Callable[[], TaskWorker], gives_way: bool = False) -> None:
        """``gives_way``: whether the process lets others of its machine go first, such as a server."""
        if gives_way:
            give_way()
        self._worker = make_worker()
        self._context: Any = None
        self._key: Hashable = None
        self._part: Any = None

    def prepare(self, context: Any) -> int:
        """Load what the search needs, and keep it for the calls that follow; the process id."""
        self._context = context
        self._key = self._part = None
        self._worker.prepare(context)
        return os.getpid()

    def hand_over(self, lane: int) -> LaneTree | None:
        """root: see `Worker.hand_over`."""
        return self._worker.hand_over(self._context, lane) if isinstance(self._worker, Worker) else None

    def pulse(self) -> bytes:
        """Nothing, as `run` says it: whoever can be asked is there."""
        return pack([])

    def run(self, part: Any, packed: bytes) -> bytes:
        """Run the jobs in their order; ``part`` is what they share, if the call before did not bring it."""
        jobs: list[Task] = pickle.loads(packed)
        if part is not None:
            self._key, self._part = part_key(jobs[0]), writable(part)
        assert part_key(jobs[0]) in (None, self._key)
        return pack([self._worker.run(self._context, with_part(job, self._part)) for job in jobs])


def pack(items: list[Any]) -> bytes:
    """Jobs or results as bytes, which Ray passes on as they are: to take objects apart costs it more."""
    return pickle.dumps(items, pickle.HIGHEST_PROTOCOL)
