"""Descriptions of games and positions for clients that do not know the rules; no state is kept.

A position contains only what the player to move may see: in Battleship shots and answers, but no fleet.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import games
from cluster.matches.game import PlayerFailed, ask, dealt, drawn, seed_of
from cluster.play.call import SECONDS
from cluster.play.play import FLEET_STREAM
from cluster.play.position import Position, describe
from cluster.service.request_models import MoveBody, PositionBody
from games.board import draw
from games.errors import InvalidInput
from games.game import CHANCE, Board, Game, State
from games.rng import new_stream
from games.spec import Spec, parse_spec
from search.players import Choice, player_of
from search.players.presets import NAMES, STRONGEST, opponent_of, settings_of

CHANCES_SEED = 1
MOVE_MEMORY_MB = 256
"""Memory of the tree of a player that is asked for a move."""
_dealt = lru_cache(maxsize=64)(lambda spec, seed: dealt(load(spec), seed))
_LOCK = threading.Lock()
"""Held while rules are loaded and compiled, so that two threads do not compile them twice."""


def load(spec: str) -> Game:
    """Load a game by name, with options, without reading any file. Raises InvalidInput (field ``game``)."""
    with _LOCK:
        return games.load(spec, files=False)


def describe_game(spec: str) -> dict[str, Any]:
    """The short description of a game for lists. Raises InvalidInput (field ``game``)."""
    game = load(spec)
    with _LOCK:
        return describe(game)


def game_json(spec: str) -> dict[str, Any]:
    """The complete description of a game. Raises InvalidInput (field ``game``)."""
    game = load(spec)
    return describe_game(spec) | {
        "game": game.spec,
        "players": list(game.player_names),
        "hidden_information": game.hidden_information,
        "open_loop": game.open_loop,
        "max_plies": game.max_plies,
        "evaluators": list(game.evaluators),
        "best": settings_of(STRONGEST, game),
    }


def read(spec: str, body: PositionBody) -> dict[str, Any]:
    """The description of a position. Raises InvalidInput (field ``game``, or one of the body)."""
    game = load(spec)
    state, played, placing, places = _after(game, body)
    shown = Position(game, state, tuple(body.moves), played[-1] if played else None)
    board = game.board(state, shown.last_move)
    secret = None if body.show is None else game.secret(state, body.show)
    told = shown.to_json()
    if placing:
        told["legal_moves"] = places
    return told | {
        "position": game.format_seen(state),
        "player": None if shown.over else shown.player,
        "cells": _cells(game, shown),
        "outcome": shown.game.outcome_text(shown.state) if shown.over else None,
        "board": asdict(board),
        "secret": None if secret is None else asdict(secret),
        "chances": _chances(shown, board, body.draws),
        "placing": placing,
        "drawing": draw(board, colour=False),
    }


def move(spec: str, body: MoveBody, clock: Callable[[], float] = time.thread_time) -> dict[str, Any]:
    """The move of a player, with its value and effort; where chance moves, an outcome.

    ``clock`` returns CPU seconds of the calling thread. Raises InvalidInput (field ``game``, or one of the
    body), and what the clock raises if that is Cancelled.
    """
    game = load(spec)
    state, played, placing, _ = _after(game, body)
    if placing:
        raise InvalidInput("fleet", ",".join(body.fleet or ()), f"a place for the {placing} too")
    if game.calls.is_terminal(state):
        raise InvalidInput("moves", " ".join(body.moves), "a position in which the game is not over")
    if game.calls.current_player(state) == CHANCE:
        player, spent_s = game.name_of(CHANCE), 0.0
        choice = Choice(drawn(game, state, body.seed), thought="drawn")
    else:
        player = body.player
        if player in NAMES:
            player = opponent_of(player, game, body.seconds or SECONDS)
        limited = parse_spec(player, "player")
        if limited.name == "uct":
            # A tree that suffices for the longest move, not the memory of a search by itself.
            limited = Spec(limited.name, {"memory": str(MOVE_MEMORY_MB), **limited.options})
        mover = player_of(str(limited), game)
        mover.clock = clock
        past = played if body.position is None else None
        try:
            choice, spent_s = ask(mover, game, state, body.seed, past, clock)
        except PlayerFailed as error:
            if isinstance(error.__cause__, InvalidInput):
                raise error.__cause__ from None
            raise
    made = {"game": game.spec, "player": player, "move": game.format_move(state, choice.move)}
    return asdict(choice) | made | {"cpu_s": spent_s}


def check_player(spec: str, player: str) -> None:
    """Raise InvalidInput (field ``game``, ``player``, or player option NAME) for a player that cannot play
    the game."""
    player_of(player, load(spec))


def seen(game: Game, position: str | None) -> str | None:
    """A position sent by a client, without anything that is hidden from a player."""
    if position is None or not game.hidden_information:
        return position
    return game.format_seen(game.parse_position(position))


def _after(game: Game, body: PositionBody) -> tuple[State, list[int], str | None, tuple[str, ...]]:
    """(the position after the moves, their codes, the ship that is placed next, its places).

    Raises InvalidInput (one field of the body).
    """
    state = _start(game, body.position, body.deal)
    placing, places = None, tuple[str, ...]()
    if body.fleet is not None:
        if body.deal is None or body.show is None:
            raise InvalidInput("fleet", ",".join(body.fleet), "null without deal and show")
        stream = new_stream(seed_of(body.deal, FLEET_STREAM))
        state, placing, places = game.hide(state, body.show, body.fleet, stream)
        if placing and body.moves:
            raise InvalidInput("fleet", ",".join(body.fleet), f"a place for the {placing}, or no moves")
    return state, game.play_text(state, body.moves), placing, places


def _start(game: Game, position: str | None, seed: int | None) -> State:
    """The position before the moves. Raises InvalidInput (fields ``position``, ``deal``)."""
    if seed is None:
        return game.initial_state() if position is None else game.parse_position(position)
    if position is not None:
        raise InvalidInput("deal", seed, "null if a position is given")
    return _dealt(game.spec, seed).copy()


def _chances(shown: Position, board: Board, draws: int) -> list[list[float | None]] | None:
    if not draws or shown.over:
        return None
    # A fixed seed: equal requests get equal draws.
    found = shown.game.chances(shown.state, draws, new_stream(CHANCES_SEED))
    if not found:
        return None
    return [[found.get((r, c)) for c in range(len(row))] for r, row in enumerate(board.rows)]


def _cells(game: Game, shown: Position) -> dict[str, tuple[int, int]]:
    found = ((move, game.cells_of(move)) for move in game.legal_moves(shown.state))
    return {game.format_move(shown.state, move): cell for move, cell in found if cell is not None}
