"""Games and positions as JSON says them, on the command line and over HTTP."""

from __future__ import annotations

from typing import Any

import games
from cluster.position import Position
from games.errors import InvalidInput
from games.game import Game


def describe(game: Game) -> dict[str, Any]:
    """A game, its options and what these accept, and how a move looks."""
    state = game.initial_state()
    moves = game.legal_moves(state)
    examples = sorted({moves[0], moves[len(moves) // 2], moves[-1]})
    return {
        "name": game.name,
        "options": [
            {"name": key, "default": default, "accepted": _accepted(game, key)}
            for key, default in game.options.items()
        ],
        "example_moves": [game.format_move(state, move) for move in examples],
    }


def _accepted(game: Game, key: str) -> str:
    """What an option accepts, in the words with which the game refuses a value that none accepts."""
    try:
        games.load(f"{game.source or game.name}:{key}=_")
    except InvalidInput as refusal:
        return refusal.accepted
    return ""


def position_json(shown: Position) -> dict[str, Any]:
    """A position: what it is, who moves, and how it ended if it is over."""
    outcome = shown.outcome
    return {
        "game": shown.game.spec,
        "moves": list(shown.moves),
        "position": shown.game.format_position(shown.state),
        "to_move": shown.to_move,
        "legal_moves": legal_moves_of(shown),
        "over": shown.over,
        "returns": None if outcome is None else [outcome, -outcome],
    }


def legal_moves_of(shown: Position) -> list[str]:
    """The legal moves in the game's notation."""
    return [shown.game.format_move(shown.state, move) for move in shown.game.legal_moves(shown.state)]
