"""`banyan benchmark`: how fast one core is."""

from __future__ import annotations

import re
import sys
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cluster.commands.options import OUTPUT, JsonOption, NoColorOption, colour_wanted

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table

    from cluster.measuring.benchmark import Rival

DEFAULT_SIMULATIONS = 10_000
MAX_SIMULATIONS = 100_000_000
NAME_WIDTH, RATE_WIDTH = 17, 8
"""Of the columns, in signs: with a remark they fit a terminal of 80."""


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("benchmark")(benchmark)


def benchmark(
    games: Annotated[
        list[str] | None,
        typer.Argument(metavar="GAME", help="Games to measure; all of them if none is named."),
    ] = None,
    seconds: Annotated[float, typer.Option(metavar="S", help="For each measurement.")] = 1.0,
    repeats: Annotated[int, typer.Option(metavar="N", help="Of everything, interleaved.")] = 5,
    simulations: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="Simulations of each search (10000); several times for several rows."),
    ] = None,
    cut: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="Also playouts cut after N plies; several times for several of them."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of all that is random.")] = 0,
    against: Annotated[
        str | None,
        typer.Option(metavar="openspiel", help="Another program to measure beside it, in the same run."),
    ] = None,
    progress: Annotated[
        bool,
        typer.Option(
            "--progress/--no-progress", help="A line a repeat on standard error.", rich_help_panel=OUTPUT
        ),
    ] = True,
    json_output: JsonOption = False,
    no_color: NoColorOption = False,
) -> None:
    """Random playouts and UCT simulations per second, of each game on one core."""
    import games as rules
    from cluster.measuring.benchmark import benchmark as benchmark_games
    from cluster.terminal import print_json, stdout_console

    wanted = [rules.load(name) for name in games or rules.names()]
    sizes = simulations or [DEFAULT_SIMULATIONS]
    cuts = cut or []
    _check(seconds, repeats, sizes, cuts, seed)
    rival = _rival(against)

    def report(line: str) -> None:
        if progress:
            print(f"banyan: {line}", file=sys.stderr, flush=True)

    benches = benchmark_games(
        wanted,
        simulations=sizes,
        seconds=seconds,
        repeats=repeats,
        seed=seed,
        cuts=cuts,
        rival=rival,
        report=report,
    )
    rows = [row for bench in benches for row in bench.rows(rival)]
    if json_output:
        print_json(rows)
        return
    console = stdout_console(colour_wanted(no_color))
    console.print(_blocks(rows, rival, console.width))
    console.print(
        f"median (lowest - highest) of {repeats} interleaved repeats of {seconds:g} s each; "
        f"one core, from the start position, seed {seed}",
        soft_wrap=True,
    )
    if rival is not None:
        console.print(
            f"{rival.name} {rival.version}: its C++ MCTSBot, random rollouts, the same exploration constant",
            soft_wrap=True,
        )


def _check(seconds: float, repeats: int, sizes: list[int], cuts: list[int], seed: int) -> None:
    from games.errors import InvalidInput

    if not 0 < seconds <= 3600:
        raise InvalidInput("seconds", seconds, "a number above 0, at most 3600")
    if not 1 <= repeats <= 1000:
        raise InvalidInput("repeats", repeats, "a whole number from 1 to 1000")
    for size in sizes:
        if not 1 <= size <= MAX_SIMULATIONS:
            raise InvalidInput("simulations", size, f"a whole number from 1 to {MAX_SIMULATIONS}")
    for cut in cuts:
        if not 0 <= cut <= MAX_SIMULATIONS:
            raise InvalidInput("cut", cut, f"a whole number from 0 to {MAX_SIMULATIONS}")
    if not 0 <= seed < 2**31:
        # As large as OpenSpiel takes it.
        raise InvalidInput("seed", seed, f"a whole number from 0 to {2**31 - 1}")


def _rival(against: str | None) -> Rival | None:
    from games.errors import InvalidInput

    if against is None:
        return None
    if against != "openspiel":
        raise InvalidInput("against", against, "openspiel")
    from cluster.measuring.openspiel import OpenSpiel

    return OpenSpiel()


def _blocks(rows: list[dict[str, Any]], rival: Rival | None, width: int) -> Group:
    """A block of lines for each game: its spec; then what was measured, median, lowest, highest, a remark.

    A spec may be longer than a line of ``width`` signs: it stands above the columns and is folded, not cut.
    """
    from rich.console import Group
    from rich.text import Text

    headings = _columns()
    headings.add_row("", "median", "lowest", "highest", style="dim")
    parts: list[RenderableType] = [headings]
    for game, measured in groupby(rows, key=itemgetter("game")):
        block = _columns()
        for number, row in enumerate(measured):
            if number == 0:
                _add_rate(block, "random playouts", row, "playouts_per_s", _results(row["results"]))
                remark = f"{row['mean_length']:.1f} in each playout"
                _add_rate(block, "random moves", row, "moves_per_s", remark)
                for cut in row["cuts"]:
                    remark = f"{cut['mean_length']:.1f} in each playout, worth {cut['mean_value']:+.3f}"
                    _add_rate(block, f"cut after {cut['plies']}", cut, "playouts_per_s", remark)
            _add_rate(
                block, "simulations", row, "simulations_per_s", f"{row['simulations']:,} in each search"
            )
            _add_rival(block, row.get("against"), rival)
        parts += [Text(_folded(game, width), style="bold", overflow="fold"), block, Text()]
    return Group(*parts)


def _folded(spec: str, width: int) -> str:
    """The spec in lines that end with a comma, as far as it has some."""
    lines = [""]
    for part in re.findall("[^,]+,?", spec):
        if lines[-1] and len(lines[-1] + part) > width:
            lines.append("  ")
        lines[-1] += part
    return "\n".join(lines)


def _columns() -> Table:
    """An empty table with columns as wide as in all others."""
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(width=NAME_WIDTH, overflow="fold")
    for _ in range(3):
        table.add_column(width=RATE_WIDTH, justify="right", overflow="fold")
    table.add_column()
    return table


def _add_rival(table: Table, against: dict[str, Any] | None, rival: Rival | None) -> None:
    if against is not None:
        _add_rate(table, against["name"], against, "simulations_per_s", "the same searches")
        ratios = (against["ratio"], *against["spread"]["ratio"])
        table.add_row("  ratio", *(f"{ratio:.1f}" for ratio in ratios), style="bold")
    elif rival is not None:
        table.add_row(f"  {rival.name}", "-", "", "", "does not have this game")


def _add_rate(table: Table, name: str, row: dict[str, Any], key: str, remark: str) -> None:
    from rich.text import Text

    from cluster.terminal import rate

    rates = (rate(value) for value in (row[key], *row["spread"][key]))
    table.add_row(f"  {name}", *rates, Text(remark, style="dim"))


def _results(results: dict[str, float]) -> str:
    first, draw, second = (f"{100 * results[key]:.0f} %" for key in ("first", "draw", "second"))
    return f"won {first}, drawn {draw}, lost {second}"
