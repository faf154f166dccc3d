"""`/api/v1/searches`: submit, inspect, follow, cancel and resume searches, and evaluate their leaves."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import Field

from cluster.service.answer_models import Curve, LeafList, SearchPage, SearchView, State, Taken
from cluster.service.api.connections import address_of
from cluster.service.errors import Problem, problems
from cluster.service.external_run import ExternalRun, not_running, tell_all
from cluster.service.limits import of_one
from cluster.service.live import FINAL, FeedEvent, final_data
from cluster.service.records import QUEUED, RUNNING, Record
from cluster.service.request_models import EvaluationsBody, SearchBody
from cluster.service.searches import Searches
from search.ask_tell.leaf import Leaf
from search.evaluator import EXTERNAL

EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events until the final one. Data of `progress`: PartialResult; `final`: FinalEvent.",
        "content": {
            "text/event-stream": {
                "schema": {"type": "string"},
                "example": 'id: 1000000003\nevent: progress\ndata: {"partial": true, "best_move": "f5"}\n\n',
            }
        },
    },
    204: {"description": "There are no events after Last-Event-ID, and there will be none."},
}
PAGE = 200
"""Largest number of searches on a page."""
TEXTS = 20
"""Largest number of texts by which a list of searches is filtered."""

SearchId = Annotated[str, Path(description="The id of a search.", max_length=64)]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[!-~]+$",
        description="Repeating a request with its key and body returns the existing search.",
    ),
]
GameTexts = Annotated[
    Sequence[Annotated[str, Field(max_length=200)]],
    Query(description="Only searches whose game contains one of these texts, in any case.", max_length=TEXTS),
]
LastEventId = Annotated[
    str | None, Header(alias="Last-Event-ID", description="Only events after this one.", max_length=64)
]

router = APIRouter(prefix="/searches", tags=["searches"])


def of_app(name: str) -> Any:
    """A parameter of a route: the attribute with this name of the application's state."""

    async def found(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(found)


Service = Annotated[Searches, of_app("searches")]


@router.post(
    "",
    status_code=202,
    response_model=SearchView,
    summary="Submit a search",
    responses=problems(429, 503),
)
def create(
    request: Request, searches: Service, body: SearchBody, response: Response, key: Key = None
) -> dict[str, Any]:
    """Store and start a search, which survives the end of the connection and restarts of the server."""
    record, repeated = searches.submit(body, key, address_of(request.client))
    # Relative, because a proxy may have added a prefix to the path.
    response.headers["Location"] = f"searches/{record.id}"
    if repeated:
        response.headers["Idempotent-Replayed"] = "true"
    return view(searches, record)


@router.get("", response_model=SearchPage, summary="List searches, the latest first")
def page(
    searches: Service,
    state: Annotated[State | None, Query(description="Only searches in this state.")] = None,
    after: Annotated[
        str | None, Query(description="`next` of the previous page.", pattern=r"^[1-9][0-9]{0,15}$")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=PAGE)] = 50,
    game: GameTexts = (),
) -> dict[str, Any]:
    """One page of searches; `next` leads to the next page."""
    records = searches.store.page(state, None if after is None else int(after), limit + 1, game)
    following = str(records[limit - 1].number) if len(records) > limit else None
    return {"searches": [view(searches, record) for record in records[:limit]], "next": following}


@router.get("/{id}", response_model=SearchView, summary="One search", responses=problems(404))
async def get(searches: Service, id: SearchId) -> dict[str, Any]:  # noqa: A002
    """State, progress while it runs, and the result when it is over."""
    if searches.live(id) is not None:
        return view(searches, searches.get(id))
    return view(searches, await asyncio.to_thread(searches.get, id))


@router.delete(
    "/{id}",
    response_model=SearchView,
    summary="Cancel a search",
    responses=problems(404, 409),
    status_code=202,
)
def cancel(searches: Service, id: SearchId, response: Response) -> dict[str, Any]:  # noqa: A002
    """End a search soon, with its result so far. No effect on a search that is over."""
    record = searches.cancel(id)
    if record.over:
        response.status_code = 200
    return view(searches, record)


