"""Errors of the API as problem details (RFC 9457), which name field, value and what is accepted."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from games.errors import InvalidInput, counted

MEDIA_TYPE = "application/problem+json"
SHOWN = 200
"""Largest number of characters of a value that are repeated in a problem."""
FIELDS = {"memory": "memory_mb", "budget": "simulations, seconds"}
"""By field of a search request: its name in the API, if it differs."""
SCHEMA = "#/components/schemas/{model}"
"""Where OpenAPI has the schema of a model."""
NAMES = {
    "model_attributes_type": "a JSON object",
    "dict_type": "a JSON object",
    "list_type": "a list",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "none_required": "null",
}
"""By type of a fault: what is accepted, where the validator's words are of Python."""
LOG = logging.getLogger("banyan.problems")


class Problem(Exception):
    """An exception that answers a request with problem details."""

    def __init__(
        self, status: int, detail: str, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})
        self.more = more

    def body(self) -> dict[str, Any]:
        """The members of the problem as JSON."""
        title = HTTPStatus(self.status).phrase
        return {
            "type": "about:blank",
            "title": title,
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }

    def response(self) -> Response:
        """The HTTP response; text beyond ASCII is escaped, so that any value can be repeated."""
        return Response(json.dumps(self.body()), self.status, self.headers, media_type=MEDIA_TYPE)


class ProblemView(BaseModel):
    """Problem details (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    field: str | None = Field(default=None, description="The field that is wrong.")
    value: Any = Field(default=None, description="The value that was sent.")
    accepted: str | None = Field(default=None, description="What is accepted.")


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """OpenAPI responses of a route for these status codes of problems."""
    schema = {"$ref": SCHEMA.format(model=ProblemView.__name__)}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: {"schema": schema}}}
        for status in statuses
    }


def of_input(error: InvalidInput, status: int = 422, headers: Mapping[str, str] | None = None) -> Problem:
    """The problem for an input that is not accepted."""
    name, blank, rest = error.field.partition(" ")
    field = str(shown(FIELDS.get(name, name) + blank + rest))
    value = shown(error.value)
    detail = f"{field}: {value!r} is not accepted; expected {error.accepted}"
    return Problem(status, detail, headers, field=field, value=value, accepted=error.accepted)


def of_storage(reason: str) -> Problem:
    """The problem (503) for a disk that cannot be written, with the reason."""
    detail = f"nothing can be stored now: {reason}; the server continues as soon as it can"
    return Problem(503, detail, {"Retry-After": "5"})


def of_validation(error: RequestValidationError | ValidationError) -> Problem:
    """The problem (422) for a malformed body or parameter: the first error, and a list of all."""
    found: list[dict[str, Any]] = []
    for each in error.errors():
        where = [str(part) for part in each["loc"] if part not in ("body", "query", "path", "header")]
        accepted = NAMES.get(each["type"], each["msg"].removeprefix("Input should be "))
        value = each.get("input")
        if isinstance(invalid := each.get("ctx", {}).get("error"), InvalidInput):
            where, value, accepted = [*where, invalid.field], invalid.value, invalid.accepted
        elif each["type"].endswith("too_long"):
            accepted = (
                f"at most {each['ctx']['max_length']} {'characters' if isinstance(value, str) else 'entries'}"
            )
        elif each["type"] == "too_short":
            accepted = f"at least {counted(each['ctx']['min_length'], 'entry', 'entries')}"
        elif each["type"] == "missing":
            value, accepted = None, "a value: this field is required"
        elif each["type"] == "json_invalid":
            where, value, accepted = ["body"], getattr(error, "body", ""), f"JSON ({each['ctx']['error']})"
        found.append({"field": ".".join(where) or "body", "value": shown(value), "accepted": accepted})
    first = found[0]
    detail = f"{first['field']}: {first['value']!r} is not accepted; expected {first['accepted']}"
    return Problem(422, detail[: 5 * SHOWN], **first, errors=found[:20])


def shown(value: object) -> object:
    """A value made fit for JSON and shortened to SHOWN characters."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < 2**53:
        return value
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def install(app: FastAPI) -> None:
    """Install handlers that answer every error of the application with a problem."""
    problem_of: dict[type[Exception], Callable[[Any], Problem]] = {
        Problem: lambda error: error,
        InvalidInput: of_input,
        sqlite3.Error: _of_records,
        RequestValidationError: of_validation,
        HTTPException: lambda error: Problem(error.status_code, str(error.detail), error.headers),
        Exception: lambda error: Problem(500, "internal error; the server's log has the details"),
    }
    for kind, of in problem_of.items():

        def answer(_: Request, error: Exception, of: Callable[[Any], Problem] = of) -> Response:
            return of(error).response()

        app.add_exception_handler(kind, answer)


def _of_records(error: sqlite3.Error) -> Problem:
    LOG.error("the records could not be used: %s", error)
    return of_storage(str(error))
