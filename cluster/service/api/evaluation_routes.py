"""`/api/v1/searches/{id}/leaves` and `/evaluations`: searches whose leaves are evaluated by clients."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from cluster.service.answer_models import Leaves, Taken
from cluster.service.api.openapi import problems
from cluster.service.api.search_routes import SearchId, Service
from cluster.service.errors import Problem
from cluster.service.external_run import ExternalRun, not_running, tell_all
from cluster.service.records import Record
from cluster.service.request_models import EvaluationsBody
from cluster.service.searches import Searches
from search.ask_tell.leaf import Leaf
from search.evaluator import EXTERNAL

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

router = APIRouter(prefix="/searches", tags=["evaluations"])


@router.get(
    "/{id}/leaves",
    response_model=Leaves,
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
    return {"id": record.id, "state": _state(searches, record), "leaves": found}


@router.post(
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
    evaluations alone, not on their order. Those since the last checkpoint of a server that is killed are
    asked for again.

    With `n`, the answer also has the `leaves` that a `GET` of leaves would have after it.
    """
    record, run = _external(searches, id)
    if run is None and not record.over:
        raise not_running()
    taken, refused = (0, []) if run is None else tell_all(run, body.evaluations)
    found = {} if n is None else {"leaves": _asked(run, n, deadline_s)}
    return {"id": record.id, "state": _state(searches, record), "taken": taken, "refused": refused} | found


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


def _state(searches: Searches, record: Record) -> str:
    live = searches.live(record.id)
    return searches.get(record.id).state if live is None else live.state


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
