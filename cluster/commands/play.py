"""`banyan play`: a person against a player, in a terminal or through a pipe."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cluster.commands.options import POSITION, GameArgument, MovesOption, NoColorOption, colour_wanted

if TYPE_CHECKING:
    from cluster.play_loop import PlayLoop

INTERRUPTED = 130
DEFAULT_OPPONENT = "uct:seconds=1"
FALLBACK = "random"


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("play")(play)


def play(
    game: GameArgument,
    opponent: Annotated[
        str | None,
        typer.Option(
            metavar="PLAYER",
            help="Who plays against you: name:key=value,... (see banyan players).",
        ),
    ] = None,
    side: Annotated[str, typer.Option(metavar="first|second|both|none", help="Whom you play for.")] = "first",
    moves: MovesOption = None,
    load: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A game that was saved, or recorded by banyan match --out.",
            rich_help_panel=POSITION,
        ),
    ] = None,
    number: Annotated[
        int, typer.Option(metavar="N", help="Which game of the file.", rich_help_panel=POSITION)
    ] = 1,
    seed: Annotated[int, typer.Option(metavar="N", help="Of all that is random.")] = 0,
    no_color: NoColorOption = False,
) -> int:
    """Play a game against a player, or with somebody beside you, or watch one. Type help for commands."""
    import games
    from cluster.play import SIDES, Play
    from cluster.play_loop import PlayLoop
    from cluster.position import read_record, split_moves
    from cluster.terminal import has_colour, stdout_console
    from games.errors import InvalidInput
    from search.players import player_of

    if side not in SIDES:
        raise InvalidInput("side", side, "first, second, both or none")
    if not 0 <= seed < 2**63:
        raise InvalidInput("seed", seed, "a whole number from 0 to 2**63 - 1")
    if load is not None and moves is not None:
        raise InvalidInput("moves", moves, "no moves beside --load")
    record = None
    if load is None:
        loaded = games.load(game)
    else:
        loaded, record, _ = read_record(game, load, number)
    table = Play(loaded, player_of(opponent or default_opponent(), loaded), SIDES[side], seed, record)
    for move in split_moves(moves):
        table.give(move)
    console = stdout_console(colour_wanted(no_color))
    with console.status("getting ready ...") if console.is_terminal else contextlib.nullcontext():
        table.warm_up()
    colour = has_colour(console)
    return _run(PlayLoop(table, player_of, _reader(), _write, colour=colour))


def default_opponent() -> str:
    """The search if there is one, with a second of CPU for each move."""
    from search.players import names

    return DEFAULT_OPPONENT if DEFAULT_OPPONENT.partition(":")[0] in names() else FALLBACK


def _run(loop: PlayLoop) -> int:
    try:
        loop.run()
    except KeyboardInterrupt:
        print()
        loop.offer()
        return INTERRUPTED
    return 0


def _reader() -> Callable[[str], str | None]:
    """Reads lines from standard input."""
    if not sys.stdin.isatty():
        return _read_pipe
    with contextlib.suppress(ImportError):
        # Lines can then be edited, and called back.
        importlib.import_module("readline")
    return _read_terminal


def _read_terminal(prompt: str) -> str | None:
    try:
        return input(prompt)
    except EOFError:
        print()
        return None


def _read_pipe(prompt: str) -> str | None:
    line = sys.stdin.readline()
    if not line:
        return None
    # What was read stands where it would have been typed.
    _write(prompt + line.rstrip("\n"))
    return line


def _write(text: str) -> None:
    print(text, flush=True)
