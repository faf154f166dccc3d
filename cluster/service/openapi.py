"""The OpenAPI document: what FastAPI knows of the routes, and problems as they are."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from cluster.service.answer_models import FinalEvent, ProblemView, Progress
from cluster.service.problems import MEDIA_TYPE

ANYWHERE = (401, 403, 405, 408, 413, 421, 422)
"""What any route may answer."""
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events until the final one. Data of `progress`: Progress; of `final`: FinalEvent.",
        "content": {
            "text/event-stream": {
                "schema": {"type": "string"},
                "example": 'id: 1000000003\nevent: progress\ndata: {"partial": true, "best_move": "f5"}\n\n',
            }
        },
    },
    204: {"description": "There is nothing after Last-Event-ID, and never will be."},
}
_TEMPLATE = "#/components/schemas/{model}"


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Responses of a route."""
    schema = {"$ref": _TEMPLATE.format(model=ProblemView.__name__)}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: {"schema": schema}}}
        for status in statuses
    }


def install(app: FastAPI) -> None:
    """Have the app give this document."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(
                title=app.title,
                version=app.version,
                description=app.description,
                routes=app.routes,
                tags=TAGS,
            )
            schemas = made["components"]["schemas"]
            for model in (ProblemView, Progress, FinalEvent):
                own = model.model_json_schema(ref_template=_TEMPLATE)
                schemas |= {**own.pop("$defs", {}), model.__name__: own} | schemas
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


TAGS = [
    {"name": "searches", "description": "Positions to be searched, and what came of them."},
    {"name": "games", "description": "Rules, for clients that know none."},
    {"name": "operation", "description": "For those who run the server."},
]
