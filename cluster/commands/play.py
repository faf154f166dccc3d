"""`banyan play`: a person against a player, in a terminal or through a pipe."""

# ruff: noqa: B008
from __future__ import annotations

from pathlib import Path

from cluster.commands.options import POSITION, GameArgument, MovesOption, option
from cluster.system.terminal import Output
from search.options import option_of

INTERRUPTED = 130


def play(
    game: GameArgument,
    opponent: str | None = option(
        None, "PLAYER", "Who plays against you: name:key=value,... (see banyan players), instead of a preset."
    ),
    preset: str | None = option(
        None,
        "best|plain|...",
        "Settings of the opponent, with 1 s of CPU time a move: best, the strongest known for the "
        "game (the default); plain, UCT with random playouts; or a preset of the player uct.",
    ),
    side: str = option(
        "first",
        "first|second|both|none",
        "The side that you play; with more than two players also third and so on, or all.",
    ),
    fleet: str | None = option(
        None,
        "'A1 right,J7J10,...'",
        "Battleship: where your ships lie, in order, each by its first cell and right, left, up or "
        "down, or by both ends; random at the end places the rest. Without it you are asked at a "
        "terminal; otherwise your fleet is dealt.",
        POSITION,
    ),
    moves: MovesOption = None,
    load: Path | None = option(
        None, "FILE", "Continue a game that was saved, or recorded by banyan match --out.", POSITION
    ),
    number: int = option(1, "N", "Number of the game in the file.", POSITION),
    seed: int = option(0, "N", "Seed of all random numbers."),
    no_color: bool = option_of(Output, "no_color", False),
) -> int:
    """Play a game against a player or another person, or watch one. Type help for the commands."""
    import games
    from cluster.play.call import converse, opponent_line, table_of
    from cluster.play.loop import reader
    from cluster.play.position import read_record, split_moves
    from games.errors import InvalidInput
    from search.players.presets import STRONGEST, opponent_of

    if opponent is not None and preset is not None:
        raise InvalidInput("preset", preset, "no preset beside --opponent")
    if load is not None and moves is not None:
        raise InvalidInput("moves", moves, "no moves beside --load")
    record = None
    if load is None:
        loaded = games.load(game)
    else:
        loaded, record, _ = read_record(game, load, number)
    spec = opponent or opponent_of(preset or STRONGEST, loaded)
    table = table_of(loaded, spec, side, seed, split_moves(moves), record, fleet)
    opening = None if opponent else opponent_line(spec, preset or STRONGEST, "--preset plain")
    try:
        converse(table, opening, reader(), colour=False if no_color else None)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0
