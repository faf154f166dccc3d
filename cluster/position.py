"""A game and a position of it, as the command line names them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import games
from cluster.matches.record import GameRecord, read_file
from games.errors import InvalidInput
from games.game import Game, State
from games.spec import parse_game_spec


@dataclass(frozen=True, eq=False)
class Position:
    """A position and how it came about."""

    game: Game
    state: State
    moves: tuple[str, ...]
    """Moves in the game's notation, from the start or from the position that was given."""
    last_move: int | None

    @property
    def over(self) -> bool:
        return bool(self.game.calls.is_terminal(self.state))

    @property
    def player(self) -> int:
        """Who moves."""
        return int(self.game.calls.current_player(self.state))

    @property
    def to_move(self) -> str | None:
        """What the player who moves is called; None if the game is over."""
        return None if self.over else self.game.player_names[self.player]

    @property
    def outcome(self) -> float | None:
        """The first player's return; None if the game is not over."""
        return float(self.game.calls.returns(self.state)) if self.over else None

    @property
    def outcome_text(self) -> str:
        """How the game ended, for people."""
        return self.game.outcome_text(self.state) if self.over else "not over"


def read_position(game: str, moves: str | None, position: str | None) -> Position:
    """Raises InvalidInput (game, moves, position). ``moves`` start from ``position`` if there is one."""
    loaded = games.load(game)
    state = loaded.initial_state() if position is None else loaded.parse_position(position)
    texts = split_moves(moves)
    played = loaded.play_text(state, texts)
    return Position(loaded, state, texts, played[-1] if played else None)


def read_record(game: str, path: Path, number: int = 1) -> tuple[Game, GameRecord, int]:
    """The game that ``number`` says (from 1) of a file of records, and how many there are.

    ``game`` names the game, the record has its options. Raises InvalidInput (game, record, number).
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
    """The position of a recorded game after so many plies (None: after all, -1: before the last).

    Raises InvalidInput (ply, moves).
    """
    last = len(record.moves)
    wanted = last if ply is None else ply + last if ply < 0 else ply
    if not 0 <= wanted <= last:
        raise InvalidInput("ply", ply, f"a whole number from 0 to {last}")
    state = record.start_state(game)
    played = game.play_text(state, record.moves[:wanted])
    return Position(game, state, record.moves[:wanted], played[-1] if played else None)


def split_moves(moves: str | None) -> tuple[str, ...]:
    """Moves divided by blanks."""
    return tuple((moves or "").split())
