"""`/api/v1/reports` and `/api/v1/speedups`: results of measurements, and measurements on this server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from cluster.service.api.connections import UNREAD_BYTES, address_of
from cluster.service.api.search_routes import of_app
from cluster.service.errors import Problem, problems
from cluster.service.reports import ALLOW, Measurement, Report, Speedups, Unusable
from cluster.service.request_models import SpeedupBody

Id = Annotated[str, Path(max_length=64)]


class ReportList(BaseModel):
    reports: list[Report] = Field(description="The newest 200, the newest first.")


class SpeedupsView(BaseModel):
    reason: str | None = Field(description="Why no measurement can be started; null if one can.")
    workers: int = Field(description="The workers that are there.")
    last: Measurement | None = Field(description="The measurement that runs, or that ran last.")


Measurements = Annotated[Speedups, of_app("speedups")]
router = APIRouter(tags=["reports"])


@router.get("/reports", response_model=ReportList, summary="Results of measurements")
async def listed(speedups: Measurements) -> dict[str, Any]:
    """The files speedup.json, predict.json and strength.json, at most three folders below the data
    folder."""
    return {"reports": await speedups.reports.listed()}


@router.get(
    "/reports/{id}",
    summary="One result",
    responses={200: {"content": {"application/json": {"schema": {}}}}, **problems(404, 409)},
    response_class=Response,
)
async def content(speedups: Measurements, id: Id) -> Response:  # noqa: A002
    """The content of the file as the command wrote it."""
    try:
        found = await speedups.reports.content(id)
    except Unusable as problem:
        raise Problem(409, f"this file cannot be shown: {problem}", field="id", value=id) from None
    if found is None:
        raise Problem(404, "there is no such report", field="id", value=id)
    headers = {"Content-Length": str(len(found))}
    return StreamingResponse(_parts(found), headers=headers, media_type="application/json")


async def _parts(content: bytes) -> AsyncIterator[bytes]:
    """The content in parts, so that a client that reads slowly has a copy of one part only."""
    for begin in range(0, len(content), UNREAD_BYTES):
        yield content[begin : begin + UNREAD_BYTES]


@router.get("/speedups", response_model=SpeedupsView, summary="The measurement on this server")
def measured(speedups: Measurements) -> dict[str, Any]:
    """Whether a measurement can be started, and the progress of the one that runs or ran last."""
    reason = None if speedups.allowed else f"this server runs without {ALLOW}"
    last = None if speedups.last is None else speedups.last.view()
    return {"reason": reason, "workers": speedups.num_workers, "last": last}


@router.post(
    "/speedups",
    response_model=Measurement,
    status_code=202,
    summary="Measure the speedup of this server's workers",
    responses=problems(409, 429, 503),
)
def start(speedups: Measurements, request: Request, body: SpeedupBody) -> Measurement:
    """Search on 1, 2, 4 and more workers beside the other searches, and write a report. One measurement
    runs at a time. A measurement ends with the server, and does not survive a restart."""
    return speedups.start(body, address_of(request.client)).view()


@router.delete(
    "/speedups/{id}", response_model=Measurement, summary="Cancel a measurement", responses=problems(404)
)
def cancel(speedups: Measurements, id: Id) -> Measurement:  # noqa: A002
    """End a measurement without a report; nothing changes if it is over."""
    return speedups.cancel(id).view()
