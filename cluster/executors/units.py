"""Workers for the units of a jobset: episodes, games of matches, units of experiments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from cluster.runtime.tasks import TaskWorker
from games.user_games import Files, files_read, know_files


def worker_of_units(
    executor: str, make_worker: Callable[..., TaskWorker], cancelled: Callable[[], bool]
) -> Callable[[], TaskWorker]:
    """What an executor of this name calls to create a worker.

    ``make_worker`` takes an argument ``cancelled``: a function that tells a worker in this process to give up
    the unit it runs. A worker in another process gets the users' files that this process has read.
    """
    if executor == "inline":
        return partial(make_worker, cancelled=cancelled)
    return partial(_with_files, files_read(), make_worker)


def _with_files(files: Files, make_worker: Callable[[], TaskWorker]) -> TaskWorker:
    """Create a worker in a process that was sent the users' files, because its machine may not have them."""
    know_files(files)
    return make_worker()
