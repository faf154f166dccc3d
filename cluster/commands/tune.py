"""`banyan tune`: which workers, lanes and strategy make a search by the clock strongest here."""

# ruff: noqa: B008
from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from cluster.commands.options import (
    OUTPUT,
    PLACE,
    POSITIVE,
    AddressOption,
    FormatOption,
    GameArgument,
    ResultOptions,
    option,
    read_format,
    report,
    request_option,
)
from cluster.commands.speedup import measured_counts
from search.request import SearchRequest


@dataclass(frozen=True)
class Tried:
    """What is tried."""

    workers: str = option(
        "auto",
        "N,N,...|auto",
        "Numbers of workers to try beside one; auto: 2, 4, 8, ... to all CPUs, those of the cluster with "
        "--address.",
    )
    seconds: float = option(
        30.0,
        "S",
        "Time of the whole measurement; longer if it is too short for a search with each setting.",
        show_default=True,
        accepts={"bounds": POSITIVE, "accepted": "seconds, more than 0"},
    )
    search_seconds: float = option(
        1.0,
        "S",
        "Length of each search: the time of a move that options are chosen for.",
        show_default=True,
        accepts={"bounds": (0.1, 3600.0), "accepted": "seconds, from 0.1 to 3600"},
    )
    memory: int = request_option(4096, "memory_mb", show_default=True)
    seed: int = request_option(0, "seed")
    preset: str | None = option(
        None,
        "best|plain|...",
        "Settings of the searches, but for strategy and lanes, as for banyan search.",
    )
    executor: str = option(
        "auto",
        "auto|ray|threads",
        "Workers are processes of Ray, or threads of this process; auto: threads, if the rules are compiled "
        "and there is no --address.",
        PLACE,
        accepts={"choices": ("auto", "ray", "threads")},
    )
    address: AddressOption = None


def tune(
    game: GameArgument,
    tried: Tried,
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

    counts = sorted({1, *measured_counts(tried.workers, tried.address)})
    drawn = read_format(picture, out)
    request = _request(game, tried)
    executor = tried.executor
    if executor == "auto":
        threads = tried.address is None and runs_in_threads(open_search(request).context)
        executor = "threads" if threads else "ray"
    report(f"starting {counted(max(counts), 'worker')}")
    runner = OwnWorkers(max(counts), executor, tried.address)
    found = measure(request, counts, runner, tried.seconds, report)
    try:
        doubts = [f"Warning: {found.warning}"] if found.warning else []
        output.show(found.to_json(), table(found), *doubts, found.advice())
    finally:
        # Also when the reader of the table, such as `head`, has seen enough.
        if out is not None:
            for path in write(found, out, drawn):
                report(f"wrote {path}")


def _request(game: str, tried: Tried) -> SearchRequest:
    """The search that is tried, checked with each strategy. Raises InvalidInput."""
    import games
    from search.players.presets import measured_settings_of
    from search.prepare import check_request

    loaded = games.load(game)
    request = SearchRequest(
        game=loaded.spec,
        seconds=tried.search_seconds,
        lanes=1,
        seed=tried.seed,
        memory_mb=tried.memory,
    )
    if tried.preset is not None:
        request = replace(request, **measured_settings_of(tried.preset, loaded))
    for strategy in ("tree", "leaf"):
        check_request(replace(request, strategy=strategy, lanes=2))
    return request
