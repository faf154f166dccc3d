"""Routes for operators: what the workers do, liveness, readiness, versions, metrics."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import AsyncIterable
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from cluster.observe.metrics import version_of
from cluster.service.answer_models import Cluster, Health, Version
from cluster.service.api.search_routes import OpenStream, Service, sent
from cluster.service.cluster_watch import CLUSTER
from cluster.service.errors import Problem, of_storage, problems
from cluster.service.live import FeedEvent

CLUSTER_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events without an end. Data of `cluster`: Cluster; of `tick`: Tick.",
        "content": {"text/event-stream": {}},
    },
}

cluster_router = APIRouter(prefix="/cluster", tags=["cluster"])


@cluster_router.get("", response_model=Cluster, summary="Workers and throughput of the last minutes")
def cluster(searches: Service) -> dict[str, Any]:
    """Every worker with its last minute, and the rates of searches in the last 15 minutes."""
    return searches.watch.whole()[0]


@cluster_router.get(
    "/events",
    summary="Follow workers and throughput",
    responses=CLUSTER_EVENTS | problems(429),
    response_class=EventSourceResponse,
)
async def events(searches: Service, _: OpenStream) -> AsyncIterable[ServerSentEvent]:
    """Server-sent events: `cluster` with the whole object, then a `tick` each second; `cluster` again after a
    pause, and for a reader that was too slow."""
    watch = searches.watch
    whole, seen = await asyncio.to_thread(watch.whole)
    yield sent(FeedEvent(seen, CLUSTER, whole))
    async with aclosing(watch.feed.follow(seen)) as events:
        async for event in events:
            if event.id > seen + 1:
                # Events between were dropped before they could be sent.
                whole, seen = await asyncio.to_thread(watch.whole)
                yield sent(FeedEvent(seen, CLUSTER, whole))
            elif event.id == seen + 1:
                seen = event.id
                yield sent(event)


API = "v1"


router = APIRouter(tags=["operation"])


@router.get("/healthz", response_model=Health, summary="Liveness", responses=problems(503))
async def healthz(searches: Service) -> dict[str, Any]:
    """200 while the server works; 503 if it must be restarted."""
    if not searches.pool.alive and not searches.draining:
        raise Problem(503, "the thread that runs searches has ended")
    return {"status": "ok"}


@router.get("/readyz", response_model=Health, summary="Readiness", responses=problems(503))
def readyz(searches: Service) -> dict[str, Any]:
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
def metrics_text(searches: Service) -> Response:
    """Metrics in Prometheus' text format; cluster/observe/METRICS.md describes each of them."""
    text, media_type = searches.metrics.exposition()
    return Response(text, media_type=media_type)
