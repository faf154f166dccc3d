"""What operators ask: does it live, is it ready, what is it, how does it do."""

from __future__ import annotations

import platform
from typing import Any

from fastapi import APIRouter, Response

from cluster.metrics import Metrics, version_of
from cluster.service.answer_models import Health, Version
from cluster.service.openapi import problems
from cluster.service.problems import Problem
from cluster.service.searches import Searches

API = "v1"


def operation_routes(searches: Searches, metrics: Metrics) -> APIRouter:
    """The routes of a server."""
    router = APIRouter(tags=["operation"])

    @router.get("/healthz", response_model=Health, summary="Does it live?", responses=problems(503))
    def healthz() -> dict[str, Any]:
        """No, if it should be started again."""
        if not searches.pool.alive and not searches.draining:
            raise Problem(503, "the thread that searches has ended")
        return {"status": "ok"}

    @router.get("/readyz", response_model=Health, summary="Does it take searches?", responses=problems(503))
    def readyz() -> dict[str, Any]:
        """No, while it has no worker, or is about to stop. Searches that are there wait for one."""
        if searches.draining:
            raise Problem(503, "the server is about to stop")
        if not searches.pool.healthy:
            raise Problem(503, "there are no workers; others are being started")
        if not searches.pool.ready:
            raise Problem(503, "there is no worker yet; searches wait for the first")
        return {"status": "ready"}

    @router.get("/version", response_model=Version, summary="What is it?")
    def version() -> dict[str, Any]:
        """Versions of what runs here."""
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
        """cluster/README.md says what each one means."""
        text, media_type = metrics.exposition()
        return Response(text, media_type=media_type)

    return router
