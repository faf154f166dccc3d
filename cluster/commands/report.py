"""`banyan report`: runs all measurements of scaling, and writes a page with their results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cluster.commands import options
from cluster.commands.options import OUTPUT, JsonOption, NoColorOption, colour_wanted

DEFAULT_OUT = Path("out/scaling")
PICTURES = Path("plots")


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("report")(report)


def report(
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PART]...",
            help="Parts of the report, or all; without any, parts are listed with the dates of their runs.",
            show_default=False,
        ),
    ] = None,
    scale: Annotated[
        str,
        typer.Option(
            metavar="quick|full",
            help="How much is measured: for about an hour (quick), or many hours (full).",
        ),
    ] = "quick",
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Write results there; a report that is started again runs only what is missing.",
            rich_help_panel=OUTPUT,
        ),
    ] = DEFAULT_OUT,
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.md",
            help="Write the page of all parts, with the results so far.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    pictures: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Folder of the page's plots, relative to the page.", rich_help_panel=OUTPUT
        ),
    ] = PICTURES,
    json_output: JsonOption = False,
    no_color: NoColorOption = False,
) -> None:
    """Run the measurements of scaling, one after the other, and write a page with their results."""
    from cluster.lab.scaling.listing import print_list
    from cluster.lab.scaling.page import write_page
    from cluster.lab.scaling.part import chosen, load
    from cluster.lab.scaling.runner import run_missing
    from cluster.lab.scaling.store import Store

    _check(scale, write, pictures)
    store = Store(out, scale)

    run_missing(chosen(parts or []), store, options.report)
    if write is not None:
        write_page(load(), store, write, pictures)
        options.report(f"wrote {write}")
    else:
        print_list(store, json=json_output, colour=colour_wanted(no_color))


def _check(scale: str, write: Path | None, pictures: Path) -> None:
    """Raises InvalidInput (scale, write, pictures)."""
    from cluster.lab.scaling.part import SCALES
    from games.errors import InvalidInput

    if scale not in SCALES:
        raise InvalidInput("scale", scale, " or ".join(SCALES))
    if write is not None and write.suffix != ".md":
        raise InvalidInput("write", str(write), "a file that ends in .md")
    if pictures.is_absolute():
        raise InvalidInput("pictures", str(pictures), "a folder relative to the page")
