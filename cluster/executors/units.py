"""Workers for the units of a jobset: episodes, games of matches, units of experiments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from cluster.runtime.tasks import TaskWorker
from cluster.system.interruption import until_signal
from games.user_games import Files, files_read, know_files


def worker_of_units(executor: str, make_worker: Callable[[], TaskWorker]) -> Callable[[], TaskWorker]:
    """What an executor of this name calls to create a worker.

    A worker in this process gives up its unit at a signal that cancels the work. A worker in another process
    gets the users' files that this process has read.
    """
    if executor == "inline":
        return lambda: _Here(make_worker())
    return partial(_with_files, files_read(), make_worker)


class _Here:
    """A worker in this process."""

    def __init__(self, worker: TaskWorker) -> None:
        self._worker = worker

    def prepare(self, context: Any) -> None:
        """Load what jobs of this context need. Raises Abandoned."""
        until_signal(self._worker.prepare, context)

    def run(self, context: Any, job: Any) -> Any:
        """Run one job and return its outcome. Raises Abandoned."""
        return until_signal(self._worker.run, context, job)


def _with_files(files: Files, make_worker: Callable[[], TaskWorker]) -> TaskWorker:
    """Create a worker in a process that was sent the users' files, because its machine may not have them."""
    know_files(files)
    return make_worker()
