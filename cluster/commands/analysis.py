"""`banyan engine` and `banyan analyze`: many positions, for programs and for people."""

# ruff: noqa: B008
from __future__ import annotations

import gc
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from cluster.commands.options import OUTPUT, PLACE, GamePlace, PresetOption, option, timeout_option
from cluster.commands.search import request_with_preset
from cluster.system.terminal import Output
from search.options import option_of, refuse
from search.request import SearchRequest

DEFAULT_SIMULATIONS = 1_000
GOMOKU = "gomoku"
ANALYSIS, GOMOCUP, UGI = PROTOCOLS = ("analysis", "gomocup", "ugi")


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

    executor: str = option(
        "auto",
        "auto|ray|inline",
        "Run on workers of Ray (ray), or in one thread of this process (inline). auto: begin in this "
        "process, and move to workers of Ray if more than about 8 s of work wait; with --address it means "
        "ray.",
        PLACE,
    )
    job_timeout: float | None = timeout_option("a position", "the position is searched", 3600)


@dataclass(frozen=True)
class EngineSearch(PositionSearch):
    """The options of the searches of `banyan engine`."""

    game: str = ""
    simulations: int | None = option_of(
        PositionSearch, "simulations", None, unset=f"analysis: {DEFAULT_SIMULATIONS}, if no budget is given"
    )
    seconds: float | None = option_of(
        PositionSearch, "seconds", None, unset="gomocup, ugi: 1, if the other program gives no time either"
    )

    @classmethod
    def default_budget(cls) -> dict[str, float]:
        """None: it depends on the protocol."""
        return {}


@dataclass(frozen=True)
class EnginePlace(AnalysisPlace):
    """Where the searches of `banyan engine` run."""

    executor: str = option(
        "auto",
        "auto|ray|threads|inline",
        "In one thread of this process (inline), or on workers of Ray (ray, and auto with --address). auto: "
        "gomocup and ugi in threads of this process; analysis begins in this process, and moves to workers "
        "of Ray if more than about 8 s of work wait.",
        PLACE,
    )


def engine(
    request: EngineSearch,
    place: EnginePlace,
    output: Output,
    protocol: str = option(
        ANALYSIS,
        None,
        "What it speaks: queries in JSON, answered with moves and values (analysis); games of gomoku, as "
        "Piskvork and other managers of Gomocup play them (gomocup); games of two players, by the Universal "
        "Game Interface, a UCI for all games (ugi).",
        accepts={"choices": PROTOCOLS},
    ),
    preset: PresetOption = None,
    wait: bool = option(True, None, "At the end of the input, still search what waits."),
    ponder: bool = option(
        False, None, "gomocup, ugi: search on while the other program thinks, for up to 60 s."
    ),
) -> int:
    """Answer other programs, which write to standard input and read standard output.

    Protocol analysis: lines of JSON in the manner of KataGo's analysis engine. gomocup and ugi: the other
    program has the game played, by its clock, with the preset best if none is named.
    cluster/analysis describes them.
    """
    if not request.game and protocol != GOMOCUP:
        refuse("game", "", f"the name of a game: with protocol {protocol} there is none by default")
    request = replace(request, game=request.game or GOMOKU)
    if protocol != ANALYSIS:
        # What is loaded leaves no garbage, and looking for it is a seventh of the start. Each move looks too.
        gc.disable()
        try:
            from cluster.analysis.launch import run_protocol

            return run_protocol(
                protocol, request, preset, place.placement(), output, waits=wait, ponder=ponder
            )
        finally:
            gc.enable()
    if ponder:
        refuse("ponder", True, f"only with {GOMOCUP} and {UGI}: protocol {ANALYSIS} has no opponent")
    from cluster.analysis.launch import run_engine

    wanted = request_with_preset(request, preset, output)
    if wanted.simulations is wanted.seconds is None and not wanted.stop_when_full:
        wanted = replace(wanted, simulations=DEFAULT_SIMULATIONS)
    return run_engine(wanted, place.placement(), output, waits=wait)


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
