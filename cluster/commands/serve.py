"""`banyan serve`: the HTTP service."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cluster.commands.options import PLACE, AddressOption, ExecutorOption, WorkersOption, option, with_groups

if TYPE_CHECKING:
    from collections.abc import Callable

    from cluster.runtime.tasks import Executor
    from cluster.service.limits import Limits
    from cluster.service.pool_queue import PoolQueue
    from cluster.service.server import Settings

NICENESS = "RAY_worker_niceness"
"""The environment variable from which Ray has the niceness of workers."""
FIRST_JOB_S = 120.0
"""Default timeout of a job: the first job of a game on a machine may wait for kernels to be compiled."""
ACCESS, LIMITS = "Access", "Limits"


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("serve")(with_groups(serve))


@dataclass(frozen=True)
class ServerOptions:
    """Address, data folder and access of a server."""

    data: Annotated[
        Path, option("DIR", "Folder in which the server stores its searches; each server needs its own.")
    ]
    host: Annotated[str, option("HOST", "Address to listen on.", ACCESS)] = "127.0.0.1"
    port: Annotated[int, option("PORT", "Port to listen on; 0 for any free one.", ACCESS)] = 8000
    token_file: Annotated[
        Path | None,
        option(
            "FILE",
            "File with bearer tokens, one per line (also BANYAN_TOKEN). Without tokens only this "
            "machine has access.",
            ACCESS,
        ),
    ] = None
    cors_origin: Annotated[
        list[str] | None,
        option(
            "ORIGIN",
            "An origin whose pages have access, such as https://example.org; may be repeated.",
            ACCESS,
        ),
    ] = None
    allow_games: Annotated[
        list[str] | None,
        option(
            "NAME",
            "A further game that clients may use: a game of an installed package, "
            "openspiel:connect_four, 'openspiel:*', or gym:FrozenLake-v1; may be repeated.",
            ACCESS,
            envvar="BANYAN_ALLOW_GAMES",
        ),
    ] = None
    allow_speedup: Annotated[
        bool,
        typer.Option(
            "--allow-speedup",
            help="Clients may measure the speedup of the workers, which takes them from searches meanwhile.",
            rich_help_panel=ACCESS,
        ),
    ] = False
    checkpoint_every: Annotated[
        float, option("S", "Seconds between checkpoints of a running search.", min=0.1)
    ] = 10.0

    def settings(self, limits: Limits) -> Settings:
        """The options, read. Raises InvalidInput (token_file, allow_games)."""
        from cluster.service.api.tokens import read_tokens
        from cluster.service.known_games import allow_games
        from cluster.service.server import Settings

        return Settings(
            self.data,
            self.host,
            self.port,
            read_tokens(self.token_file),
            self.cors_origin or (),
            limits,
            self.checkpoint_every,
            allow_games(self.allow_games or ()),
            self.allow_speedup,
        )


def _limit(text: str, metavar: str = "N", least: float = 1) -> Any:
    return option(metavar, text, LIMITS, min=least)


@dataclass(frozen=True)
class LimitOptions:
    """Limits of a server."""

    max_running: Annotated[int, _limit("Searches that run at a time.")] = 4
    max_waiting: Annotated[int, _limit("Searches that wait.")] = 256
    max_simulations: Annotated[int, _limit("Simulations of one search.")] = 2_000_000_000
    max_seconds: Annotated[float, _limit("Seconds of one search.", "S", 0.001)] = 3600.0
    max_memory: Annotated[int, _limit("MB of one search, on the server and on each worker.", "MB")] = 1024
    max_lanes: Annotated[int, _limit("Lanes of one search.")] = 1024
    keep: Annotated[int, _limit("Finished searches that are kept.")] = 10_000
    max_connections: Annotated[
        int,
        _limit(
            "Requests answered at a time; the same number of connections may wait. One address (all clients "
            "behind one proxy) gets at most three quarters of them.",
            least=8,
        ),
    ] = 2000
    max_body: Annotated[int, _limit("Bytes of one request.", "BYTES", 1024)] = 256 * 1024

    def limits(self) -> Limits:
        """The options, read."""
        from cluster.service.limits import Limits

        return Limits(
            running=self.max_running,
            waiting=self.max_waiting,
            simulations=self.max_simulations,
            seconds=self.max_seconds,
            memory_mb=self.max_memory,
            lanes=self.max_lanes,
            kept=self.keep,
            body_bytes=self.max_body,
            connections=self.max_connections,
        )


@dataclass(frozen=True)
class PoolOptions:
    """Where the searches of a server run."""

    workers: WorkersOption = "auto"
    executor: ExecutorOption = "ray"
    address: AddressOption = None
    job_timeout: Annotated[
        float | None,
        option(
            "S",
            "Seconds after which the worker of a job counts as hung and the job is run again "
            f"({FIRST_JOB_S:g}).",
            PLACE,
        ),
    ] = None
    nice: Annotated[
        int | None,
        option(
            "N",
            "Niceness of the workers on this machine (19): with 19 they take what other programs leave, "
            "beside which a search may have a tenth of its speed; with 0 they share alike.",
            PLACE,
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
        from functools import partial

        from cluster.executors.choose import make_executor
        from cluster.runtime.workers import parse_workers

        start = partial(
            make_executor,
            self.executor,
            parse_workers(self.workers),
            self.address,
            FIRST_JOB_S if self.job_timeout is None else self.job_timeout,
            standing=True,
            notify=logging.getLogger("banyan.pool").warning,
        )
        return lambda queue: start(queue=queue)


def serve(server: ServerOptions, limits: LimitOptions, pool: PoolOptions) -> int:
    """Serve searches over HTTP and on a web page, with one pool of workers (cluster/service/README.md)."""
    from cluster.service.server import serve as run

    if (nice := pool.niceness) is not None:
        os.environ[NICENESS] = str(nice)
    return run(server.settings(limits.limits()), pool.starter(), nice)
