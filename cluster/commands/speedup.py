"""`banyan speedup`: throughput by number of workers, beside the ceiling of the machine; `banyan tune`: which
workers, lanes and strategy are worth most."""

# ruff: noqa: B008
from __future__ import annotations

import signal
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cluster.commands.options import (
    AT_LEAST_1,
    OUTPUT,
    PLACE,
    POSITIVE,
    AddressOption,
    FormatOption,
    GameArgument,
    MetricsHostOption,
    MetricsPortOption,
    ResultOptions,
    option,
    read_counts,
    read_format,
    read_strategies,
    report,
    request_option,
    suggest_best,
)
from search.request import SearchRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cluster.lab.throughput.speedup import SpeedupRow
    from cluster.runtime.session import Session


@dataclass(frozen=True)
class SpeedupOptions:
    """What is measured."""

    workers: str = option(
        "auto",
        "N,N,...|auto",
        "Numbers of workers to measure; auto: 1, 2, 4, 8, ... to all CPUs, those of the cluster with "
        "--address.",
    )
    strategies: str = option(
        "root,tree", "S,S,...", "Strategies to measure: root, tree, leaf, ./mine.py:Mine."
    )
    seconds: float | None = option(
        None,
        "S",
        "Time of the whole measurement; longer if searches would be too short to be measured.",
        show_default="120",
        accepts={"bounds": POSITIVE, "accepted": "seconds, more than 0"},
    )
    simulations: int | None = request_option(
        None,
        "simulations",
        help="Simulations of each run, the same number for all numbers of workers.",
        show_default="as many as fit into the time",
    )
    repeats: int | None = option(
        None,
        "N",
        "How often each run is repeated; repeats are interleaved.",
        show_default="as often as the time allows, at least once",
        accepts=AT_LEAST_1,
    )
    lanes: int | None = request_option(None, "lanes", panel="", show_default="16, or 4 for each worker")
    batch: int | None = request_option(None, "batch", panel="")
    playouts_per_leaf: int | None = request_option(None, "playouts_per_leaf", panel="")
    memory: int = request_option(4096, "memory_mb", show_default=True)
    seed: int = request_option(0, "seed")
    preset: str | None = option(
        None,
        "best|plain|...",
        "Settings of the searches, but for strategy and lanes: best, what won most matches of the "
        "game; plain (the default), UCT with random playouts; or the constants of a source document.",
    )
    executor: str = option(
        "ray",
        "ray|threads",
        "Workers are processes of Ray, or threads of this process.",
        PLACE,
        accepts={"choices": ("ray", "threads")},
    )
    address: AddressOption = None


def speedup(
    game: GameArgument,
    measurement: SpeedupOptions,
    out: Path | None = option(None, "DIR", "Write speedup.json, .csv and a figure there.", OUTPUT),
    picture: FormatOption = None,
    *,
    output: ResultOptions,
    metrics_port: MetricsPortOption = None,
    metrics_host: MetricsHostOption = "127.0.0.1",
) -> None:
    """Run the same search on each number of workers: simulations/s, speedup, and share of the ceiling.

    The ceiling is the rate of the same number of independent processes that run the same jobs without
    communication. All numbers of workers get about the same time, so
    that runs of many workers are repeated more often. Digests must be equal: the number of workers must not
    change the answer. A line warns if other programs used the cores, or if a share of the ceiling is higher
    than possible. With --metrics-port it ends with Ctrl-C, so that the figures can be read.
    """
    from cluster.lab.throughput.speedup import SECONDS, OwnWorkers, ignore, measure_speedup
    from games.errors import counted

    counts = measured_counts(measurement.workers, measurement.address)
    names = read_strategies(measurement.strategies, files=True)
    drawn = read_format(picture, out)
    request = _request(game, measurement, names, max(counts))
    so_far: list[SpeedupRow] = []
    seconds = SECONDS if measurement.seconds is None else measurement.seconds
    with ExitStack() as stack:
        watch: Callable[[Session], None] = ignore
        if metrics_port is not None:
            from cluster.lab.throughput.speedup_report import metric_families
            from cluster.observe.metrics import MetricsServer

            metrics = MetricsServer(metrics_port, metrics_host, sources=(partial(metric_families, so_far),))
            stack.callback(metrics.close)
            report(f"metrics at {metrics.url}")
            watch = metrics.watch
        report(f"starting {counted(max(counts), 'worker')}")
        runner = OwnWorkers(max(counts), measurement.executor, measurement.address, watch)
        rows = measure_speedup(request, names, counts, runner, measurement.repeats, seconds, report, so_far)
        try:
            _show(rows, output)
        finally:
            # Also when the reader of the table, such as `head`, has seen enough.
            if out is not None:
                from cluster.lab.throughput.speedup_report import write_rows

                for path in write_rows(rows, out, drawn):
                    report(f"wrote {path}")
        suggest_best(game, measurement.preset, output.json)
        if metrics_port is not None:
            _wait(f"metrics at {metrics.url} until this is ended (Ctrl-C)")


