"""`/api/v1/cluster`: workers and throughput of the last minutes, and events from now on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Response
from sse_starlette import EventSourceResponse, ServerSentEvent

from cluster.service.answer_models import Cluster
from cluster.service.api.openapi import CLUSTER_EVENTS, problems
from cluster.service.api.search_routes import Events, Service, sent
from cluster.service.cluster_watch import CLUSTER, ClusterWatch
from cluster.service.event_stream import FeedEvent

router = APIRouter(prefix="/cluster", tags=["cluster"])


@router.get("", response_model=Cluster, summary="Workers and throughput of the last minutes")
def cluster(searches: Service) -> dict[str, Any]:
    """Every worker with its last minute, and the rates of searches in the last 15 minutes."""
    return searches.watch.whole()[0]


@router.get(
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
