"""The ASGI application: routes, what guards them, and how errors are told."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Depends, FastAPI
from fastapi.security import HTTPBearer
from starlette.middleware.cors import CORSMiddleware

from cluster.metrics import Metrics, version_of
from cluster.service import openapi, problems
from cluster.service.game_routes import game_routes
from cluster.service.guard import Guard
from cluster.service.operation_routes import operation_routes
from cluster.service.page_routes import page_routes
from cluster.service.search_routes import search_routes
from cluster.service.searches import Searches
from cluster.service.tokens import Tokens

PREFIX = "/api/v1"
DESCRIPTION = """Monte Carlo tree search as a service. Errors are problem details (RFC 9457) that name the
field, the value, and what is accepted."""


def create_app(
    searches: Searches, metrics: Metrics, tokens: Tokens | None = None, origins: Sequence[str] = ()
) -> FastAPI:
    """The application; ``origins`` are those of pages elsewhere that may ask."""
    tokens = tokens or Tokens()
    app = FastAPI(
        title="Banyan",
        version=version_of("banyan-mcts"),
        description=DESCRIPTION,
        openapi_url=f"{PREFIX}/openapi.json",
        # Their pages fetch scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        responses=openapi.problems(*openapi.ANYWHERE),
    )
    problems.install(app)
    openapi.install(app)
    asks = [Depends(HTTPBearer(auto_error=False, description="One of the server's tokens, if it has any."))]
    api = APIRouter(prefix=PREFIX, dependencies=asks)
    api.include_router(search_routes(searches))
    api.include_router(game_routes(searches.limits))
    app.include_router(api)
    app.include_router(operation_routes(searches, metrics))
    app.include_router(page_routes())
    app.add_middleware(
        Guard,
        tokens=tokens,
        origins=origins,
        body_bytes=searches.limits.body_bytes,
        figures=searches.figures,
    )
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID"],
            expose_headers=["Location", "Retry-After", "Idempotent-Replayed"],
        )
    return app
