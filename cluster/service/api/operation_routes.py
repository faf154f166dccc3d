"""Routes for operators: liveness, readiness, versions, metrics."""

from __future__ import annotations

import platform
from typing import Any

from fastapi import APIRouter, Response

from cluster.observe.metrics import Metrics, version_of
from cluster.service.answer_models import Health, Version
from cluster.service.api.openapi import problems
from cluster.service.errors import Problem, of_storage
from cluster.service.searches import Searches

API = "v1"


def operation_routes(searches: Searches, metrics: Metrics) -> APIRouter:
    """The routes of a server."""
    router = APIRouter(tags=["operation"])

    @router.get("/healthz", response_model=Health, summary="Liveness", responses=problems(503))
    def healthz() -> dict[str, Any]:
        """200 while the server works; 503 if it must be restarted."""
        if not searches.pool.alive and not searches.draining:
            raise Problem(503, "the thread that runs searches has ended")
        return {"status": "ok"}

    @router.get("/readyz", response_model=Health, summary="Readiness", responses=problems(503))
    def readyz() -> dict[str, Any]:
        """200 if the server accepts searches; 503 without workers, without disk space, or before it stops.

        Accepted searches wait meanwhile.
        """
        if searches.draining:
            raise Problem(503, "the server is stopping")
        if not searches.pool.healthy:
            raise Problem(503, "there are no workers; new ones are being started")
        if not searches.pool.ready:
            raise Problem(503, "there is no worker yet; searches wait for the first one")
        if (trouble := searches.trouble()) is not None:
            raise of_storage(trouble)
        return {"status": "ready"}

    @router.get("/version", response_model=Version, summary="Versions")
    def version() -> dict[str, Any]:
        """Versions of Banyan, the API and the main libraries."""
        packages = {"banyan": "banyan-mcts", "ray": "ray", "numba": "numba"}
        versions = {name: version_of(package) for name, package in packages.items()}
        return versions | {"api": API, "python": platform.python_version()}

    @router.get(
        "/metrics",
        summary="Metrics for Prometheus",
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
        response_class=Response,
    )
    def metrics_text() -> Response:
        """Metrics in Prometheus' text format; cluster/observe/METRICS.md describes each of them."""
        text, media_type = metrics.exposition()
        return Response(text, media_type=media_type)

    return router
