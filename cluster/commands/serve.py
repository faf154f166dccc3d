"""`banyan serve`: searches for others, over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cluster.commands.options import PLACE, AddressOption, ExecutorOption, WorkersOption

FIRST_JOB_S = 120.0
"""A job may be the first of its game on its machine, and have to wait for kernels to be compiled."""
ACCESS, LIMITS = "Who may ask", "Limits"


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("serve")(serve)


def serve(
    data: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Where searches are kept: one folder for each server."),
    ],
    host: Annotated[
        str, typer.Option(metavar="HOST", help="Where to listen.", rich_help_panel=ACCESS)
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="PORT", help="0: any free one.", rich_help_panel=ACCESS)
    ] = 8000,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Bearer tokens, one a line (also BANYAN_TOKEN). Without any, only this machine can ask.",
            rich_help_panel=ACCESS,
        ),
    ] = None,
    cors_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            help="An origin whose pages may ask, such as https://example.org; may be repeated.",
            rich_help_panel=ACCESS,
        ),
    ] = None,
    max_running: Annotated[
        int, typer.Option(metavar="N", min=1, help="Searches at a time.", rich_help_panel=LIMITS)
    ] = 4,
    max_waiting: Annotated[
        int, typer.Option(metavar="N", min=1, help="Searches that wait.", rich_help_panel=LIMITS)
    ] = 256,
    max_simulations: Annotated[
        int, typer.Option(metavar="N", min=1, help="Of one search.", rich_help_panel=LIMITS)
    ] = 2_000_000_000,
    max_seconds: Annotated[
        float, typer.Option(metavar="S", min=0.001, help="Of one search.", rich_help_panel=LIMITS)
    ] = 3600.0,
    max_memory: Annotated[
        int,
        typer.Option(
            metavar="MB",
            min=1,
            help="Of one search, on the server and on each worker.",
            rich_help_panel=LIMITS,
        ),
    ] = 1024,
    max_lanes: Annotated[
        int, typer.Option(metavar="N", min=1, help="Of one search.", rich_help_panel=LIMITS)
    ] = 1024,
    keep: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="Searches that are over and still told.", rich_help_panel=LIMITS
        ),
    ] = 10_000,
    checkpoint_every: Annotated[
        float, typer.Option(metavar="S", min=0.1, help="How often searches that run are kept.")
    ] = 10.0,
    workers: WorkersOption = "auto",
    executor: ExecutorOption = "ray",
    address: AddressOption = None,
    job_timeout: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help=f"How long a job may take before its worker counts as hung ({FIRST_JOB_S:g}).",
            rich_help_panel=PLACE,
        ),
    ] = None,
    max_body: Annotated[
        int, typer.Option(metavar="BYTES", min=1024, help="Of one request.", rich_help_panel=LIMITS)
    ] = 256 * 1024,
) -> int:
    """Search for others: an HTTP API over one pool of workers (cluster/service/README.md)."""
    from functools import partial

    from cluster.executors import make_executor
    from cluster.pool_task import PoolWorker
    from cluster.service.limits import Limits
    from cluster.service.server import Settings
    from cluster.service.server import serve as run
    from cluster.service.tokens import read_tokens
    from cluster.workers import parse_workers

    limits = Limits(
        running=max_running,
        waiting=max_waiting,
        simulations=max_simulations,
        seconds=max_seconds,
        memory_mb=max_memory,
        lanes=max_lanes,
        kept=keep,
        body_bytes=max_body,
    )
    settings = Settings(
        data, host, port, read_tokens(token_file), cors_origin or (), limits, checkpoint_every
    )
    timeout_s = FIRST_JOB_S if job_timeout is None else job_timeout
    start = partial(
        make_executor,
        executor,
        parse_workers(workers),
        address,
        timeout_s,
        make_worker=PoolWorker,
        standing=True,
    )

    return run(settings, lambda queue: start(queue=queue))
