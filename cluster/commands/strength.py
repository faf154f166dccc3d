"""`banyan strength` and `banyan experiment`: playing strength with parallel lanes, and published tables."""

# ruff: noqa: B008
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cluster.commands.options import (
    BUDGET,
    OUTPUT,
    FormatOption,
    GameArgument,
    GamePlace,
    option,
    read_counts,
    read_format,
    request_option,
    suggest_best,
    timeout_option,
)
from cluster.system.terminal import Output

GAMES = "Games"
EXACT = "Exact judge"
DEFAULT_SIMULATIONS = 200
DEFAULT_PAIRS = 100
DEFAULT_POSITIONS = 2000


def strength(
    game: GameArgument,
    *,
    lanes: str = option("2,4,8,16", "N,N,...", "Numbers of lanes to measure."),
    strategies: str = option(
        "root,tree,leaf",
        "S,S,...",
        "Strategies to measure: root, tree and leaf, each optionally with options of the "
        "player uct: tree,tree:rounds=8,root.",
    ),
    options: str = option("", "K=V,...", "Options of the player uct for all searches, such as c=0.5."),
    preset: str | None = option(
        None,
        "best|plain|...",
        "Settings of all searches, but for strategy and lanes, where --options has none: best, what "
        "won most matches of the game; plain (the default), UCT with random playouts; or the constants "
        "of a source document.",
    ),
    simulations: str | None = option(
        None,
        "N,N,...",
        f"Simulations per move for each lane ({DEFAULT_SIMULATIONS}); several numbers with --judge "
        "exact: a map of lanes and budgets.",
        BUDGET,
    ),
    total: int | None = option(None, "N", "Instead, simulations per move for all lanes together.", BUDGET),
    judge: str = option(
        "games",
        "games|exact",
        "games: matches between the searches. exact: the exact values of the moves they choose in "
        "given positions of games that can be solved; quicker for the same interval.",
        EXACT,
    ),
    positions: int | None = option(
        None, "N", f"Positions in which every search chooses a move (default: {DEFAULT_POSITIONS:,}).", EXACT
    ),
    hard: int | None = option(
        None,
        "N",
        "Take only positions in which a sequential search with N simulations loses something in one "
        "of two tries: narrower intervals where most positions are easy.",
        EXACT,
    ),
    tries: int | None = option(
        None,
        "N",
        "Moves that every search chooses in each position, with different seeds (default: 1): "
        "narrower intervals without more positions, which take long to find.",
        EXACT,
    ),
    scores_only: bool = option(
        False,
        None,
        "Measure only scores at equal totals, which is quicker, and no speedups.",
        GAMES,
    ),
    pairs: int | None = option(None, "N", f"Pairs of games in each match (default: {DEFAULT_PAIRS}).", GAMES),
    total_pairs: int | None = option(
        None,
        "N",
        "Pairs of games in each match at equal totals (default: as --pairs); these matches "
        "determine the speedup most.",
        GAMES,
    ),
    opening_plies: int | None = option(
        None, "N", "Random moves that begin each pair of games (default: the game's number).", GAMES
    ),
    seed: int = request_option(0, "seed", panel=GAMES),
    out: Path | None = option(
        None,
        "DIR",
        "Write strength.json, .csv, a figure and every game or move there; a measurement that is "
        "started again makes only what is missing.",
        OUTPUT,
    ),
    picture: FormatOption = None,
    place: GamePlace,
    output: Output,
) -> int:
    """Measure parallel searches beside the sequential one: strength speedup, and loss at equal totals.

    The strength speedup is the budget of an equally strong sequential search, divided by the budget of one
    lane (Chaslot et al. 2008). Its interval is 95 %.
    """
    from cluster.lab.strength.launch import run_strength
    from cluster.lab.strength.request import StrengthRequest

    budgets: list[int] = []
    if simulations is not None:
        budgets = read_counts(simulations, "simulations", "1000 or 100,1000,10000")
    elif total is None:
        budgets = [DEFAULT_SIMULATIONS]
    request = StrengthRequest(
        game,
        strategies,
        tuple(read_counts(lanes, "lanes", "1,4,16")),
        tuple(sorted(set(budgets))),
        total,
        _options(game, options, preset),
        seed=seed,
        judge=judge,
        pairs=pairs,
        total_pairs=total_pairs,
        opening_plies=opening_plies,
        scores_only=scores_only,
        positions=positions,
        hard=hard,
        tries=tries,
    )
    drawn = read_format(picture, out)
    status = run_strength(request, place.placement(), output, out, drawn)
    if status == 0:
        suggest_best(game, preset, output.json)
    return status


def _options(game: str, options: str, preset: str | None) -> str:
    """The options of all searches: the given ones, and those of the preset that are not among them.

    Raises InvalidInput (fields ``preset``, ``options``).
    """
    if preset is None:
        return options
    import games
    from cluster.lab.strength.request import read_options
    from search.players.presets import player_options_of

    merged = {**player_options_of(preset, games.load(game)), **read_options(options)}
    return ",".join(f"{key}={value}" for key, value in merged.items())


@dataclass(frozen=True)
class TablePlace(GamePlace):
    """Where the games of tables are played."""

    job_timeout: float | None = timeout_option("a game", "the game is played", 14400)


def experiment(
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TABLE]...",
            help="A table such as 002/11, a source such as 002, or all; without any, tables are listed.",
            show_default=False,
        ),
    ] = None,
    scale: str = option(
        "quick",
        "quick|full|smoke",
        "How many games are played: what decides most rows, an hour and a half of two cores for all "
        "sources (quick), as many as in the sources, days (full), or a few (smoke).",
    ),
    seed: int = request_option(0, "seed"),
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "--output",
            metavar="DIR",
            help="Write every game there; an experiment that is started again plays only the missing games "
            "(out/experiments).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    report: list[Path] | None = option(
        None,
        "FILE.md|.html",
        "Write a report with pictures (of Markdown, pictures/FILE-*.svg beside it); may be given twice.",
        OUTPUT,
    ),
    *,
    place: TablePlace,
    output: Output,
) -> int:
    """Repeat published tables of results: the source's figures, ours, a verdict on each row and each source.

    Without a table, the tables are listed: how much of each is done, and the CPU time that is left.

    The verdict "differs": p is below 0.05, after Holm's correction for all rows of the source.

    "agrees": the 95 % interval of the difference stays within 20 points, or a fifth of the figure.

    "not excluded": the games of the source itself are too few to show more.

    "open": more games of ours will decide.
    """
    from cluster.lab.sources.launch import chosen, print_list, run_experiments
    from cluster.lab.sources.units import DEFAULT_OUT

    folder = DEFAULT_OUT if out is None else out
    if not tables:
        print_list(folder, seed, output)
        return 0
    return run_experiments(chosen(tables), scale, seed, place.placement(), output, folder, report or [])