@router.post(
    "/{id}/resume",
    response_model=SearchView,
    summary="Resume a search",
    responses=problems(404, 409, 429, 503),
    status_code=202,
)
def resume(searches: Service, id: SearchId) -> dict[str, Any]:  # noqa: A002
    """Continue a search that was cancelled or has failed from its last checkpoint."""
    return view(searches, searches.resume(id))


@router.get(
    "/{id}/curve", response_model=Curve, summary="Its value and rate so far", responses=problems(404, 409)
)
def curve(searches: Service, id: SearchId) -> dict[str, Any]:  # noqa: A002
    """Value and rate since the search began, while it runs and when it is over."""
    searches.readable(id)
    return {"points": searches.curve(id)}


async def last_seen(
    searches: Service,
    id: SearchId,  # noqa: A002
    response: Response,
    last: LastEventId = None,
) -> int | None:
    """The id of the last event that the client of a search has: 0 before the first, None after the last."""
    record = await asyncio.to_thread(searches.readable, id)
    seen = int(last) if last is not None and last.isascii() and last.isdigit() else 0
    if record.final_event is None or record.final_event > seen:
        return seen
    response.status_code = 204
    return None


async def open_stream(request: Request, searches: Service) -> AsyncIterator[None]:
    """Count an event stream among the open ones until it ends. Raises Problem (429) if there are too many."""
    figures, address = searches.figures, address_of(request.client)
    most, streams = searches.limits.streams, figures.streams
    if streams.total() >= most or streams[address] >= of_one(most):
        figures.refused("too_many_streams")
        raise Problem(429, "too many event streams are open", {"Retry-After": "5"})
    streams[address] += 1
    try:
        yield
    finally:
        # Addresses without streams are forgotten.
        streams -= Counter([address])


OpenStream = Annotated[None, Depends(open_stream)]


@router.get(
    "/{id}/events",
    summary="Follow a search",
    responses=EVENTS | problems(404, 409, 429),
    response_class=EventSourceResponse,
)
async def events(
    searches: Service,
    id: SearchId,  # noqa: A002
    seen: Annotated[int | None, Depends(last_seen)],
    _: OpenStream,
) -> AsyncIterable[ServerSentEvent]:
    """Server-sent events: `state`, `progress` (partial results), and one `final` event, the last.

    After an interruption, continue with `Last-Event-ID`. If there are no further events, the status is
    204, which tells browsers not to reconnect.
    """
    if seen is None:
        return
    live = searches.live(id)
    if live is not None:
        async with aclosing(live.feed.follow(seen)) as events:
            async for event in events:
                yield sent(event)
        return
    record = await asyncio.to_thread(searches.get, id)
    # Without a final event the search was resumed meanwhile, or the server is stopping.
    if record.final_event is not None and record.final_event > seen:
        data = final_data(record.id, record.state, record.result, record.error)
        yield sent(FeedEvent(record.final_event, FINAL, data))


def view(searches: Searches, record: Record) -> dict[str, Any]:
    """A search as JSON for clients, see `SearchView`."""
    live = None if record.over else searches.live(record.id)
    record = record if live is None else live.record
    return {
        "id": record.id,
        "state": record.state,
        "priority": record.priority,
        "request": record.request or None,
        "created_at": time_of(record.created_s),
        "started_at": time_of(record.started_s),
        "finished_at": time_of(record.finished_s),
        "searches_before": searches.searches_before(record.id) if live and record.state == QUEUED else None,
        "progress": live.progress if live is not None and record.state == RUNNING else None,
        "result": record.result,
        "error": record.error,
    }


def sent(event: FeedEvent) -> ServerSentEvent:
    """The server-sent event for an event of a feed."""
    return ServerSentEvent(raw_data=event.text, event=event.name, id=str(event.id))


