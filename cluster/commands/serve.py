"""`banyan serve`: the HTTP service."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from cluster.commands.options import PLACE, GamePlace, report, timeout_option
from cluster.service.limits import Limits, Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from cluster.runtime.pool_queue import PoolQueue
    from cluster.runtime.tasks import Executor

NICENESS = "RAY_worker_niceness"
"""The environment variable from which Ray has the niceness of workers."""
FIRST_JOB_S = 120.0
"""Default timeout of a job: the first job of a game on a machine may wait for kernels to be compiled."""


@dataclass(frozen=True)
class PoolOptions(GamePlace):
    """Where the searches of a server run."""

    job_timeout: float | None = timeout_option("a job", "the job is run", FIRST_JOB_S)
    nice: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Niceness of the workers on this machine (19): with 19 they take what other programs leave, "
            "beside which a search may have a tenth of its speed; with 0 they share alike.",
            rich_help_panel=PLACE,
            min=0,
            max=19,
        ),
    ] = None

    @property
    def niceness(self) -> int | None:
        """The niceness of the workers; None if they are not started on this machine. Raises InvalidInput."""
        from games.errors import InvalidInput

        if self.executor == "inline" or self.address is not None:
            if self.nice is not None:
                raise InvalidInput("nice", self.nice, "nothing where no local Ray starts the workers")
            return None
        text = os.environ.get(NICENESS, "19") if self.nice is None else str(self.nice)
        if not (text.isascii() and text.isdigit() and int(text) <= 19):
            raise InvalidInput("nice", text, f"a whole number from 0 to 19, also as {NICENESS}")
        return int(text)

    def starter(self) -> Callable[[PoolQueue], Executor]:
        """A function that starts the pool's executor. Raises InvalidInput (workers)."""
        import logging

        from cluster.analysis.worker import AnalysisWorker
        from cluster.workers.placement import Placement

        place = Placement(self.workers, self.executor, self.address, self.job_timeout)
        notify = logging.getLogger("banyan.pool").warning
        return lambda queue: place.start(
            None, FIRST_JOB_S, queue=queue, standing=True, notify=notify, make_worker=AnalysisWorker
        )


def serve(settings: Settings, limits: Limits, pool: PoolOptions) -> int:
    """Serve searches over HTTP and on a web page, with one pool of workers (cluster/service/README.md)."""
    from cluster.service.server import serve as run
    from cluster.system.processes import tell_of_quota

    if (nice := pool.niceness) is not None:
        os.environ[NICENESS] = str(nice)
    if pool.address is None:
        tell_of_quota(report)
    return run(settings, limits, pool.starter(), nice)
