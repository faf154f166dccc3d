"""The ASGI application: routes, middleware and error handlers."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Depends, FastAPI
from fastapi.security import HTTPBearer
from starlette.middleware.cors import CORSMiddleware

from cluster.observe.metrics import Metrics, version_of
from cluster.service import errors as problems
from cluster.service.api import openapi
from cluster.service.api.cluster_routes import router as cluster_router
from cluster.service.api.evaluation_routes import router as evaluation_router
from cluster.service.api.game_routes import game_routes
from cluster.service.api.middleware import Guard
from cluster.service.api.operation_routes import operation_routes
from cluster.service.api.page_routes import page_routes
from cluster.service.api.report_routes import report_routes
from cluster.service.api.search_routes import router as search_router
from cluster.service.api.tokens import Tokens
from cluster.service.report_files import ReportFiles
from cluster.service.searches import Searches
from cluster.service.speedup_run import Speedups

PREFIX = "/api/v1"
DESCRIPTION = """Monte Carlo tree search as a service. Errors are problem details (RFC 9457) that name the
field, the value, and what is accepted."""


def create_app(
    searches: Searches,
    metrics: Metrics,
    tokens: Tokens | None = None,
    origins: Sequence[str] = (),
    *,
    allow_speedup: bool = False,
) -> FastAPI:
    """The application; ``origins``: origins of other web pages that may use the API; ``allow_speedup``:
    whether clients may measure the speedup of the workers."""
    tokens = tokens or Tokens()
    app = FastAPI(
        title="Banyan",
        version=version_of("banyan-mcts"),
        description=DESCRIPTION,
        openapi_url=f"{PREFIX}/openapi.json",
        # FastAPI's documentation pages load scripts from other hosts.
        docs_url=None,
        redoc_url=None,
        responses=openapi.problems(*openapi.ANYWHERE),
    )
    app.state.searches = searches
    problems.install(app)
    openapi.install(app)
    asks = [Depends(HTTPBearer(auto_error=False, description="One of the server's tokens, if it has any."))]
    api = APIRouter(prefix=PREFIX, dependencies=asks)
    api.include_router(search_router)
    api.include_router(cluster_router)
    api.include_router(evaluation_router)
    api.include_router(game_routes(searches.games, searches.limits))
    speedups = Speedups(searches, allowed=allow_speedup)
    api.include_router(report_routes(ReportFiles(searches.store.folder), speedups))
    app.include_router(api)
    app.include_router(operation_routes(searches, metrics))
    app.include_router(page_routes())
    app.add_middleware(
        Guard,
        tokens=tokens,
        origins=origins,
        limits=searches.limits,
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