def time_of(seconds: float | None) -> str | None:
    """A time in seconds since 1970 as clients get it."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


MOST_LEAVES = 256
"""Largest number of leaves in an answer."""
LONGEST_S = 86_400.0
"""Largest number of seconds for which a leaf is handed out."""

Deadline = Annotated[
    float,
    Query(
        ge=0.001,
        le=LONGEST_S,
        allow_inf_nan=False,
        description="Seconds after which a leaf without an evaluation is handed out again.",
    ),
]

leaf_router = APIRouter(prefix="/searches", tags=["evaluations"])


@leaf_router.get(
    "/{id}/leaves",
    response_model=LeafList,
    summary="Ask for leaves to evaluate",
    responses=problems(404, 409),
)
def leaves(
    searches: Service,
    id: SearchId,  # noqa: A002
    n: Annotated[int, Query(ge=1, le=MOST_LEAVES, description="The most leaves.")] = 1,
    deadline_s: Deadline = 600.0,
) -> dict[str, Any]:
    """Up to `n` leaves of a search with `evaluator` external that no client is asked for now.

    A leaf is handed out to one client, and to another one with the same id if it is not evaluated in time. An
    empty list means that all leaves are out: ask again after some evaluations, or a little later.
    """
    record, run = _external(searches, id)
    found = _asked(run, n, deadline_s)
    return {"id": record.id, "state": searches.get(record.id).state, "leaves": found}


@leaf_router.post(
    "/{id}/evaluations",
    response_model=Taken,
    response_model_exclude_unset=True,
    summary="Send evaluations of leaves",
    responses=problems(404, 409),
)
def evaluations(
    searches: Service,
    id: SearchId,  # noqa: A002
    body: EvaluationsBody,
    n: Annotated[
        int | None,
        Query(ge=1, le=MOST_LEAVES, description="Ask for leaves too: the most; without it, for none."),
    ] = None,
    deadline_s: Deadline = 600.0,
) -> dict[str, Any]:
    """Take evaluations in any order. The same evaluation again changes nothing, nor does one after the end.

    Each evaluation is taken or refused by itself; `refused` gives the reasons. The statistics depend on the
    evaluations alone, not on their order. If the server is killed, those since the last checkpoint are asked
    for again.

    With `n`, the answer also has the `leaves` that a `GET` of leaves would have after it.
    """
    record, run = _external(searches, id)
    if run is None and not record.over:
        raise not_running()
    taken, refused = (0, []) if run is None else tell_all(run, body.evaluations)
    found = {} if n is None else {"leaves": _asked(run, n, deadline_s)}
    state = searches.get(record.id).state
    return {"id": record.id, "state": state, "taken": taken, "refused": refused} | found


def _asked(run: ExternalRun | None, n: int, deadline_s: float) -> list[dict[str, Any]]:
    return [] if run is None else [_leaf_json(leaf) for leaf in run.ask(n, deadline_s)]


def _external(searches: Searches, search_id: str) -> tuple[Record, ExternalRun | None]:
    """The record and the run of a search, None unless it runs.

    Raises Problem (404, 409), also for a search whose evaluator is not external.
    """
    record = searches.readable(search_id)
    evaluator = record.request.get("evaluator")
    if evaluator != EXTERNAL:
        detail = "this search evaluates its leaves itself"
        raise Problem(409, detail, field="evaluator", value=evaluator, accepted=EXTERNAL)
    live = searches.live(search_id)
    if live is not None:
        searches.wake(live)
    run = None if live is None else live.run
    return record, run if isinstance(run, ExternalRun) else None


def _leaf_json(leaf: Leaf) -> dict[str, Any]:
    return {
        "id": leaf.id,
        "moves": list(leaf.moves),
        "position": leaf.position,
        "player": leaf.player,
        "to_move": leaf.game.name_of(leaf.player),
        "legal": list(leaf.legal),
        "codes": leaf.codes.tolist(),
        "state": leaf.state.tolist(),
    }
