"""The ASGI application: routes, middleware and error handlers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.security import HTTPBearer
from starlette.middleware.cors import CORSMiddleware

from cluster.observe.metrics import version_of
from cluster.service import errors
from cluster.service.analyses import Analyses
from cluster.service.answer_models import FinalEvent, PartialResult, Tick
from cluster.service.api import (
    analysis_routes,
    game_routes,
    operation_routes,
    page_routes,
    report_routes,
    search_routes,
)
from cluster.service.api.middleware import Guard
from cluster.service.api.tokens import Tokens
from cluster.service.errors import SCHEMA, ProblemView
from cluster.service.reports import Speedups
from cluster.service.searches import Searches

PREFIX = "/api/v1"
ANYWHERE = (400, 401, 403, 405, 408, 413, 415, 421, 422, 503)
"""Status codes of errors that any route may return."""
TAGS = [
    {"name": "searches", "description": "Searches of positions, their progress and results."},
    {"name": "analyses", "description": "Many positions in one request."},
    {"name": "evaluations", "description": "Leaves of searches whose evaluator is external."},
    {"name": "cluster", "description": "What the workers do, and what comes of it."},
    {"name": "games", "description": "Games and positions, for clients that do not know the rules."},
    {"name": "reports", "description": "Results of measurements, and measurements on this server."},
    {"name": "operation", "description": "Health, versions and metrics, for operators."},
]
DESCRIPTION = """Monte Carlo tree search as a service. Errors are problem details (RFC 9457) that name the
field, the value, and what is accepted."""


def create_app(
    searches: Searches,
    tokens: Tokens | None = None,
    origins: Sequence[str] = (),
    *,
    root_path: str = "",
    allow_speedup: bool = False,
) -> FastAPI:
    """The application; ``origins``: origins of other web pages that may use the API; ``root_path``: a prefix
    that paths may have; ``allow_speedup``: whether clients may measure the speedup of the workers."""
    app = routes()
    app.state.searches = searches
    app.state.analyses = Analyses(searches)
    app.state.speedups = Speedups(searches, allowed=allow_speedup)
    app.add_middleware(
        Guard,
        tokens=tokens or Tokens(),
        origins=origins,
        limits=searches.limits,
        figures=searches.figures,
        root_path=root_path,
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


def routes() -> FastAPI:
    """The application without searches: its routes, its answers to errors, and its OpenAPI document."""
    app = FastAPI(
        title="Banyan",
        version=version_of("banyan-mcts"),
        description=DESCRIPTION,
        openapi_url=f"{PREFIX}/openapi.json",
        openapi_tags=TAGS,
        # Relative to the document, because a proxy may have added a prefix to the paths.
        servers=[{"url": "../.."}],
        # A redirection would name scheme, host and path as this server has them.
        redirect_slashes=False,
        # FastAPI's documentation pages load scripts from other hosts.
        docs_url=None,
        redoc_url=None,
        responses=errors.problems(*ANYWHERE),
    )
    errors.install(app)
    _describe(app)
    asks = [Depends(HTTPBearer(auto_error=False, description="One of the server's tokens, if it has any."))]
    api = APIRouter(prefix=PREFIX, dependencies=asks)
    for routed in (search_routes, analysis_routes, game_routes, report_routes):
        api.include_router(routed.router)
    api.include_router(search_routes.leaf_router)
    api.include_router(operation_routes.cluster_router)
    for router in (api, operation_routes.router, page_routes.router):
        app.include_router(router)
    app.mount(page_routes.PREFIX, page_routes.PageFiles(directory=page_routes.FOLDER))
    return app


def _describe(app: FastAPI) -> None:
    """Add the models of problems and of events to FastAPI's OpenAPI document."""

    def document() -> dict[str, Any]:
        made = FastAPI.openapi(app)
        schemas = made["components"]["schemas"]
        for model in (ProblemView, PartialResult, FinalEvent, Tick):
            own = model.model_json_schema(ref_template=SCHEMA)
            schemas |= {**own.pop("$defs", {}), model.__name__: own} | schemas
        return made

    app.openapi = document  # type: ignore[method-assign]
