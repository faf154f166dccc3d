"""The base of executors for tests: what most of them do not need."""

from __future__ import annotations

from typing import Any

from cluster.runtime.worker_state import WorkerStatus


class Fake:
    """It has one worker, and does nothing."""

    name = "fake"
    num_workers = 1
    threads_here = 0

    @property
    def workers(self) -> list[WorkerStatus]:
        return []

    def use(self, workers: int) -> None: ...

    def open(self, context: Any) -> None: ...

    def drop(self) -> None: ...

    def close(self) -> None: ...