def tune(
    game: GameArgument,
    workers: str = option(
        "auto",
        "N,N,...|auto",
        "Numbers of workers to try beside one; auto: 2, 4, 8, ... to all CPUs, here or of the cluster.",
    ),
    seconds: float = option(
        30.0,
        "S",
        "Time of the whole measurement; longer if it is too short for a search with each setting.",
        accepts={"bounds": POSITIVE, "accepted": "seconds, more than 0"},
    ),
    search_seconds: float = option(
        1.0,
        "S",
        "Length of each search: the time of a move that options are chosen for.",
        accepts={"bounds": (0.1, 3600.0), "accepted": "seconds, from 0.1 to 3600"},
    ),
    memory: int = request_option(4096, "memory_mb", show_default=True),
    seed: int = request_option(0, "seed"),
    preset: str | None = option(
        None,
        "best|plain|...",
        "Settings of the searches, but for strategy and lanes, as for banyan search.",
    ),
    executor: str = option(
        "auto",
        "auto|ray|threads",
        "Workers are processes of Ray, or threads of this process; auto: threads here, if the rules are "
        "compiled, and Ray on a cluster.",
        PLACE,
        accepts={"choices": ("auto", "ray", "threads")},
    ),
    address: AddressOption = None,
    out: Path | None = option(None, "DIR", "Write tune.json, .csv and a figure there.", OUTPUT),
    picture: FormatOption = None,
    *,
    output: ResultOptions,
) -> None:
    """Find the workers, lanes and strategy with which a search by the clock is strongest on this machine.

    It tries settings in half a minute, the better ones more often. For each it prints simulations/s
    and what they are worth: more lanes keep more cores busy, and each of their simulations is worth less.
    The last line says which options to take.
    """
    from cluster.lab.throughput.speedup import OwnWorkers
    from cluster.lab.throughput.tune import measure, table, write
    from games.errors import counted
    from search.prepare import open_search
    from search.worker import runs_in_threads

    counts = sorted({1, *measured_counts(workers, address)})
    drawn = read_format(picture, out)
    asked = SearchRequest(game=game, seconds=search_seconds, lanes=1, seed=seed, memory_mb=memory)
    request = _checked(asked, preset, ("tree", "leaf"))
    if executor == "auto":
        threads = address is None and runs_in_threads(open_search(request).context)
        executor = "threads" if threads else "ray"
    report(f"starting {counted(max(counts), 'worker')}")
    found = measure(request, counts, OwnWorkers(max(counts), executor, address), seconds, report)
    try:
        doubts = [f"Warning: {found.warning}"] if found.warning else []
        output.show(found.to_json(), table(found), *doubts, found.advice())
    finally:
        # Also when the reader of the table, such as `head`, has seen enough.
        if out is not None:
            for path in write(found, out, drawn):
                report(f"wrote {path}")


def _wait(line: str) -> None:
    """Print a line, and wait for a signal that ends commands."""
    from cluster.system.interruption import ending_signals

    with suppress(KeyboardInterrupt):
        for number in ending_signals():
            signal.signal(number, signal.default_int_handler)
        report(line)
        while True:
            time.sleep(1)


def measured_counts(workers: str, address: str | None) -> list[int]:
    """The numbers of workers to measure; ``auto``: 1, 2, 4, ... to all CPUs. Raises InvalidInput (workers,
    address)."""
    if workers != "auto":
        return read_counts(workers, "workers", "1,2,4, or auto")
    from cluster.runtime.workers import ONE_CPU
    from cluster.system.processes import num_cores, tell_of_quota
    from cluster.workers.joining import connect

    cpus = num_cores()
    if address is not None:
        cluster = connect(address, cpus)
        cpus = max(1, ONE_CPU.workers_in(cluster.latest("machines").values()))
        cluster.close()
    else:
        tell_of_quota(report)
    return [*(2**power for power in range((cpus - 1).bit_length())), cpus]


def _request(
    game: str, measurement: SpeedupOptions, strategies: Sequence[str], workers: int
) -> SearchRequest:
    """The search of each run, checked with each strategy; it has the first one. Raises InvalidInput."""
    from cluster.lab.throughput.speedup import default_lanes
    from games.errors import InvalidInput

    if None not in (measurement.seconds, measurement.simulations, measurement.repeats):
        raise InvalidInput("seconds", measurement.seconds, "nothing beside --simulations and --repeats")
    request = SearchRequest(
        game=game,
        simulations=measurement.simulations,
        lanes=default_lanes(workers) if measurement.lanes is None else measurement.lanes,
        seed=measurement.seed,
        memory_mb=measurement.memory,
        strategy=strategies[0],
        batch=measurement.batch,
        playouts_per_leaf=measurement.playouts_per_leaf,
    )
    return _checked(request, measurement.preset, strategies)


def _checked(request: SearchRequest, preset: str | None, strategies: Sequence[str]) -> SearchRequest:
    """The request with the settings of a preset, if it can be searched with each strategy. Raises
    InvalidInput."""
    import games
    from search.players.presets import measured_settings_of
    from search.prepare import check_request

    loaded = games.load(request.game)
    request = replace(request, game=loaded.spec)
    if preset is not None:
        request = replace(request, **measured_settings_of(preset, loaded))
    for strategy in strategies:
        check_request(replace(request, strategy=strategy))
    return request


def _show(rows: Sequence[SpeedupRow], output: ResultOptions) -> None:
    """Print the rows on standard output, with warnings if they are in doubt."""
    from cluster.lab.throughput.speedup import warnings
    from cluster.lab.throughput.speedup_report import rows_json, tables

    doubts = warnings(rows)
    for doubt in doubts if output.json else ():
        report(f"warning: {doubt}")
    digests = ", ".join(dict.fromkeys(f"{row.strategy} {row.digest[:12]}" for row in rows))
    output.show(
        rows_json(rows),
        *tables(rows),
        f"Digests are equal for every number of workers: {digests}",
        *(f"Warning: {doubt}" for doubt in doubts),
    )
