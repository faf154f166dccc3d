"""`banyan benchmark`: the speed of one core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from cluster.commands.groups import with_groups
from cluster.commands.options import OutputOptions, colour_wanted, report

if TYPE_CHECKING:
    from cluster.lab.throughput.benchmark import Rival

DEFAULT_SIMULATIONS = 10_000
MAX_SIMULATIONS = 100_000_000


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("benchmark")(with_groups(benchmark))


@dataclass(frozen=True)
class Measurement:
    """What is measured of each game."""

    seconds: Annotated[float, typer.Option(metavar="S", help="Seconds of each measurement.")] = 1.0
    repeats: Annotated[
        int, typer.Option(metavar="N", help="How often everything is repeated; repeats are interleaved.")
    ] = 5
    simulations: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N", help="Simulations of each search (10000); may be repeated, for several rows."
        ),
    ] = None
    cut: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="Also measure playouts that are cut after N plies; may be repeated."),
    ] = None
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of all random numbers.")] = 0
    against: Annotated[
        str | None,
        typer.Option(metavar="openspiel", help="Another program to measure in the same run."),
    ] = None


def benchmark(
    games: Annotated[
        list[str] | None,
        typer.Argument(metavar="GAME", help="Games to measure; all of them if none is named."),
    ] = None,
    *,
    asked: Measurement,
    output: OutputOptions,
) -> None:
    """Measure random playouts and UCT simulations per second of each game on one core."""
    import games as rules
    from cluster.lab.throughput.benchmark import benchmark as benchmark_games
    from cluster.lab.throughput.benchmark_report import print_rates
    from cluster.system.terminal import print_json, stdout_console

    wanted = [rules.load(name) for name in games or rules.names()]
    sizes = asked.simulations or [DEFAULT_SIMULATIONS]
    cuts = asked.cut or []
    _check(asked.seconds, asked.repeats, sizes, cuts, asked.seed)
    rival = _rival(asked.against)

    benches = benchmark_games(
        wanted,
        simulations=sizes,
        seconds=asked.seconds,
        repeats=asked.repeats,
        seed=asked.seed,
        cuts=cuts,
        rival=rival,
        report=report if output.progress else lambda line: None,
    )
    rows = [row for bench in benches for row in bench.rows(rival)]
    if output.json_output:
        print_json(rows)
        return
    console = stdout_console(colour_wanted(output.no_color))
    print_rates(console, rows, rival, asked.seconds, asked.repeats, asked.seed)


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
    from cluster.lab.throughput.openspiel import OpenSpiel

    return OpenSpiel()
