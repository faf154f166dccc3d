"""`/api/v1/games`: games and positions, for clients that do not know the rules.

A name may contain ``/``, as those of some environments do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.concurrency import run_in_threadpool

from cluster.service.answer_models import GameList, GameView, MoveView, PositionView
from cluster.service.api.connections import address_of
from cluster.service.api.search_routes import Service
from cluster.service.errors import problems
from cluster.service.request_models import MoveBody, PositionBody, Text

GameName = Annotated[
    Text, Path(description="A game, with options if it has any.", examples=["gomoku:size=15"], min_length=1)
]
Players = Annotated[
    Sequence[Text],
    Query(description="A player that is to play the game, with options; may be repeated.", max_length=8),
]


router = APIRouter(prefix="/games", tags=["games"])


@router.get("", response_model=GameList, summary="All games", responses=problems(503))
def games(searches: Service) -> dict[str, Any]:
    """All games that this server accepts by name, with their options and the accepted values;
    all players."""
    known = searches.games
    return {"games": known.all, "players": known.players, "workers": known.workers}


@router.get("/{name:path}", response_model=GameView, summary="One game", responses=problems(404, 429, 503))
def game(searches: Service, request: Request, name: GameName, player: Players = ()) -> dict[str, Any]:
    """One game with the given options. Refused if a player given cannot play it."""
    address = address_of(request.client)
    found = searches.games.game(name, address)
    for each in player:
        MoveBody(player=each).check(searches.limits)
        searches.games.check_player(name, each, address)
    return found


@router.post(
    "/{name:path}/positions",
    response_model=PositionView,
    summary="A position",
    responses=problems(404, 429, 503),
)
def position(searches: Service, request: Request, name: GameName, body: PositionBody) -> dict[str, Any]:
    """Legal moves, the drawn board, the player to move, and the outcome of a finished game. Nothing is
    stored."""
    return searches.games.read(name, body, address_of(request.client))


@router.post(
    "/{name:path}/moves", response_model=MoveView, summary="A move", responses=problems(404, 429, 503)
)
async def move(searches: Service, request: Request, name: GameName, body: MoveBody) -> dict[str, Any]:
    """The move of the strongest player known for the game, or of another one, which need not be a search.
    Moves are computed one after the other while their clients wait, and nothing is stored."""
    body.check(searches.limits)
    # The next message after the body is that the client has gone.
    gone = asyncio.ensure_future(request.receive())
    try:
        return await run_in_threadpool(searches.games.move, name, body, address_of(request.client), gone.done)
    finally:
        gone.cancel()
