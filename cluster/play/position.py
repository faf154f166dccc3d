"""Positions given on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import games
from cluster.matches.record import GameRecord, read_file
from games.contract.trial import try_out
from games.errors import InvalidInput
from games.game import Game, State
from games.spec import parse_game_spec


@dataclass(frozen=True, eq=False)
class Position:
    """A position of a game, and the moves that led to it."""

    game: Game
    state: State
    moves: tuple[str, ...]
    """Moves in the game's notation, from the start position or from a position given by the user."""
    last_move: int | None

    @property
    def over(self) -> bool:
        return bool(self.game.calls.is_terminal(self.state))

    @property
    def player(self) -> int:
        """The player to move: FIRST or SECOND."""
        return int(self.game.calls.current_player(self.state))

    @property
    def to_move(self) -> str | None:
        """The name of the player to move; None if the game is over."""
        return None if self.over else self.game.player_name(self.player)

    @property
    def outcome(self) -> float | None:
        """The first player's return; None if the game is not over."""
        return float(self.game.calls.returns(self.state)) if self.over else None

    @property
    def outcome_text(self) -> str:
        """The outcome of the game as text."""
        return self.game.outcome_text(self.state) if self.over else "not over"


def read_position(game: str, moves: str | None, position: str | None) -> Position:
    """The position after ``moves``, from ``position`` if it is given, else from the start of the game.

    Raises InvalidInput (fields ``game``, ``moves``, ``position``).
    """
    loaded = games.load(game)
    state = loaded.initial_state() if position is None else loaded.parse_position(position)
    if not loaded.trusted and position is not None:
        try_out(loaded, state)
    texts = split_moves(moves)
    played = loaded.play_text(state, texts)
    return Position(loaded, state, texts, played[-1] if played else None)


def read_record(game: str, path: Path, number: int = 1) -> tuple[Game, GameRecord, int]:
    """Record ``number`` (from 1) of a file: (game, record, number of records in the file).

    ``game`` is the game's name; its options are in the record. Raises InvalidInput (fields ``game``,
    ``record``, ``number``).
    """
    records = read_file(path)
    if not 1 <= number <= len(records):
        raise InvalidInput("number", number, f"a whole number from 1 to {len(records)}, the games in {path}")
    record = records[number - 1]
    there, _, options = record.game.partition(":")
    name = parse_game_spec(game).name
    if Path(there).name != Path(name).name:
        raise InvalidInput("record", str(path), f"a record of a game of {name} (it is of {there})")
    return games.load(f"{name}:{options}" if options else name), record, len(records)


def position_in(game: Game, record: GameRecord, ply: int | None = None) -> Position:
    """The position of a recorded game after ``ply`` plies (None: after all, -1: before the last one).

    Raises InvalidInput (fields ``ply``, ``moves``).
    """
    last = len(record.moves)
    wanted = last if ply is None else ply + last if ply < 0 else ply
    if not 0 <= wanted <= last:
        raise InvalidInput("ply", ply, f"a whole number from 0 to {last}")
    state = record.start_state(game)
    played = game.play_text(state, record.moves[:wanted])
    return Position(game, state, record.moves[:wanted], played[-1] if played else None)


def split_moves(moves: str | None) -> tuple[str, ...]:
    """The moves of a text, divided by spaces."""
    return tuple((moves or "").split())
