"""`banyan speedup`: throughput by number of workers, beside what the machine can do at all."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cluster.commands.options import OUTPUT, JsonOption, NoColorOption, colour_wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from cluster.measuring.speedup import Row


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("speedup")(speedup)


def speedup(
    game: Annotated[
        str, typer.Argument(metavar="GAME", help="A game or a file, and its options: name:key=value,...")
    ],
    workers: Annotated[str, typer.Option(metavar="N,N,...", help="Numbers of workers to measure.")] = "1,2",
    strategies: Annotated[
        str, typer.Option(metavar="S,S,...", help="Strategies to measure: root, tree, leaf.")
    ] = "root,tree,leaf",
    simulations: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="The fixed work of each run; if left out, 15 s of one core, or 2 s of each worker.",
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(metavar="N", help="Of everything, interleaved.")] = 3,
    lanes: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Logical streams of the search; if left out, 16, or 4 for each worker."
        ),
    ] = None,
    memory: Annotated[
        int, typer.Option(metavar="MB", help="The most that the trees of a process take.")
    ] = 4096,
    seed: Annotated[int, typer.Option(metavar="N", help="Of all that is random.")] = 0,
    address: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="A Ray cluster; a local Ray if left out.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write speedup.json, .csv and .png there.", rich_help_panel=OUTPUT),
    ] = None,
    json_output: JsonOption = False,
    no_color: NoColorOption = False,
) -> None:
    """The same work for each number of workers: simulations per second, speedup, and share of the ceiling.

    The ceiling is what as many independent processes reach that run the same jobs and never
    talk. Equal digests are checked: the number of workers must not change the answer.
    """
    import games
    from games.errors import InvalidInput
    from search.opening import open_search
    from search.request import STRATEGIES, SearchRequest

    loaded = games.load(game)
    if repeats < 1:
        raise InvalidInput("repeats", repeats, "a whole number of at least 1")
    names = [name.strip() for name in strategies.split(",")]
    for name in names:
        if name not in STRATEGIES:
            raise InvalidInput("strategies", strategies, "a list of " + ", ".join(STRATEGIES))
    counts = read_counts(workers, "workers")
    from cluster.measuring.speedup import default_lanes, default_simulations, measure_speedup

    if simulations is None:
        simulations = default_simulations(loaded.nominal_simulations_per_s, max(counts))
    request = SearchRequest(
        game=loaded.spec,
        simulations=simulations,
        lanes=default_lanes(max(counts)) if lanes is None else lanes,
        seed=seed,
        memory_mb=memory,
        strategy=names[0],
    )
    open_search(request)

    def report(line: str) -> None:
        print(f"banyan: {line}", file=sys.stderr, flush=True)

    rows = measure_speedup(request, names, counts, repeats, address, report)
    if out is not None:
        from cluster.measuring.speedup_report import write_rows

        for path in write_rows(rows, out):
            report(f"wrote {path}")
    from cluster.terminal import print_json, stdout_console

    if json_output:
        print_json([asdict(row) for row in rows])
        return
    console = stdout_console(colour_wanted(no_color))
    console.print(_table(rows))
    if all(row.spent for row in rows):
        console.print(_losses(rows))
    console.print("Digests are equal for every number of workers: " + _digests(rows))


def read_counts(text: str, field: str) -> list[int]:
    """A list of numbers of workers. Raises InvalidInput (``field``)."""
    from games.errors import InvalidInput

    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
        raise InvalidInput(field, text, "whole numbers of at least 1, such as 1,2,4")
    return [int(part) for part in parts]


def _digests(rows: Sequence[Row]) -> str:
    by_strategy = {row.strategy: row.digest[:12] for row in rows}
    return ", ".join(f"{strategy} {digest}" for strategy, digest in by_strategy.items())


def _table(rows: Sequence[Row]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    first = rows[0]
    table = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        title=f"{first.game}: {first.simulations:,} simulations, {first.lanes} lanes, "
        f"median of {first.repeats} (lowest to highest)",
        title_justify="left",
    )
    table.add_column("strategy", no_wrap=True)
    for name in ("workers", "rate/s", "speedup", "efficiency", "ceiling", "of it"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.strategy,
            str(row.workers),
            _rate(row.simulations_per_s),
            f"{row.speedup:.2f}",
            f"{row.efficiency:.0%}",
            _rate(row.ceiling_simulations_per_s),
            f"{row.of_ceiling:.1%} ({row.of_ceiling_spread[0]:.0%}-{row.of_ceiling_spread[1]:.0%})",
        )
    return table


def _losses(rows: Sequence[Row]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from cluster.measuring.losses import PARTS

    table = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        title="Where the time of this machine's cores went, in per cent",
        title_justify="left",
    )
    table.add_column("strategy", no_wrap=True)
    table.add_column("on", justify="right", no_wrap=True)
    for part in PARTS:
        table.add_column(part, justify="right")
    for row in rows:
        shares = (f"{100 * row.spent[part]:.1f}" for part in PARTS)
        table.add_row(row.strategy, str(row.workers), *shares)
    return table


def _rate(simulations_per_s: float) -> str:
    for size, unit in ((1e6, " M"), (1e3, " k")):
        if simulations_per_s >= size:
            return f"{simulations_per_s / size:.3g}{unit}"
    return f"{simulations_per_s:.3g}"
