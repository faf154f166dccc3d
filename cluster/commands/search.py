"""`banyan search`: one position, searched."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cluster.commands.options import OUTPUT, PLACE, CheckpointEveryOption
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
    server: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Have a server (banyan serve) search instead: all that is said of places is its own affair.",
            rich_help_panel=PLACE,
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The server's token; or BANYAN_TOKEN has it.",
            rich_help_panel=PLACE,
        ),
    ] = None,
) -> int:
    """Search a position for the best move, on one worker or many."""
    from cluster.launch import Keep, run_search
    from games.errors import InvalidInput

    if server is not None:
        return _search_at(server, token_file, asked, checkpoint)
    if token_file is not None:
        raise InvalidInput("token_file", str(token_file), "nothing without --server URL")
    keep = Keep.of(checkpoint, checkpoint_every)
    return run_search(asked.request, asked.place, asked.output, keep=keep)


def _search_at(server: str, token_file: Path | None, asked: Asked, checkpoint: Path | None) -> int:
    from cluster.remote import search_at
    from cluster.resources import ONE_CPU
    from cluster.service.tokens import read_token
    from cluster.workers import AUTO
    from games.errors import InvalidInput

    place = asked.place
    for field, value in (
        ("workers", None if place.workers == AUTO else place.workers),
        ("worker_resources", None if place.resources == ONE_CPU else place.resources),
        ("address", place.address),
        ("job_timeout", place.job_timeout_s),
        ("metrics_port", place.metrics_port),
        ("checkpoint", checkpoint),
    ):
        if value is not None:
            raise InvalidInput(field, str(value), "nothing with --server: that is the server's affair")
    return search_at(server, read_token(token_file), asked.request, asked.output)
