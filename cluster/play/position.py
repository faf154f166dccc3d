"""Positions that users give, and descriptions of games and positions as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import games
from cluster.matches.record import GameRecord, read_file
from games.contract.trial import try_out
from games.errors import InvalidInput
from games.game import CHANCE, Game, State
from games.spec import parse_game_spec
from search.players import suited
from search.players.presets import STRONGEST, opponent_of


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
        """Who moves: a player, from 0, or CHANCE."""
        return int(self.game.calls.current_player(self.state))

    @property
    def to_move(self) -> str | None:
        """The name of who moves; None if the game is over."""
        return None if self.over else self.game.name_of(self.player)

    @property
    def scores(self) -> tuple[float, ...] | None:
        """Each player's return of a finished game; with rewards, each score so far; else None."""
        return self.game.scores(self.state) if self.over or self.game.rewards else None

    @property
    def outcomes(self) -> dict[str, float] | None:
        """Where chance moves: the probability of each outcome; else None."""
        if self.over or self.player != CHANCE:
            return None
        weights = self.game.chance_weights(self.state)
        return {self.game.format_move(self.state, move): weight for move, weight in weights.items()}

    @property
    def legal_moves(self) -> list[str]:
        """The legal moves in the game's notation."""
        return [self.game.format_move(self.state, move) for move in self.game.legal_moves(self.state)]

    def to_json(self) -> dict[str, Any]:
        """The position as plain values: its text, who moves, and the returns if the game is over.

        Where there are rewards it has the ``scores`` so far, and where chance moves the ``outcomes`` with
        their probabilities.
        """
        scores, outcomes = self.scores, self.outcomes
        return {
            "game": self.game.spec,
            "moves": list(self.moves),
            "position": self.game.format_position(self.state),
            "to_move": self.to_move,
            "legal_moves": self.legal_moves,
            "over": self.over,
            "returns": list(scores) if self.over and scores is not None else None,
            **({"scores": scores} if self.game.rewards else {}),
            **({} if outcomes is None else {"outcomes": outcomes}),
        }


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
    loaded = games.load(f"{name}:{options}" if options else name)
    if len(record.seats) != loaded.num_players:
        accepted = f"a record of {loaded.num_players} player{'s' * (loaded.num_players > 1)} of {name}"
        raise InvalidInput("record", str(path), f"{accepted} (it has {len(record.seats)})")
    return loaded, record, len(records)


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


def describe(game: Game) -> dict[str, Any]:
    """The description of a game: its options with their accepted values, examples of moves, the
    name of the player that plays it best, and of all that play it."""
    state = game.initial_state()
    moves = game.legal_moves(state)
    examples = sorted({moves[0], moves[len(moves) // 2], moves[-1]})
    return {
        "name": game.name,
        "num_players": game.num_players,
        "rewards": game.rewards,
        "chance": game.has_chance or game.open_loop,
        "options": [
            {"name": key, "default": default, "accepted": _accepted(game, key)}
            for key, default in game.options.items()
        ],
        "example_moves": [game.format_move(state, move) for move in examples],
        "opponent": opponent_of(STRONGEST, game).partition(":")[0],
        "opponents": suited(game),
    }


def _accepted(game: Game, key: str) -> str:
    """The accepted values of an option, taken from the game's error message for an invalid value."""
    try:
        games.load(f"{game.source or game.name}:{key}=_")
    except InvalidInput as refusal:
        return refusal.accepted
    return ""
