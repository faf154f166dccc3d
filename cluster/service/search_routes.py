"""`/api/v1/searches`: to ask for searches, to look at them, to follow and to end them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Response
from sse_starlette import EventSourceResponse, ServerSentEvent

from cluster.service.answer_models import SearchPage, SearchView, State
from cluster.service.feed import FINAL, FeedEvent, final_data
from cluster.service.openapi import EVENTS, problems
from cluster.service.problems import Problem
from cluster.service.request_models import SearchBody
from cluster.service.searches import Searches
from cluster.service.store import QUEUED, RUNNING, Record

PAGE = 200
"""Searches on a page at most."""
PING_S = 15
"""An event stream on which nothing happens says so this often, for proxies that would close it."""

SearchId = Annotated[str, Path(description="As an answer gave it.", max_length=64)]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[!-~]+$",
        description="A repeated request with the same key and body gives the search that is there already.",
    ),
]
LastEventId = Annotated[
    str | None, Header(alias="Last-Event-ID", description="Only events after this one.", max_length=64)
]


def search_routes(searches: Searches) -> APIRouter:
    """The routes, of these searches."""
    router = APIRouter(prefix="/searches", tags=["searches"])

    @router.post(
        "",
        status_code=202,
        response_model=SearchView,
        summary="Ask for a search",
        responses=problems(429, 503),
    )
    def create(body: SearchBody, response: Response, key: Key = None) -> dict[str, Any]:
        """It is kept before this is answered, and outlives the connection and the server."""
        record, repeated = searches.submit(body, key)
        response.headers["Location"] = f"/api/v1/searches/{record.id}"
        if repeated:
            response.headers["Idempotent-Replayed"] = "true"
        return view(searches, record)

    @router.get("", response_model=SearchPage, summary="Searches, the latest first")
    def page(
        state: Annotated[State | None, Query(description="Only those in this state.")] = None,
        after: Annotated[
            str | None, Query(description="`next` of the page before.", pattern=r"^[1-9][0-9]{0,15}$")
        ] = None,
        limit: Annotated[int, Query(ge=1, le=PAGE)] = 50,
    ) -> dict[str, Any]:
        """One page; `next` leads to the one after it."""
        records = searches.store.page(state, None if after is None else int(after), limit + 1)
        following = str(records[limit - 1].number) if len(records) > limit else None
        return {"searches": [view(searches, record) for record in records[:limit]], "next": following}

    @router.get("/{id}", response_model=SearchView, summary="One search", responses=problems(404))
    async def get(id: SearchId) -> dict[str, Any]:  # noqa: A002
        """State, progress while it runs, and the result when it is over."""
        if searches.live(id) is not None:
            return view(searches, searches.get(id))
        return view(searches, await asyncio.to_thread(searches.get, id))

    @router.delete(
        "/{id}", response_model=SearchView, summary="End a search", responses=problems(404), status_code=202
    )
    def cancel(id: SearchId, response: Response) -> dict[str, Any]:  # noqa: A002
        """It ends with the best answer that it has, soon; one that is over stays as it is."""
        record = searches.cancel(id)
        if record.over:
            response.status_code = 200
        return view(searches, record)

    @router.post(
        "/{id}/resume",
        response_model=SearchView,
        summary="Go on with a search",
        responses=problems(404, 409, 429, 503),
        status_code=202,
    )
    def resume(id: SearchId) -> dict[str, Any]:  # noqa: A002
        """One that was cancelled or has failed goes on from where it was."""
        return view(searches, searches.resume(id))

    @router.get(
        "/{id}/events",
        summary="Follow a search",
        responses=EVENTS | problems(404, 429),
        response_class=EventSourceResponse,
    )
    async def events(id: SearchId, last: LastEventId = None) -> Response:  # noqa: A002
        """Server-sent events: `state`, `progress` (partial results), and one `final` event, the last.

        Who was cut off goes on with `Last-Event-ID`. When there is nothing after that, the answer is 204,
        which tells browsers not to ask again.
        """
        record = await asyncio.to_thread(searches.get, id)
        seen = int(last) if last is not None and last.isascii() and last.isdigit() else 0
        if record.final_event is not None and record.final_event <= seen:
            return Response(status_code=204)
        if searches.figures.streams >= searches.limits.streams:
            searches.figures.refused("too_many_streams")
            raise Problem(429, "too many event streams are read", {"Retry-After": "5"})
        return EventSourceResponse(_stream(searches, id, seen), ping=PING_S)

    return router


def view(searches: Searches, record: Record) -> dict[str, Any]:
    """A search as clients see it."""
    live = None if record.over else searches.live(record.id)
    return {
        "id": record.id,
        # The pool's word is newer than the record's.
        "state": record.state if live is None else live.state,
        "priority": record.priority,
        "request": record.request,
        "created_at": _time(record.created_s),
        "started_at": _time(record.started_s),
        "finished_at": _time(record.finished_s),
        "searches_before": searches.searches_before(record.id) if live and live.state == QUEUED else None,
        "progress": live.progress if live is not None and live.state == RUNNING else None,
        "result": record.result,
        "error": record.error,
    }


async def _stream(searches: Searches, search_id: str, seen: int) -> AsyncIterator[ServerSentEvent]:
    searches.figures.streams += 1
    try:
        while True:
            live = searches.live(search_id)
            if live is None:
                record = await asyncio.to_thread(searches.get, search_id)
                if record.final_event is None:
                    # Between two looks it was resumed, or the server is about to stop.
                    return
                if record.final_event > seen:
                    data = final_data(record.id, record.state, record.result, record.error)
                    yield _event(FeedEvent(record.final_event, FINAL, data))
                return
            follower = live.feed.follow()
            try:
                while True:
                    follower.more.clear()
                    found, closed = live.feed.after(seen)
                    for event in found if seen else _latest(found):
                        seen = event.id
                        yield _event(event)
                    if closed:
                        return
                    await follower.more.wait()
            finally:
                live.feed.leave(follower)
    finally:
        searches.figures.streams -= 1


def _latest(events: list[FeedEvent]) -> list[FeedEvent]:
    """For a new follower: of each kind the last, for it says all that those before it say."""
    last = {event.name: event.id for event in events}
    return [event for event in events if event.id == last[event.name]]


def _event(event: FeedEvent) -> ServerSentEvent:
    return ServerSentEvent(json.dumps(event.data), event=event.name, id=str(event.id))


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
