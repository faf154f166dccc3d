"""`banyan search`: one position, searched."""

from __future__ import annotations

import typer

from cluster.commands.search_options import Asked, with_search_options


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("search")(with_search_options(search))


def search(asked: Asked) -> int:
    """Search a position for the best move, on one worker or many."""
    from cluster.launch import run_search

    return run_search(asked.request, asked.place, asked.output)
