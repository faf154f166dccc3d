"""The stored record of a search, and its validation."""

from __future__ import annotations

import json
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from cluster.service.answer_models import Result, SearchError
from cluster.service.request_models import SearchBody
from games.errors import InvalidInput

QUEUED, RUNNING, DONE, CANCELLED, FAILED = "queued", "running", "done", "cancelled", "failed"
OPEN, OVER = (QUEUED, RUNNING), (DONE, CANCELLED, FAILED)
STATES = OPEN + OVER
UNREADABLE = "unreadable"
"""The state reported for a search whose record this version cannot read. It is never stored."""


@dataclass(frozen=True)
class Record:
    """The record of one search."""

    number: int
    """Number of the search in the order of acceptance."""
    id: str
    state: str
    priority: int = 0
    request: dict[str, Any] = field(default_factory=dict)
    """The body of the request, with its defaults."""
    fingerprint: str = ""
    """Hash of the body, to distinguish a repeated request from a different one with an equal key."""
    created_s: float = 0.0
    """Time of acceptance in seconds since 1970."""
    started_s: float | None = None
    """Time of the start in seconds since 1970; None before it."""
    finished_s: float | None = None
    """Time of the end in seconds since 1970; None before it."""
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    final_event: int | None = None
    """The id of the final event; None while the search is open."""
    to_cancel: bool = False
    """Whether the search is to be cancelled."""
    written_by: str | None = None
    """The version of Banyan that accepted the search."""
    unreadable: str | None = None
    """Why the stored record cannot be read; then only number and id are valid. None for a valid record."""

    @property
    def over(self) -> bool:
        return self.state in OVER


COLUMNS = tuple(each.name for each in fields(Record) if each.name != "unreadable")


def record_of(row: Sequence[Any]) -> Record:
    """The record in a row of COLUMNS; an invalid one is marked as unreadable."""
    values = dict(zip(COLUMNS, row, strict=True))
    try:
        for name in ("request", "result", "error"):
            values[name] = _parsed(name, values[name])
        _check(values)
    except (_NotSound, ValidationError) as error:
        reason = _complaint(error) if isinstance(error, ValidationError) else str(error)
        return _unreadable(values, reason)
    return Record(**values | {"to_cancel": bool(values["to_cancel"])})


class _NotSound(Exception):
    """A record is damaged or from another version; the message gives the reason."""


def _parsed(name: str, text: Any) -> dict[str, Any] | None:
    """The JSON object in a column; None for NULL. Raises _NotSound."""
    if text is None:
        return None

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        values = json.loads(text, parse_constant=refuse)
        # Text that cannot be encoded, such as half of a surrogate pair, cannot be sent in an answer.
        json.dumps(values, ensure_ascii=False).encode()
    except (ValueError, TypeError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise _NotSound(f"{name} is not an object in JSON")
    return values


def _check(values: dict[str, Any]) -> None:
    """Validate the values of a record. Raises _NotSound, or ValidationError for request, result or error."""
    if values["state"] not in STATES:
        raise _NotSound(f"state is {values['state']!r:.40}")
    kinds: dict[str, tuple[type, ...]] = {
        "priority": (int,),
        "fingerprint": (str,),
        "created_s": (float,),
        "started_s": (float, type(None)),
        "finished_s": (float, type(None)),
        "final_event": (int, type(None)),
        "to_cancel": (int,),
        "written_by": (str, type(None)),
    }
    for name, kind in kinds.items():
        if not isinstance(values[name], kind):
            raise _NotSound(f"{name} is {values[name]!r:.40}")
        if name.endswith("_s") and values[name] is not None and not _is_time(values[name]):
            raise _NotSound(f"{name} is {values[name]!r}")
    if values["final_event"] is None and values["state"] in OVER:
        raise _NotSound(f"final_event is missing though state is {values['state']}")
    if values["request"] is None:
        raise _NotSound("request is missing")
    SearchBody.model_validate(values["request"])
    if values["result"] is not None:
        Result.model_validate(values["result"])
    if values["error"] is not None:
        SearchError.model_validate(values["error"])


def _is_time(seconds: float) -> bool:
    try:
        datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return False
    return True


def _complaint(error: ValidationError) -> str:
    """The first error of a validation as text."""
    first = error.errors(include_url=False, include_input=False)[0]
    where, message = [str(part) for part in first["loc"]], first["msg"]
    if isinstance(invalid := first.get("ctx", {}).get("error"), InvalidInput):
        where, message = [*where, invalid.field], f"expected {invalid.accepted}"
    return f"{'.'.join(where)} of its {error.title}: {message}"


def _unreadable(values: dict[str, Any], reason: str) -> Record:
    writer = values["written_by"]
    reason += f" (written by Banyan {writer:.40})" if isinstance(writer, str) else ""
    created_s = values["created_s"]
    return Record(
        values["number"],
        str(values["id"]),
        UNREADABLE,
        fingerprint=str(values["fingerprint"]),
        created_s=created_s if isinstance(created_s, float) and _is_time(created_s) else 0.0,
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
        self._entries: queue.SimpleQueue[tuple[Action, Action] | None] = queue.SimpleQueue()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="recorder", daemon=True)
        self._thread.start()

    def put(self, store: Action, tell: Action) -> None:
        """Call ``store`` until it raises no sqlite3.Error, then ``tell`` once, in the recorder's thread."""
        self._entries.put((store, tell))

    def close(self) -> None:
        """Try the remaining writes once more and end. Changes that cannot be stored are not announced."""
        self._ending.set()
        self._entries.put(None)
        self._thread.join()

    def _loop(self) -> None:
        while (entry := self._entries.get()) is not None:
            store, tell = entry
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
