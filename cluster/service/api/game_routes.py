"""`/api/v1/games`: games and positions, for clients that do not know the rules."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Request
from fastapi.concurrency import run_in_threadpool

from cluster.service.answer_models import GameList, GameView, MoveView, PositionView
from cluster.service.api.connections import address_of
from cluster.service.errors import problems
from cluster.service.known_games import KnownGames
from cluster.service.limits import Limits
from cluster.service.request_models import MoveBody, PositionBody, check_text

GameName = Annotated[
    str, Path(description="A game, with options if it has any.", examples=["gomoku:size=15"], min_length=1)
]


def game_routes(known: KnownGames, limits: Limits) -> APIRouter:
    """The routes for games and positions. A name may contain ``/``, as those of some environments do."""
    router = APIRouter(prefix="/games", tags=["games"])

    @router.get("", response_model=GameList, summary="All games", responses=problems(503))
    def games() -> dict[str, Any]:
        """All games that this server accepts by name, with their options and the accepted values."""
        return {"games": known.all(), "workers": known.workers}

    @router.get(
        "/{name:path}", response_model=GameView, summary="One game", responses=problems(404, 429, 503)
    )
    def game(request: Request, name: GameName) -> dict[str, Any]:
        """One game with the given options."""
        check_text(name, "game", limits)
        return known.game(name, address_of(request.client))

    @router.post(
        "/{name:path}/positions",
        response_model=PositionView,
        summary="A position",
        responses=problems(404, 429, 503),
    )
    def position(request: Request, name: GameName, body: Annotated[PositionBody, Body()]) -> dict[str, Any]:
        """Legal moves, the drawn board, the player to move, and the outcome of a finished game. Nothing is
        stored."""
        check_text(name, "game", limits)
        body.check(limits)
        return known.read(name, body, address_of(request.client))

    @router.post(
        "/{name:path}/moves", response_model=MoveView, summary="A move", responses=problems(404, 429, 503)
    )
    async def move(request: Request, name: GameName, body: Annotated[MoveBody, Body()]) -> dict[str, Any]:
        """The move of the strongest player known for the game, or of another preset, which need not be a
        search. Moves are computed one after the other while their clients wait, and nothing is stored."""
        check_text(name, "game", limits)
        body.check(limits)
        # The next message after the body is that the client has gone.
        gone = asyncio.ensure_future(request.receive())
        try:
            return await run_in_threadpool(known.move, name, body, address_of(request.client), gone.done)
        finally:
            gone.cancel()

    return router
