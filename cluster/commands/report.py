"""`banyan report`: all measurements of scaling, and SCALING.md of what they found."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cluster.commands.options import OUTPUT, JsonOption, NoColorOption, colour_wanted

DEFAULT_OUT = Path("out/scaling")
PICTURES = Path("cluster/plots/scaling")


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("report")(report)


def report(
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PART]...",
            help="Parts of the report, or all. Without any: what there is, and what has been run.",
            show_default=False,
        ),
    ] = None,
    scale: Annotated[
        str, typer.Option(metavar="quick|full", help="How much is measured: about an hour, or many.")
    ] = "quick",
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Results are kept there; started again, only what is missing is run.",
            rich_help_panel=OUTPUT,
        ),
    ] = DEFAULT_OUT,
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.md",
            help="Write the page: of all parts, with what has been run so far.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    pictures: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Where its plots go, as seen from the page.", rich_help_panel=OUTPUT
        ),
    ] = PICTURES,
    json_output: JsonOption = False,
    no_color: NoColorOption = False,
) -> int:
    """Run the measurements of scaling, one after the other, and write a page of what they found."""
    from cluster.scaling.listing import print_list
    from cluster.scaling.page import write_page
    from cluster.scaling.part import SCALES, chosen, load
    from cluster.scaling.runner import run_missing
    from cluster.scaling.store import Store
    from games.errors import InvalidInput

    if scale not in SCALES:
        raise InvalidInput("scale", scale, " or ".join(SCALES))
    if write is not None and write.suffix != ".md":
        raise InvalidInput("write", str(write), "a file that ends in .md")
    if pictures.is_absolute():
        raise InvalidInput("pictures", str(pictures), "a folder relative to the page")
    store = Store(out, scale)

    def say(line: str) -> None:
        print(f"banyan: {line}", file=sys.stderr, flush=True)

    run_missing(chosen(parts or []), store, say)
    if write is not None:
        write_page(load(), store, write, pictures)
        say(f"wrote {write}")
    else:
        print_list(store, json=json_output, colour=colour_wanted(no_color))
    return 0
