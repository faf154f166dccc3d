"""`banyan resume`: continues an interrupted search from its checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cluster.commands.groups import with_groups
from cluster.commands.options import CheckpointEveryOption, OutputOptions, SearchPlace


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("resume")(with_groups(resume))


def resume(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A checkpoint of banyan search. A game or an evaluator in a file is run from the text that "
            "the checkpoint holds: it must come from somebody you trust.",
            show_default=False,
        ),
    ],
    place: SearchPlace,
    output: OutputOptions,
    checkpoint_every: CheckpointEveryOption = None,
) -> int:
    """Continue a search from its checkpoint, on any machine and any number of workers.

    The answer is that of an uninterrupted search. FILE is updated.
    """
    from cluster.launch import resume_search

    return resume_search(file, place.placement(), output.output(), checkpoint_every)
