"""`/api/v1/games`: rules, for clients that know none."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path

from cluster.service import positions
from cluster.service.answer_models import GameList, GameView, PositionView
from cluster.service.limits import Limits
from cluster.service.request_models import PositionBody, check_text

GameName = Annotated[
    str, Path(description="A game, with options if it has any.", examples=["gomoku:size=15"], min_length=1)
]


def game_routes(limits: Limits) -> APIRouter:
    """The routes, within these limits."""
    router = APIRouter(prefix="/games", tags=["games"])

    @router.get("", response_model=GameList, summary="All games")
    def games() -> dict[str, Any]:
        """With their options, and what these accept."""
        return {"games": positions.all_games()}

    @router.get("/{name}", response_model=GameView, summary="One game")
    def game(name: GameName) -> dict[str, Any]:
        """With these options."""
        check_text(name, "game", limits)
        return positions.game_json(name)

    @router.post("/{name}/positions", response_model=PositionView, summary="A position")
    def position(name: GameName, body: Annotated[PositionBody, Body()]) -> dict[str, Any]:
        """Legal moves, the drawn board, who moves, and how it ended if it is over. Nothing is kept."""
        check_text(name, "game", limits)
        body.check(limits)
        return positions.read(name, body)

    return router
