"""`/api/v1/analyses`: one request with many positions, its state, its answers, its end."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic_core import from_json

from cluster.service.analyses import Analyses
from cluster.service.answer_models import AnalysisList, AnalysisResults, AnalysisView
from cluster.service.api.search_routes import Key, SearchId, of_app, time_of
from cluster.service.errors import problems
from cluster.service.kept_analyses import Analysis
from cluster.service.request_models import AnalysisBody

PAGE = 1000
"""Largest number of answers in an answer."""

Service = Annotated[Analyses, of_app("analyses")]
router = APIRouter(prefix="/analyses", tags=["analyses"])


@router.post(
    "",
    status_code=202,
    response_model=AnalysisView,
    summary="Analyse many positions",
    responses=problems(429, 503),
)
def create(analyses: Service, body: AnalysisBody, response: Response, key: Key = None) -> dict[str, Any]:
    """Store and start an analysis, which survives the end of the connection and restarts of the server. All
    queries are checked before it is accepted; a position that cannot be searched has an answer with
    `error`."""
    analysis, repeated = analyses.submit(body, key)
    # Relative, because a proxy may have added a prefix to the path.
    response.headers["Location"] = f"analyses/{analysis.id}"
    if repeated:
        response.headers["Idempotent-Replayed"] = "true"
    return _view(analysis)


@router.get("", response_model=AnalysisList, summary="All analyses, the latest first")
def listed(analyses: Service) -> dict[str, Any]:
    """Those that are not over, and the last 100 of the others."""
    return {"analyses": [_view(analysis) for analysis in analyses.records.newest()]}


@router.get("/{id}", response_model=AnalysisView, summary="One analysis", responses=problems(404))
def get(analyses: Service, id: SearchId) -> dict[str, Any]:  # noqa: A002
    """Its state, and how many of its positions are answered."""
    return _view(analyses.get(id))


@router.get(
    "/{id}/results",
    summary="Its answers",
    responses={200: {"model": AnalysisResults}, **problems(404)},
    response_class=Response,
)
def results(
    analyses: Service,
    id: SearchId,  # noqa: A002
    after: Annotated[
        int, Query(ge=0, lt=2**53, description="`next` of the previous page: how many answers it has seen.")
    ] = 0,
    limit: Annotated[int, Query(ge=1, le=PAGE)] = 100,
) -> Response:
    """The answers after the first `after` ones, in the order in which they were found; places and answers do
    not change. If there is none yet, ask again a little later, until `next` is null."""
    lines = analyses.records.answers(id, after, limit)
    # Read after the answers, so that there are none beyond those of an analysis that is over.
    analysis, seen = analyses.get(id), after + len(lines)
    next_ = "null" if analysis.over and seen >= analysis.answered else seen
    text = f'{{"state": "{analysis.state}", "next": {next_}, "results": [{", ".join(lines)}]}}'
    return Response(text, media_type="application/json")


@router.delete("/{id}", response_model=AnalysisView, summary="Cancel an analysis", responses=problems(404))
def cancel(analyses: Service, id: SearchId) -> dict[str, Any]:  # noqa: A002
    """End an analysis: positions without an answer get none. No effect on one that is over."""
    return _view(analyses.cancel(id))


def _view(analysis: Analysis) -> dict[str, Any]:
    return {
        "id": analysis.id,
        "state": analysis.state,
        "priority": analysis.priority,
        "game": analysis.game,
        "positions": analysis.positions,
        "answered": analysis.answered,
        "created_at": time_of(analysis.created_s),
        "started_at": time_of(analysis.started_s),
        "finished_at": time_of(analysis.finished_s),
        "error": None if analysis.error is None else from_json(analysis.error),
    }
