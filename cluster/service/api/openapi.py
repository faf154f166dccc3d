"""The OpenAPI document: FastAPI's, with the problem responses of this API."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from cluster.service.answer_models import FinalEvent, ProblemView, Progress, Tick
from cluster.service.errors import MEDIA_TYPE

ANYWHERE = (400, 401, 403, 405, 408, 413, 415, 421, 422, 503)
"""Status codes of errors that any route may return."""
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
    204: {"description": "There are no events after Last-Event-ID, and there will be none."},
}
CLUSTER_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events without an end. Data of `cluster`: Cluster; of `tick`: Tick.",
        "content": {"text/event-stream": {}},
    },
}
_TEMPLATE = "#/components/schemas/{model}"


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """OpenAPI responses of a route for these status codes of problems."""
    schema = {"$ref": _TEMPLATE.format(model=ProblemView.__name__)}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: {"schema": schema}}}
        for status in statuses
    }


def install(app: FastAPI) -> None:
    """Install this document in the application."""

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
            for model in (ProblemView, Progress, FinalEvent, Tick):
                own = model.model_json_schema(ref_template=_TEMPLATE)
                schemas |= {**own.pop("$defs", {}), model.__name__: own} | schemas
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


TAGS = [
    {"name": "searches", "description": "Searches of positions, their progress and results."},
    {"name": "evaluations", "description": "Leaves of searches whose evaluator is external."},
    {"name": "cluster", "description": "What the workers do, and what comes of it."},
    {"name": "games", "description": "Games and positions, for clients that do not know the rules."},
    {"name": "reports", "description": "Results of measurements, and measurements on this server."},
    {"name": "operation", "description": "Health, versions and metrics, for operators."},
]
