"""What went wrong, as problem details (RFC 9457): the field, the value, and what is accepted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from games.errors import InvalidInput

MEDIA_TYPE = "application/problem+json"
SHOWN = 200
"""Characters of a value that are given back."""
FIELDS = {"memory": "memory_mb", "budget": "simulations, seconds"}
"""What the API calls a field where requests of searches call it otherwise."""


class Problem(Exception):
    """Ends a request with this answer."""

    def __init__(
        self, status: int, detail: str, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})
        self.more = more

    def body(self) -> dict[str, Any]:
        """The members of the problem."""
        title = HTTPStatus(self.status).phrase
        return {
            "type": "about:blank",
            "title": title,
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }

    def response(self) -> Response:
        """The answer; text beyond ASCII is escaped, so that whatever was sent can be told."""
        return Response(json.dumps(self.body()), self.status, self.headers, media_type=MEDIA_TYPE)


def of_input(error: InvalidInput) -> Problem:
    """An input that cannot be used."""
    name, blank, rest = error.field.partition(" ")
    field = FIELDS.get(name, name) + blank + rest
    value = shown(error.value)
    detail = f"{field}: {value!r} is not accepted; expected {error.accepted}"
    return Problem(422, detail, field=field, value=value, accepted=error.accepted)


def of_validation(error: RequestValidationError) -> Problem:
    """A body or a parameter of the wrong shape; the first complaint, and all of them."""
    found = []
    for each in error.errors():
        where = [str(part) for part in each["loc"] if part not in ("body", "query", "path", "header")]
        accepted = each["msg"]
        if each["type"] == "extra_forbidden":
            accepted = "no such field"
        elif each["type"] == "json_invalid":
            where, accepted = ["body"], "JSON"
        found.append(
            {"field": ".".join(where) or "body", "value": shown(each.get("input")), "accepted": accepted}
        )
    first = found[0]
    detail = f"{first['field']}: {first['value']!r} is not accepted; expected {first['accepted']}"
    return Problem(422, detail[: 5 * SHOWN], **first, errors=found[:20])


def shown(value: object) -> object:
    """A value as it can stand in JSON, and not too long."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < 2**53:
        return value
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def install(app: FastAPI) -> None:
    """Answer every error of the app with a problem."""

    @app.exception_handler(Problem)
    def problem(_: Request, error: Problem) -> Response:
        return error.response()

    @app.exception_handler(InvalidInput)
    def invalid(_: Request, error: InvalidInput) -> Response:
        return of_input(error).response()

    @app.exception_handler(RequestValidationError)
    def validation(_: Request, error: RequestValidationError) -> Response:
        return of_validation(error).response()

    @app.exception_handler(HTTPException)
    def http(_: Request, error: HTTPException) -> Response:
        return Problem(error.status_code, str(error.detail), error.headers).response()

    @app.exception_handler(Exception)
    def unexpected(_: Request, error: Exception) -> Response:
        return Problem(500, "the server failed; its log says how").response()
