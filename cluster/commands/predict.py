"""`banyan predict`: simulates a search on any number of workers, with costs measured on this machine."""

# ruff: noqa: B008, RUF009
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cluster.commands.options import (
    OUTPUT,
    POSITIVE,
    FormatOption,
    GameArgument,
    ResultOptions,
    option,
    read_counts,
    read_format,
    read_strategies,
    report,
    request_option,
)
from search.request import SearchRequest

if TYPE_CHECKING:
    from cluster.lab.predict.launch import Prediction

COSTS = "Costs"
OF_REQUEST = ("simulations", "rounds", "batch", "playouts_per_leaf", "seed")


@dataclass(frozen=True)
class PredictedSearches:
    """The searches to predict."""

    workers: str = option(
        "auto",
        "N,N,...|auto",
        "Numbers of workers to predict; auto: 1, 2, 4, 8, ... to 1024.",
    )
    strategies: str = option("root,tree", "S,S,...", "Strategies to predict: root, tree, leaf.")
    cores: int | None = option(
        None,
        "N",
        "Cores of each machine, whose workers are one process.",
        show_default="those of this machine",
        accepts={"bounds": (1, 1024)},
    )
    lanes: int | None = request_option(None, "lanes", panel="", show_default="the largest number of workers")
    simulations: int | None = request_option(
        None,
        "simulations",
        help="Simulations of the search.",
        show_default="those of 32 jobs of the usual length for each lane",
    )
    rounds: int | None = request_option(None, "rounds", panel="")
    batch: int | None = request_option(None, "batch", panel="")
    playouts_per_leaf: int | None = request_option(None, "playouts_per_leaf", panel="")
    seed: int = request_option(0, "seed")


@dataclass(frozen=True)
class CostOptions:
    """The source of the costs."""

    costs: Path | None = option(
        None, "FILE", "Take the costs from a file that --save-costs wrote, and measure none.", COSTS
    )
    save_costs: Path | None = option(None, "FILE", "Write the measured costs to a file.", COSTS)
    link: float | None = option(
        None,
        "GBIT",
        "Network bandwidth of a machine in Gbit/s, over which workers get snapshots (default: that "
        "of the costs, or 10).",
        COSTS,
        accepts={"bounds": POSITIVE, "accepted": "gigabits a second, more than 0"},
    )


def predict(
    game: GameArgument,
    searches: PredictedSearches,
    costs: CostOptions,
    out: Path | None = option(None, "DIR", "Write predict.json, .csv and a figure there.", OUTPUT),
    picture: FormatOption = None,
    *,
    output: ResultOptions,
) -> None:
    """Simulate throughput and efficiency on 1 to 1,024 workers, with costs measured on this machine.

    The real coordinator and strategies run under a virtual clock; nothing is searched. The output also
    says from how many workers on the coordinator is the bottleneck.
    """
    from cluster.lab.predict.launch import PredictionPlan, run_prediction, write_prediction
    from games.errors import counted, in_words

    names = read_strategies(searches.strategies)
    drawn = read_format(picture, out)
    is_auto = searches.workers == "auto"
    counts = [2**power for power in range(11)] if is_auto else read_counts(searches.workers, "workers")
    request = SearchRequest(
        game=game,
        lanes=searches.lanes or max(counts),
        **{name: getattr(searches, name) for name in OF_REQUEST},
    )
    plan = PredictionPlan(
        request=request,
        strategies=names,
        workers=counts,
        costs_file=costs.costs,
        save_costs=costs.save_costs,
        cores=searches.cores,
        link_bytes_per_s=None if costs.link is None else costs.link * 1e9 / 8,
    )
    searches_run = counted(len(names) * len(counts), "search", "searches")
    report(f"{in_words(names)} on {in_words(counts)} workers: {searches_run} simulated, which takes minutes")
    found = run_prediction(plan, report)
    try:
        _show(found, output)
    finally:
        # Also when the reader of the table, such as `head`, has seen enough.
        if out is not None:
            for path in write_prediction(found, out, drawn):
                report(f"wrote {path}")


def _show(found: Prediction, output: ResultOptions) -> None:
    """Print the prediction on standard output."""
    from cluster.lab.predict.launch import sentences, tables

    if output.json and found.warning:
        report(f"warning: {found.warning}")
    doubts = [f"Warning: {found.warning}"] if found.warning else []
    output.show(found.to_json(), *tables(found), *sentences(found), *doubts)
