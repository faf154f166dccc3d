"""`banyan resume`: a search that was interrupted goes on from its checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cluster.commands.options import (
    AddressOption,
    CheckpointEveryOption,
    CpusPerWorkerOption,
    ExecutorOption,
    GpusPerWorkerOption,
    JobTimeoutOption,
    JsonOption,
    MetricsHostOption,
    MetricsPortOption,
    NoColorOption,
    ProgressOption,
    WorkerResourcesOption,
    WorkersOption,
    colour_wanted,
)


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("resume")(resume)


def resume(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A checkpoint of banyan search. If it is of a game or an evaluator in a file, that is run.",
            show_default=False,
        ),
    ],
    workers: WorkersOption = "auto",
    executor: ExecutorOption = "ray",
    address: AddressOption = None,
    gpus_per_worker: GpusPerWorkerOption = None,
    cpus_per_worker: CpusPerWorkerOption = None,
    worker_resources: WorkerResourcesOption = None,
    job_timeout: JobTimeoutOption = None,
    checkpoint_every: CheckpointEveryOption = None,
    metrics_port: MetricsPortOption = None,
    metrics_host: MetricsHostOption = "127.0.0.1",
    progress: ProgressOption = True,
    json_output: JsonOption = False,
    no_color: NoColorOption = False,
) -> int:
    """Go on with a search from its checkpoint, on this machine or another and any number of workers.

    The answer is that of the search without a break. FILE is kept up to date.
    """
    from cluster.commands.search_options import parse_resources
    from cluster.launch import Output, Place, resume_search
    from cluster.workers import parse_workers

    resources = parse_resources(gpus_per_worker, cpus_per_worker, worker_resources)
    place = Place(
        executor, parse_workers(workers), address, job_timeout, metrics_port, metrics_host, resources
    )
    output = Output(json_output, progress, colour_wanted(no_color))
    return resume_search(file, place, output, checkpoint_every)
