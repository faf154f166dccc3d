"""`banyan warm`: compiles the kernels of games before somebody waits for them."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from cluster.commands.options import (
    option,
    read_strategies,
    report,
)
from cluster.system.terminal import Output
from search.options import option_of
from search.request import STRATEGIES

SEARCH_S = 0.05


def warm(
    wanted: Annotated[
        list[str] | None, typer.Argument(metavar="GAME", help="Games, with their options, or files.")
    ] = None,
    everything: bool = option(False, None, "Compile all built-in games.", cli="all"),
    strategies: str = option(",".join(STRATEGIES), "NAME,...", "The strategies to compile for."),
    progress: bool = option_of(Output, "progress", True),
    no_color: bool = option_of(Output, "no_color", False),
) -> None:
    """Compile the kernels of games ahead, for searches by default and for `banyan play`, on all cores."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed

    from rich.progress import Progress

    import games
    from cluster.system.processes import num_cores
    from cluster.system.terminal import duration, stderr_console
    from games.catalogue import built_in
    from games.compile.watch import keeping_notes
    from games.errors import InvalidInput

    names = read_strategies(strategies)
    if everything == bool(wanted):
        raise InvalidInput("game", " ".join(wanted or []), "either games or --all")
    specs, console = wanted or built_in(), stderr_console(False if no_color else None)
    for spec in specs:
        games.load(spec)
    with (
        keeping_notes(progress),
        # Processes, because Numba compiles in one thread at a time.
        ProcessPoolExecutor(
            min(num_cores(), len(specs)), mp_context=multiprocessing.get_context("spawn")
        ) as pool,
        Progress(console=console, disable=not (progress and console.is_terminal)) as bar,
    ):
        doing = bar.add_task("compiling", total=len(specs))
        compiled = {pool.submit(compile_for_search, spec, names): spec for spec in specs}
        for each in as_completed(compiled):
            seconds = each.result()
            bar.advance(doing)
            if progress:
                took = ", ".join(f"{name} {duration(s)}" for name, s in seconds.items())
                report(f"{compiled[each]}: {took}")


def compile_for_search(spec: str, strategies: list[str]) -> dict[str, float]:
    """Search a moment with each strategy of the game, and with its strongest player; returns the seconds."""
    import games
    import search
    from cluster.play.play import Play
    from search.players import player_of
    from search.players.presets import STRONGEST, opponent_of
    from search.request import SearchRequest

    seconds = {}
    for strategy in strategies:
        began = time.perf_counter()
        search.run(SearchRequest(spec, strategy=strategy, lanes=4, seconds=SEARCH_S))
        seconds[strategy] = time.perf_counter() - began
    began, game = time.perf_counter(), games.load(spec)
    Play(game, player_of(opponent_of(STRONGEST, game, SEARCH_S), game), (), seed=0).warm_up()
    return seconds | {"play": time.perf_counter() - began}
