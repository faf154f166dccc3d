"""`banyan search` searches one position; `banyan resume` continues an interrupted search."""

# ruff: noqa: B008
from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cluster.commands.options import (
    OUTPUT,
    PLACE,
    CheckpointEveryOption,
    SearchPlace,
    option,
    suggest_best,
)
from cluster.system.terminal import Output
from search.options import SEARCH, refuse
from search.request import SearchRequest

if TYPE_CHECKING:
    from cluster.workers.placement import Placement


def search(
    request: SearchRequest,
    place: SearchPlace,
    output: Output,
    preset: str | None = option(
        None,
        "best|plain|...",
        "Settings for all options that are not given: best, which won most matches of the game; "
        "plain, UCT with random playouts; or the constants of a published source.",
        SEARCH,
    ),
    checkpoint: Path | None = option(
        None, "FILE", "Save the search in FILE; banyan resume FILE continues it.", OUTPUT
    ),
    checkpoint_every: CheckpointEveryOption = None,
    server: str | None = option(
        None, "URL", "Search on a server (banyan serve), which decides where the search runs.", PLACE
    ),
    token_file: Path | None = option(
        None, "FILE", "File with the server's token (also BANYAN_TOKEN).", PLACE
    ),
) -> int:
    """Search a position for the best move, on one worker or many."""
    from cluster.launch import run_search

    request = _with_preset(request, preset, output)
    if server is not None:
        status = _search_at(server, token_file, request, place.placement(), output, checkpoint)
    elif token_file is not None:
        refuse("token_file", str(token_file), "nothing without --server URL")
    else:
        if checkpoint is None and checkpoint_every is not None:
            refuse("checkpoint_every", checkpoint_every, "nothing without --checkpoint FILE")
        status = run_search(
            request, place.placement(), output, checkpoint=checkpoint, every_s=checkpoint_every
        )
    if status == 0:
        suggest_best(request.game, preset, output.json)
    return status


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
    output: Output,
    checkpoint_every: CheckpointEveryOption = None,
) -> int:
    """Continue a search from its checkpoint, on any machine and any number of workers.

    The answer is that of an uninterrupted search. FILE is updated.
    """
    from cluster.launch import resume_search

    return resume_search(file, place.placement(), output, checkpoint_every)


def _with_preset(request: SearchRequest, preset: str | None, output: Output) -> SearchRequest:
    """The request with the fields of the preset, printed on standard error. Raises InvalidInput."""
    import games
    from search.players.presets import settings_of, with_preset

    if preset is None:
        return request
    game = games.load(request.game)
    found = with_preset(request, preset, game)
    if not output.json:
        shown = [f"{name}={getattr(found, name)}" for name in settings_of(preset, game)]
        print(f"preset {preset}: {', '.join(shown) or 'the defaults'}", file=sys.stderr)
    return found


def _search_at(
    server: str,
    token_file: Path | None,
    request: SearchRequest,
    place: Placement,
    output: Output,
    checkpoint: Path | None,
) -> int:
    """Search on a server. Raises InvalidInput for options of the place, which the server decides."""
    from cluster.client.remote import search_at
    from cluster.runtime.workers import AUTO, ONE_CPU
    from cluster.service.api.tokens import read_token

    for field, value in (
        ("workers", None if place.range == AUTO else place.range),
        ("worker_resources", None if place.resources == ONE_CPU else place.resources),
        ("address", place.address),
        ("job_timeout", place.job_timeout),
        ("metrics_port", place.metrics_port),
        ("checkpoint", checkpoint),
    ):
        if value is not None:
            refuse(field, str(value), "nothing with --server: the server decides that")
    return search_at(server, read_token(token_file), request, output)
