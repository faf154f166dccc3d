"""The stored record of a search, and its validation."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError, ValidationInfo

from cluster.service.answer_models import Result, SearchError
from cluster.service.errors import of_validation
from cluster.service.request_models import SearchBody

QUEUED, RUNNING, DONE, CANCELLED, FAILED = "queued", "running", "done", "cancelled", "failed"
OPEN, OVER = (QUEUED, RUNNING), (DONE, CANCELLED, FAILED)
STATES = OPEN + OVER
UNREADABLE = "unreadable"
"""The state reported for a search whose record this version cannot read. It is never stored."""
Time = Annotated[float, Field(ge=0, lt=datetime(9999, 1, 1, tzinfo=UTC).timestamp())]
"""Seconds since 1970."""


def _text_of(model: type[BaseModel]) -> BeforeValidator:
    """Reads a column with a model's JSON text; the value is the object in the text."""

    def read(text: Any, column: ValidationInfo) -> dict[str, Any]:
        try:
            values = json.loads(text)
            # Text that cannot be encoded, such as half of a surrogate pair, cannot be sent in an answer.
            json.dumps(values, ensure_ascii=False, allow_nan=False).encode()
        except (ValueError, TypeError, RecursionError):
            values = None
        if not isinstance(values, dict):
            raise ValueError(f"{column.field_name} is not an object in JSON")
        try:
            model.model_validate(values)
        except ValidationError as error:
            raise ValueError(f"{error.title}: {of_validation(error).detail}") from None
        return values

    return BeforeValidator(read)


@dataclass(frozen=True)
class Record:
    """The record of one search."""

    number: int
    """Number of the search in the order of acceptance."""
    id: str
    state: str
    priority: int = 0
    request: Annotated[dict[str, Any], _text_of(SearchBody)] = field(default_factory=dict)
    """The body of the request, with its defaults."""
    fingerprint: str = ""
    """Hash of the body, to distinguish a repeated request from a different one with an equal key."""
    created_s: Time = 0.0
    """Time of acceptance."""
    started_s: Time | None = None
    finished_s: Time | None = None
    result: Annotated[dict[str, Any], _text_of(Result)] | None = None
    error: Annotated[dict[str, Any], _text_of(SearchError)] | None = None
    final_event: int | None = None
    """The id of the final event; None while the search is open."""
    to_cancel: bool = False
    """Whether the search is to be cancelled."""
    written_by: str | None = None
    """The version of Banyan that accepted the search."""
    unreadable: str | None = None
    """Why the stored record cannot be read; then only number and id are valid. None for a valid record."""

    def __post_init__(self) -> None:
        if self.over and self.final_event is None:
            raise ValueError(f"final_event is missing though state is {self.state}")

    @property
    def over(self) -> bool:
        return self.state in OVER


REOPENED: dict[str, Any] = {
    "state": QUEUED,
    "result": None,
    "error": None,
    "final_event": None,
    "finished_s": None,
    "to_cancel": False,
}
"""Values of a search that is opened again: queued, without its end."""
COLUMNS = tuple(each.name for each in fields(Record) if each.name != "unreadable")
_ROW = TypeAdapter(Record)


def record_of(row: Sequence[Any]) -> Record:
    """The record in a row of COLUMNS; an invalid one is marked as unreadable."""
    values = dict(zip(COLUMNS, row, strict=True))
    try:
        if values["state"] in STATES:
            return _ROW.validate_python(values)
        reason = f"state is {values['state']!r:.40}"
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        reason = str(first.get("ctx", {}).get("error") or f"{first['loc'][0]} is {first['input']!r:.40}")
    if isinstance(values["written_by"], str):
        reason += f" (written by Banyan {values['written_by']:.40})"
    try:
        created_s = TypeAdapter(Time).validate_python(values["created_s"])
    except ValidationError:
        created_s = 0.0
    return Record(
        values["number"],
        str(values["id"]),
        UNREADABLE,
        fingerprint=str(values["fingerprint"]),
        created_s=created_s,
        error={"title": "Unreadable record", "detail": reason},
        unreadable=reason,
    )


AGAIN_S = 0.5
"""Seconds until a failed write is tried again."""
LOG = logging.getLogger("banyan.recorder")
Action = Callable[[], object]


class Recorder:
    """A thread that stores changes in the order in which they are submitted.

    A failed write is repeated until it succeeds; later changes wait meanwhile.
    """

    def __init__(self, again_s: float = AGAIN_S) -> None:
        self.trouble: str | None = None
        """Why the next change cannot be stored; None if no write has failed."""
        self._again_s = again_s
        self._ending = threading.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="recorder")

    def put(self, store: Action, tell: Action) -> None:
        """Call ``store`` until it raises no sqlite3.Error, then ``tell`` once, in the recorder's thread."""
        self._thread.submit(self._do, store, tell)

    def close(self) -> None:
        """Try the remaining writes once more and end. Changes that cannot be stored are not announced."""
        self._ending.set()
        self._thread.shutdown()

    def _do(self, store: Action, tell: Action) -> None:
        try:
            if self._stored(store):
                tell()
        except Exception:
            LOG.exception("a change of a search could not be stored or announced")

    def _stored(self, store: Action) -> bool:
        while True:
            try:
                store()
            except sqlite3.Error as error:
                if self.trouble is None:
                    LOG.error("nothing can be stored (%s); trying again every %g s", error, self._again_s)
                self.trouble = str(error)
                if self._ending.wait(self._again_s):
                    return False
                continue
            if self.trouble is not None:
                LOG.warning("records can be stored again")
                self.trouble = None
            return True
