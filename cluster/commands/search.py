"""`banyan search`: one position, searched."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cluster.commands.options import OUTPUT, CheckpointEveryOption
from cluster.commands.search_options import Asked, with_search_options


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("search")(with_search_options(search))


def search(
    asked: Asked,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep the search in FILE, so that banyan resume FILE can go on with it.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    checkpoint_every: CheckpointEveryOption = None,
) -> int:
    """Search a position for the best move, on one worker or many."""
    from cluster.launch import Keep, run_search

    keep = Keep.of(checkpoint, checkpoint_every)
    return run_search(asked.request, asked.place, asked.output, keep=keep)
