"""Games and positions for clients that know no rules. Everything is worked out from what the client sends.

A position is what whoever moves may see: of Battleship shots and answers, and no fleet.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import games
from cluster.descriptions import describe, position_json
from cluster.position import Position
from cluster.service.request_models import PositionBody
from games.drawing import draw
from games.errors import InvalidInput
from games.findings import deal
from games.game import Board, Game, State
from games.rng import new_stream

CHANCES_SEED = 1
_LOCK = threading.Lock()
"""Held while rules are loaded, and perhaps compiled: the same by two threads would only take longer."""


def load(spec: str) -> Game:
    """A game by name, with options. Raises InvalidInput (game); no file is touched."""
    with _LOCK:
        return games.load(spec, files=False)


@cache
def all_games() -> list[dict[str, Any]]:
    """All games with a name; those of packages that cannot be loaded are left out."""
    rows = []
    for name in games.names():
        try:
            rows.append(describe(load(name)))
        except InvalidInput:
            continue
    return rows


def game_json(spec: str) -> dict[str, Any]:
    """One game. Raises InvalidInput (game)."""
    game = load(spec)
    with _LOCK:
        described = describe(game)
    return described | {
        "game": game.spec,
        "players": list(game.player_names),
        "hidden_information": game.hidden_information,
        "max_plies": game.max_plies,
        "evaluators": list(game.evaluators),
    }


def read(spec: str, body: PositionBody) -> dict[str, Any]:
    """A position as a client sees it. Raises InvalidInput (game, moves, position)."""
    game = load(spec)
    state = _start(game, body)
    played = game.play_text(state, body.moves)
    shown = Position(game, state, tuple(body.moves), played[-1] if played else None)
    board = game.board(state, shown.last_move)
    secret = None if body.show is None else game.secret(state, body.show)
    return position_json(shown) | {
        "position": game.format_seen(state),
        "player": None if shown.over else shown.player,
        "cells": _cells(game, shown),
        "outcome": shown.outcome_text if shown.over else None,
        "board": _board_json(board),
        "secret": None if secret is None else _board_json(secret),
        "chances": _chances(shown, board, body.draws),
        "drawing": draw(board, colour=False),
    }


def _start(game: Game, body: PositionBody) -> State:
    """Raises InvalidInput (position, deal)."""
    if body.deal is None:
        return game.initial_state() if body.position is None else game.parse_position(body.position)
    if body.position is not None:
        raise InvalidInput("deal", body.deal, "null: it goes with no position")
    return deal(game, body.deal)


def _chances(shown: Position, board: Board, draws: int) -> list[list[float | None]] | None:
    if not draws or shown.over:
        return None
    # The same draws whenever the same is asked.
    found = shown.game.chances(shown.state, draws, new_stream(CHANCES_SEED))
    if not found:
        return None
    return [[found.get((r, c)) for c in range(len(row))] for r, row in enumerate(board.rows)]


def _cells(game: Game, shown: Position) -> dict[str, tuple[int, int]]:
    found = {}
    for move in game.legal_moves(shown.state):
        cell = game.cells_of(move)
        if cell is not None:
            found[game.format_move(shown.state, move)] = cell
    return found


def _board_json(board: Board) -> dict[str, Any]:
    return {
        "rows": [
            [{"text": cell.text, "owner": cell.owner, "last": cell.last} for cell in row]
            for row in board.rows
        ],
        "row_labels": list(board.row_labels),
        "column_labels": list(board.column_labels),
        "lines": list(board.lines),
    }
