"""`banyan check` and `banyan warm`: a game before it is used: its contract, its speed, its kernels."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cluster.commands.options import (
    AT_LEAST_1,
    ResultOptions,
    option,
    read_strategies,
    report,
)
from cluster.system.terminal import (
    Output,
    count,
    duration,
    has_colour,
    print_json,
    rate,
    stderr_console,
    stdout_console,
    write,
)
from search.options import is_class, option_of
from search.request import STRATEGIES, SearchRequest

if TYPE_CHECKING:
    from games.game import Game

SAME = "the same digest on 1, 2 and 5 workers, in any order, with lost jobs, and resumed"
PERFT_NODES = 300_000
"""Perft ends at the first depth with more sequences than this."""
PERFT_DEPTH = 8
SIMULATIONS = 2_000
SEARCH_S = 0.05
"""The time of each search that compiles kernels ahead."""


def check(
    game: Annotated[
        str,
        typer.Argument(
            metavar="GAME",
            help="A game, such as gomoku or gomoku:size=15, or a file: ./mygame.py. Or a strategy, a class "
            "in a file: ./mine.py:Mine.",
        ),
    ],
    games: int = option(20, "N", "Random games to look at.", accepts=AT_LEAST_1),
    seed: int = option(0, "N", "Seed of all random numbers."),
    *,
    output: ResultOptions,
) -> int:
    """Check that a game meets the contract: random games, perft, a playthrough, its speed; or that a strategy
    gives the same answer on any workers.

    The exit status is 2 if the game breaks the contract, or the strategy the law.
    """
    if is_class(game):
        from search import law

        broken = law.check(game)
        told = [] if broken is None else [{"rule": broken.rule, "text": broken.text}]
        lines = SAME if broken is None else f"1 thing to mend:\n  {broken}"
        output.show({"strategy": game, "findings": told}, lines)
        return 0 if broken is None else 2
    import games as rules
    from games.compile.specialise import is_compiled
    from games.contract.checking import check as look
    from games.errors import counted

    loaded = rules.load(game, tried=False)
    if not output.json:
        kind = "compiled" if is_compiled(loaded.rules) else "plain Python"
        limits = f"{counted(loaded.max_moves, 'move')} and {counted(loaded.max_plies, 'ply', 'plies')}"
        write(f"{loaded.spec}: {kind}, at most {limits}\n")
    found = look(loaded, games, seed)
    told = [] if found is None else [{"rule": found.rule, "text": found.text, "after": found.after}]
    answer: dict[str, Any] = {"game": loaded.spec, "findings": told}
    if not output.json:
        right = f"contract  {counted(games, 'random game')}: all that must hold does\n"
        write(right if found is None else f"1 thing to mend:\n  {found}")
    if found is None:
        answer |= _shown(loaded, seed, output)
    if output.json:
        print_json(answer)
    return 0 if found is None else 2


def _shown(game: Game, seed: int, output: ResultOptions) -> dict[str, Any]:
    """Perft, a playthrough, and the speed; printed unless the output is JSON."""
    from cluster.lab.throughput.benchmark import sequential_rate
    from games.board import draw

    counts = _perft(game, seed)
    texts, state, last = _playthrough(game, seed)
    speed = sequential_rate(game, SIMULATIONS)
    if not output.json:
        outcome = float(game.calls.returns(state))
        ended = f"{game.outcome_text(state)} (the first player's return is {outcome:g})"
        lines = [
            "perft     depth  sequences",
            *(f"          {depth:>5}  {count(nodes)}" for depth, nodes in enumerate(counts, start=1)),
            f"\na random game, {ended}; length {len(texts)}:",
            f"  {' '.join(texts)}\n",
            draw(game.board(state, last), colour=has_colour(stdout_console(output.colour))),
            f"\nspeed     {rate(speed)} simulations on one core ({count(SIMULATIONS)} from the start)",
        ]
        write("\n".join(lines))
    return {"perft": counts, "moves": texts, "simulations_per_s": round(speed, 1)}


def _perft(game: Game, seed: int) -> list[int]:
    from games.analysis.perft import perft
    from games.contract.findings import deal

    counts: list[int] = []
    started = time.monotonic()
    while len(counts) < PERFT_DEPTH and time.monotonic() - started < 2.0:
        counts.append(perft(game, deal(game, seed), len(counts) + 1))
        if counts[-1] > PERFT_NODES or counts[-1] == 0:
            break
    return counts


def _playthrough(game: Game, seed: int) -> tuple[list[str], Any, int | None]:
    """A random game: its moves as text, the last position, the last move."""
    import random

    from games.contract.findings import deal

    draw_from, state, texts, last = random.Random(seed), deal(game, seed), [], None
    while moves := game.legal_moves(state):
        last = draw_from.choice(moves)
        texts.append(game.format_move(state, last))
        game.calls.play(state, last)
    return texts, state, last


def warm(
    wanted: Annotated[
        list[str] | None, typer.Argument(metavar="GAME", help="Games, with their options, or files.")
    ] = None,
    everything: bool = option(False, None, "Compile all built-in games.", cli="all"),
    strategies: str = option(",".join(STRATEGIES), "NAME,...", "The strategies to compile for."),
    progress: bool = option_of(Output, "progress", True),
    no_color: bool = option_of(Output, "no_color", False),
) -> None:
    """Compile the kernels of games ahead, for searches by default, `banyan play` and `banyan engine`, on all
    cores."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed

    from rich.progress import Progress

    import games
    from cluster.system.processes import num_cores
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
    """Search a moment with each strategy of the game, with its best settings, and with its strongest player;
    returns the seconds."""
    import games
    import search
    from cluster.play.play import Play
    from search.players import player_of
    from search.players.presets import STRONGEST, opponent_of, with_preset

    seconds, request = {}, SearchRequest(spec, lanes=4, seconds=SEARCH_S)
    for strategy in strategies:
        began = time.perf_counter()
        search.run(replace(request, strategy=strategy))
        seconds[strategy] = time.perf_counter() - began
    began, game = time.perf_counter(), games.load(spec)
    search.run(with_preset(request, STRONGEST, game))
    opponent = opponent_of(STRONGEST, game, SEARCH_S, whole_game=True)
    Play(game, player_of(opponent, game), (), seed=0).warm_up()
    return seconds | {"play": time.perf_counter() - began}
