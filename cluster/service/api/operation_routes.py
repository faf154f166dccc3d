"""Routes for operators: what the workers do, liveness, readiness, versions, metrics."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Response
from sse_starlette import EventSourceResponse, ServerSentEvent

from cluster.observe.metrics import Metric, Metrics, counter, gauge, histogram, version_of
from cluster.runtime.worker_state import WorkerState
from cluster.service.answer_models import Cluster, Health, Version
from cluster.service.api.search_routes import Events, Service, sent
from cluster.service.cluster_watch import CLUSTER, ClusterWatch
from cluster.service.errors import Problem, of_storage, problems
from cluster.service.live import FeedEvent
from cluster.service.searches import Searches

GAME = ("game", "strategy")
"""Labels of metrics."""
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
async def events(searches: Service) -> Response:
    """Server-sent events: `cluster` with the whole object, then a `tick` each second; `cluster` again after a
    pause, and for a reader that was too slow."""
    return Events(searches, _stream(searches.watch))


async def _stream(watch: ClusterWatch) -> AsyncIterator[ServerSentEvent]:
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


def families(searches: Searches) -> Iterator[Metric]:
    """All metric families with their present values; cluster/observe/METRICS.md describes them."""
    figures, pool = searches.figures, searches.pool
    open_now = {"queued": searches.num_waiting, "running": searches.num_running}
    with figures.lock:
        yield gauge("banyan_open_searches", "Searches that are not over.", open_now, "state")
        yield counter(
            "banyan_accepted_searches_total", "Searches accepted.", figures.accepted_searches, *GAME
        )
        text = "Searches that are over, by final state."
        yield counter("banyan_finished_searches_total", text, figures.ended_searches, *GAME, "state")
        yield counter("banyan_game_simulations_total", "Simulations merged.", figures.simulations, *GAME)
        yield counter("banyan_game_playouts_total", "Playouts of searches.", figures.playouts, *GAME)
        durations = figures.search_durations
        yield histogram("banyan_search_duration_seconds", "Duration of searches.", durations, "game")
        yield counter("banyan_refused_requests_total", "Refused requests.", figures.refusals, "reason")
        labels = ("method", "route", "status")
        yield counter("banyan_http_requests_total", "Answered HTTP requests.", figures.requests, *labels)
        name, text = "banyan_http_request_duration_seconds", "Time until the answer begins."
        yield histogram(name, text, figures.request_durations, "route")
        yield gauge("banyan_event_streams", "Open event streams.", figures.streams)
    yield gauge("banyan_waiting_jobs", "Jobs that wait for a worker.", pool.jobs_waiting)
    yield gauge("banyan_ready_pools", "1 while there is a worker.", float(pool.ready))
    given_back = sum(worker.state is WorkerState.GIVEN_BACK for worker in pool.workers)
    yield gauge("banyan_given_back_workers", "Workers ended because they were idle.", given_back)
    yield counter("banyan_pool_restarts_total", "Restarts of the executor.", pool.renewals)
    yield counter("banyan_server_restarts_total", "Restarts of the server after a crash.", figures.restarts)
