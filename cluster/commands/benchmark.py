"""`banyan benchmark`: the speed of one core, or of an evaluator by batch size."""

# ruff: noqa: RUF009
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import typer

from cluster.commands.options import OutputOptions, option, read_counts, report
from search.options import NETWORK, refuse
from search.request import MAX_BATCH

DEFAULT_SIMULATIONS = 10_000
MAX_SIMULATIONS = 100_000_000
DEFAULT_BATCHES = "1,8,64,512"


@dataclass(frozen=True)
class BenchmarkOptions:
    """What is measured of each game."""

    seconds: float = option(
        1.0,
        "S",
        "Seconds of each measurement.",
        accepts={"bounds": (math.ulp(0.0), 3600), "accepted": "a number above 0, at most 3600"},
    )
    repeats: int = option(
        5, "N", "How often everything is repeated; repeats are interleaved.", accepts={"bounds": (1, 1000)}
    )
    simulations: list[int] | None = option(
        None, "N", "Simulations of each search (10000); may be repeated, for several rows."
    )
    cut: list[int] | None = option(
        None, "N", "Also measure playouts that are cut after N plies; may be repeated."
    )
    # As large as OpenSpiel takes it.
    seed: int = option(0, "N", "Seed of all random numbers.", accepts={"bounds": (0, 2**31 - 1)})
    against: str | None = option(
        None, "openspiel", "Another program to measure in the same run.", accepts={"choices": ("openspiel",)}
    )


@dataclass(frozen=True)
class Evaluation:
    """Which evaluators are measured, if any are."""

    evaluator: list[str] | None = option(
        None,
        "FILE.py",
        "Measure this evaluator instead, by batch size: leaves/s of whole jobs, and positions/s of "
        "its evaluate alone; ./net.py:key=value sets its options. May be repeated.",
        NETWORK,
    )
    batches: str | None = option(None, "N,N,...", f"Leaves in a job ({DEFAULT_BATCHES}).", NETWORK)


def benchmark(
    games: Annotated[
        list[str] | None,
        typer.Argument(metavar="GAME", help="Games to measure; all of them if none is named."),
    ] = None,
    *,
    measurement: BenchmarkOptions,
    evaluation: Evaluation,
    output: OutputOptions,
) -> None:
    """Measure random playouts and UCT simulations per second of each game on one core.

    With --evaluator, measure the leaves per second of a network by batch size, in this process and on the
    device that the evaluator uses. The leaves are different positions of random games.
    """
    import games as rules
    from cluster.lab.throughput.benchmark import OpenSpiel, print_rates
    from cluster.lab.throughput.benchmark import benchmark as benchmark_games
    from cluster.system.terminal import print_json, stdout_console

    if evaluation.evaluator or evaluation.batches is not None:
        _measure_evaluators(games or [], measurement, evaluation, output)
        return
    wanted = [rules.load(name) for name in games or rules.names()]
    _check(measurement)
    rival = OpenSpiel() if measurement.against else None
    benches = benchmark_games(
        wanted,
        simulations=measurement.simulations or [DEFAULT_SIMULATIONS],
        seconds=measurement.seconds,
        repeats=measurement.repeats,
        seed=measurement.seed,
        cuts=measurement.cut or [],
        rival=rival,
        report=report if output.progress else lambda line: None,
    )
    rows = [row for bench in benches for row in bench.rows()]
    if output.json:
        print_json(rows)
        return
    console = stdout_console(output.colour)
    print_rates(console, rows, rival, measurement.seconds, measurement.repeats, measurement.seed)


def _measure_evaluators(
    games: list[str], measurement: BenchmarkOptions, evaluation: Evaluation, output: OutputOptions
) -> None:
    if not evaluation.evaluator:
        refuse("batches", evaluation.batches, "nothing without --evaluator")
    if not games:
        refuse("game", None, "a game that the evaluator knows")
    for name in ("simulations", "cut", "against"):
        if given := getattr(measurement, name):
            refuse(name, given, "nothing with --evaluator")
    batches = read_counts(
        DEFAULT_BATCHES if evaluation.batches is None else evaluation.batches, "batches", DEFAULT_BATCHES
    )
    if max(batches) > MAX_BATCH:
        refuse("batches", max(batches), f"whole numbers from 1 to {MAX_BATCH}")
    _check(measurement)
    from cluster.lab.throughput.evaluations import benchmark_evaluators
    from cluster.report.machine import machine

    measured = benchmark_evaluators(
        games,
        evaluation.evaluator,
        batches=batches,
        seconds=measurement.seconds,
        repeats=measurement.repeats,
        seed=measurement.seed,
        report=report if output.progress else lambda line: None,
    )
    each = f"{measurement.repeats}, interleaved, {measurement.seconds:g} s each"
    output.show(
        [row for bench in measured for row in bench.rows()],
        *(bench.table() for bench in measured),
        f"median, lowest and highest of repeats ({each}); "
        f"different positions of random games, seed {measurement.seed}; {machine()}",
    )


def _check(measurement: BenchmarkOptions) -> None:
    for name, values, least, most in (
        ("simulations", measurement.simulations or [], 1, MAX_SIMULATIONS),
        ("cut", measurement.cut or [], 0, MAX_SIMULATIONS),
    ):
        for value in values:
            if not least <= value <= most:
                refuse(name, value, f"a whole number from {least} to {most}")
