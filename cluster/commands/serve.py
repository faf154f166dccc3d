"""`banyan serve`: the HTTP service."""

# ruff: noqa: B008
from __future__ import annotations

import os
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cluster.commands.options import PLACE, GamePlace, option, report, timeout_option
from cluster.service.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from cluster.runtime.tasks import Executor
    from cluster.service.pool_queue import PoolQueue

NICENESS = "RAY_worker_niceness"
"""The environment variable from which Ray has the niceness of workers."""
FIRST_JOB_S = 120.0
"""Default timeout of a job: the first job of a game on a machine may wait for kernels to be compiled."""
ACCESS = "Access"


@dataclass(frozen=True)
class PoolOptions(GamePlace):
    """Where the searches of a server run."""

    job_timeout: float | None = timeout_option("a job", "the job is run", FIRST_JOB_S)
    nice: int | None = option(
        None,
        "N",
        "Niceness of the workers on this machine (19): with 19 they take what other programs leave, "
        "beside which a search may have a tenth of its speed; with 0 they share alike.",
        PLACE,
        min=0,
        max=19,
    )

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

        from cluster.workers.placement import Placement

        place = Placement(self.workers, self.executor, self.address, self.job_timeout)
        notify = logging.getLogger("banyan.pool").warning
        return lambda queue: place.start(None, FIRST_JOB_S, queue=queue, standing=True, notify=notify)


def serve(
    *,
    data: Path = option(
        MISSING, "DIR", "Folder in which the server stores its searches; each server needs its own."
    ),
    host: str = option("127.0.0.1", "HOST", "Address to listen on.", ACCESS),
    port: int = option(8000, "PORT", "Port to listen on; 0 for any free one.", ACCESS),
    token_file: Path | None = option(
        None,
        "FILE",
        "File with bearer tokens, one per line (also BANYAN_TOKEN). Without tokens only this "
        "machine has access.",
        ACCESS,
    ),
    cors_origin: list[str] | None = option(
        None,
        "ORIGIN",
        "An origin whose pages have access, such as https://example.org; may be repeated.",
        ACCESS,
    ),
    root_path: str = option(
        "",
        "PATH",
        "Prefix, such as /banyan, of paths that a proxy passes on unchanged; not needed where the proxy "
        "removes it.",
        ACCESS,
    ),
    allow_games: list[str] | None = option(
        None,
        "NAME",
        "A further game that clients may use: a game of an installed package, "
        "openspiel:connect_four, 'openspiel:*', or gym:FrozenLake-v1; may be repeated.",
        ACCESS,
        envvar="BANYAN_ALLOW_GAMES",
    ),
    allow_speedup: bool = option(
        False,
        None,
        "Clients may measure the speedup of the workers, which takes them from searches meanwhile.",
        ACCESS,
        "--allow-speedup",
    ),
    checkpoint_every: float = option(10.0, "S", "Seconds between checkpoints of a running search.", min=0.1),
    limits: Limits,
    pool: PoolOptions,
) -> int:
    """Serve searches over HTTP and on a web page, with one pool of workers (cluster/service/README.md)."""
    from cluster.service.server import Settings
    from cluster.service.server import serve as run
    from cluster.system.processes import tell_of_quota

    if (nice := pool.niceness) is not None:
        os.environ[NICENESS] = str(nice)
    if pool.address is None:
        tell_of_quota(report)
    settings = Settings(
        data=data,
        host=host,
        port=port,
        token_file=token_file,
        cors_origin=cors_origin,
        root_path=root_path,
        allow_games=allow_games,
        allow_speedup=allow_speedup,
        checkpoint_every=checkpoint_every,
        limits=limits,
    )
    return run(settings, pool.starter(), nice)
