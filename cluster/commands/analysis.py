"""`banyan engine` and `banyan analyze`: many positions, for programs and for people."""

# ruff: noqa: B008
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cluster.commands.options import OUTPUT, GamePlace, option, timeout_option
from cluster.system.terminal import Output
from search.options import option_of
from search.request import SearchRequest

DEFAULT_SIMULATIONS = 1_000
PROTOCOLS = ("analysis",)


@dataclass(frozen=True)
class PositionSearch(SearchRequest):
    """The options of the search of each position, where its query does not say otherwise."""

    simulations: int | None = option_of(
        SearchRequest,
        "simulations",
        None,
        help="Budget of each position: exactly N simulations.",
        unset=f"{DEFAULT_SIMULATIONS}, if no other budget is given",
    )
    seconds: float | None = option_of(
        SearchRequest,
        "seconds",
        None,
        help="Budget of each position: the time of its search in seconds.",
        unset="",
    )

    @classmethod
    def default_budget(cls) -> dict[str, float]:
        """The budget of a position, if none is given."""
        return {"simulations": DEFAULT_SIMULATIONS}


@dataclass(frozen=True)
class AnalysisPlace(GamePlace):
    """Where positions are searched."""

    job_timeout: float | None = timeout_option("a position", "the position is searched", 3600)


def engine(
    request: PositionSearch,
    place: AnalysisPlace,
    output: Output,
    protocol: str = option(
        "analysis", None, "The language of its input and output.", accepts={"choices": PROTOCOLS}
    ),
    wait: bool = option(True, None, "At the end of the input, still search what waits."),
) -> int:
    """Answer other programs: queries on standard input, one answer for each position on standard output.

    Protocol analysis: lines of JSON in the manner of KataGo's analysis engine (cluster/analysis/README.md).
    """
    from cluster.analysis.launch import run_engine

    return run_engine(request, place.placement(), output, waits=wait)


def analyze(
    request: PositionSearch,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Lines of queries in JSON, or of moves from the start."),
    ],
    place: AnalysisPlace,
    output: Output,
    out: Path | None = option(
        None,
        "FILE.jsonl|.csv",
        "Write the answers there, in the order of the positions; after an interruption the same command goes "
        "on.",
        OUTPUT,
    ),
) -> int:
    """Analyse many positions side by side: the moves, values and lines of each.

    The answers do not depend on the number of workers, unless the budget is in seconds.
    """
    from cluster.analysis.launch import run_analysis

    return run_analysis(file, request, place.placement(), output, out)
