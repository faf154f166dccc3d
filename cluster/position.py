"""A game and a position of it, as the command line names them."""

from __future__ import annotations

from dataclasses import dataclass

import games
from games.game import Game, State


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


def split_moves(moves: str | None) -> tuple[str, ...]:
    """Moves divided by blanks."""
    return tuple((moves or "").split())
