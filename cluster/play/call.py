"""`banyan.play`, and what it shares with the command `banyan play`: to set up a game, and to play it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence

import games
from cluster.front_door.options import spec_of
from cluster.matches.clock import Clock
from cluster.matches.record import GameRecord
from cluster.play.loop import PlayLoop, Read, read_terminal, reader, script
from cluster.play.play import Play, sides_of
from cluster.system.terminal import has_colour, stdout_console, write
from games.errors import InvalidInput
from games.game import REST, Game
from search.players import player_of
from search.players.player import MAX_SECONDS
from search.players.presets import NAMES, PLAIN, STRONGEST, opponent_of

SECONDS = 1.0
"""CPU seconds a move of the player that a preset stands for."""


def play(
    game: str | Game | type[Game],
    *,
    moves: str | Iterable[str] = (),
    player: str = STRONGEST,
    seconds: float | None = None,
    side: str = "first",
    seed: int = 0,
    lines: Iterable[str] | None = None,
) -> str:
    """Play a game against a player, in a terminal or a notebook, and return the moves that were played.

    After ``quit`` these are the moves before it, as one text; an empty one if none was made. A move is made
    by typing it; ``help`` lists commands, among them ``hint``, ``undo`` and ``quit``. The first line says who
    plays: with ``player="best"`` the strongest player known for the game.

    >>> import banyan
    >>> moves = banyan.play(  # doctest: +ELLIPSIS
    ...     "tictactoe", moves="a1 b1 a2 b2", player="alphabeta:depth=5", lines=["c3"]
    ... )
    tictactoe: human (x) against alphabeta:depth=5 (o); help lists commands
    3  .  .  .
    2  X [O] .
    1  X  O  .
       a  b  c
    x> c3
    o: b3
    3  . [O] X
    2  X  O  .
    1  X  O  .
       a  b  c
    o wins
    o thought about 1 move for ... s of CPU time
    <BLANKLINE>
    game     tictactoe...
    >>> moves
    'a1 b1 a2 b2 c3 b3'

    Ctrl-C writes the record of the game and raises KeyboardInterrupt.

    Args:
        game: A spec such as ``"gomoku:size=15"`` or ``"./mygame.py"`` (`banyan.games` has the names), a game
            object, or the class of a game that is written in a file.
        moves: Moves that are made first, in the game's notation: a text divided by blanks, or a sequence of
            texts. What `play` returned continues a game without hidden information.
        player: ``"best"``, the strongest known; ``"plain"``, the textbook search (UCT with random playouts);
            another preset; or a player with options, such as ``"alphabeta:depth=4"``.
        seconds: CPU seconds a move; 1 if left out. Only for a preset: other players have it in their options.
        side: The side that you play: ``"first"``, ``"second"``, ``"both"``, or ``"none"`` to watch; with more
            players also ``"third"`` and so on, or ``"all"``.
        seed: Seed of all random numbers.
        lines: What is typed, instead of asking; the game is left after the last line.

    Raises:
        InvalidInput: Something is wrong with an argument; the error names the field, the value, and what is
            accepted.
    """
    loaded = games.load(spec_of(game))
    spec, opening = _opponent(player, seconds, loaded)
    texts = moves.split() if isinstance(moves, str) else list(moves)
    table = table_of(loaded, spec, side, seed, texts)
    converse(table, opening, reader() if lines is None else script(lines))
    return " ".join(table.record.moves)


def table_of(
    game: Game,
    spec: str,
    side: str,
    seed: int,
    moves: Sequence[str] = (),
    record: GameRecord | None = None,
    fleet: str | None = None,
    clock: str | None = None,
) -> Play:
    """A game of people against the player of a spec, after the moves, or where the record ends.

    ``clock``: of the player, as in `Clock.read`. Raises InvalidInput (fields ``side``, ``seed``, ``player``,
    ``fleet``, ``clock``, ``moves``).
    """
    sides = sides_of(game)
    if side not in sides:
        raise InvalidInput("side", side, " or ".join([", ".join([*sides][:-1]), "none"]))
    if not 0 <= seed < 2**63:
        raise InvalidInput("seed", seed, "a whole number from 0 to 2**63 - 1")
    timed = None if clock is None else Clock.read(clock)
    table = Play(game, player_of(spec, game), sides[side], seed, record, timed)
    piece = None if fleet is None else table.place(fleet.split(","))
    if piece is not None:
        raise InvalidInput("fleet", fleet, f"a place for the {piece} too, or {REST} at the end")
    for move in moves:
        table.give(move)
    return table


def converse(table: Play, opening: str | None, read: Read, *, colour: bool | None = None) -> None:
    """Play until a person leaves the game. ``colour``: None is as the terminal can.

    ``opening`` is the first line, which is for people who play or watch. Raises KeyboardInterrupt, after the
    record of the game was written.
    """
    console = stdout_console(colour)
    with console.status("getting ready ...") if console.is_terminal else contextlib.nullcontext():
        table.warm_up()
    if opening is not None and len(table.humans) < table.game.num_players:
        write(opening)
    loop = PlayLoop(table, player_of, read, write, colour=has_colour(console))
    try:
        loop.run(read is read_terminal)
    except KeyboardInterrupt:
        write("")
        loop.offer()
        raise


def opponent_line(spec: str, preset: str, plain: str) -> str:
    """One line for people: who plays, which preset that is, and how to ask for the textbook search."""
    other = f"; {plain} is UCT with random playouts" if preset == STRONGEST else ""
    return f"Opponent: {spec} (preset {preset}{other})"


def _opponent(player: str, seconds: float | None, game: Game) -> tuple[str, str | None]:
    """(the player's spec, the line that says who plays if it comes from a preset).

    Raises InvalidInput (field ``seconds``).
    """
    if player not in NAMES:
        if seconds is not None:
            raise InvalidInput("seconds", seconds, f"nothing beside {player}: a player has it as an option")
        return player, None
    each_s = SECONDS if seconds is None else seconds
    if isinstance(each_s, bool) or not isinstance(each_s, int | float) or not 0.0 < each_s <= MAX_SECONDS:
        raise InvalidInput("seconds", seconds, f"more than 0 and at most {MAX_SECONDS:g}")
    spec = opponent_of(player, game, each_s, whole_game=True)
    return spec, opponent_line(spec, player, f'player="{PLAIN}"')
