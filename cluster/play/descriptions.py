"""Descriptions of games and positions as JSON, for the command line and the HTTP API."""

from __future__ import annotations

from typing import Any

import games
from cluster.play.position import Position
from games.errors import InvalidInput
from games.game import Game
from search.players.presets import STRONGEST, opponent_of


def describe(game: Game) -> dict[str, Any]:
    """The description of a game: its options with their accepted values, examples of moves, and the
    name of the player that plays it best."""
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
    }


def _accepted(game: Game, key: str) -> str:
    """The accepted values of an option, taken from the game's error message for an invalid value."""
    try:
        games.load(f"{game.source or game.name}:{key}=_")
    except InvalidInput as refusal:
        return refusal.accepted
    return ""


def position_json(shown: Position) -> dict[str, Any]:
    """The description of a position: its text, who moves, and the outcome if the game is over.

    Where there are rewards it has the ``scores`` so far, and where chance moves the ``outcomes`` with their
    probabilities.
    """
    scores = shown.scores
    beyond: dict[str, Any] = {}
    if shown.game.rewards:
        beyond["scores"] = scores
    if (outcomes := shown.outcomes) is not None:
        beyond["outcomes"] = outcomes
    return {
        "game": shown.game.spec,
        "moves": list(shown.moves),
        "position": shown.game.format_position(shown.state),
        "to_move": shown.to_move,
        "legal_moves": legal_moves_of(shown),
        "over": shown.over,
        "returns": list(scores) if shown.over and scores is not None else None,
        **beyond,
    }


def legal_moves_of(shown: Position) -> list[str]:
    """The legal moves in the game's notation."""
    return [shown.game.format_move(shown.state, move) for move in shown.game.legal_moves(shown.state)]
