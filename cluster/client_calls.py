"""What the clients of the service have in common: what can be asked, and how answers and events are read."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

from games.errors import InvalidInput

TIMEOUT_S = 30.0
"""For one answer; it covers rules that the server has to compile."""
STREAM_S = 60.0
"""Without a word on an event stream, which has pings: longer than this, and it is broken."""
TRIES = 3
"""More, of a request that meets no server, or one that cannot take it now."""
FOLLOWS = 9
"""More, of a stream that breaks: long enough for a server to start again, with its workers."""
LONGEST_PAUSE_S = 5.0
LATER = frozenset({429, 502, 503, 504})


class ServiceError(ConnectionError):
    """The service cannot be reached, or does not do what it was asked."""

    def __init__(self, detail: str, status: int | None = None, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.status = status
        """None if there was no answer."""
        self.retry_after_s = retry_after_s


@dataclass(frozen=True)
class ServiceEvent:
    """One event of a search."""

    id: int | None
    name: str
    """state, progress or final."""
    data: dict[str, Any]

    @property
    def final(self) -> bool:
        return self.name == "final"


@dataclass(frozen=True)
class Call:
    """A request, and how it may be repeated."""

    method: str
    path: str
    json: dict[str, Any] | None = None
    params: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


class Calls:
    """What can be asked; the two clients send it."""

    @staticmethod
    def submit(body: dict[str, Any], key: str | None) -> Call:
        return Call("POST", "/searches", body, headers={"Idempotency-Key": key or uuid.uuid4().hex})

    @staticmethod
    def search(search_id: str) -> Call:
        return Call("GET", f"/searches/{quote(search_id, safe='')}")

    @staticmethod
    def searches(state: str | None, after: str | None, limit: int) -> Call:
        params = {"state": state, "after": after, "limit": limit}
        return Call("GET", "/searches", params={k: v for k, v in params.items() if v is not None})

    @staticmethod
    def cancel(search_id: str) -> Call:
        return Call("DELETE", f"/searches/{quote(search_id, safe='')}")

    @staticmethod
    def resume(search_id: str) -> Call:
        return Call("POST", f"/searches/{quote(search_id, safe='')}/resume")

    @staticmethod
    def games() -> Call:
        return Call("GET", "/games")

    @staticmethod
    def game(spec: str) -> Call:
        return Call("GET", f"/games/{quote(spec, safe='')}")

    @staticmethod
    def position(spec: str, moves: list[str], position: str | None) -> Call:
        return Call(
            "POST", f"/games/{quote(spec, safe='')}/positions", {"moves": moves, "position": position}
        )


def http_settings(url: str, token: str | None) -> dict[str, Any]:
    """For the HTTP client. Raises InvalidInput (server)."""
    parts = httpx.URL(url) if "://" in url else httpx.URL(f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.host:
        raise InvalidInput("server", url, "an address such as http://localhost:8000")
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    base = str(parts).rstrip("/") + "/api/v1"
    return {"base_url": base, "headers": headers, "timeout": TIMEOUT_S}


def stream_headers(last: int | None) -> dict[str, str]:
    """For the events after one."""
    headers = {"Accept": "text/event-stream"}
    return headers if last is None else headers | {"Last-Event-ID": str(last)}


def read_answer(response: httpx.Response) -> dict[str, Any]:
    """The answer. Raises InvalidInput, ServiceError."""
    try:
        values = response.json()
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise ServiceError(
            f"an answer that is none of Banyan's (status {response.status_code})", response.status_code
        )
    if response.is_success:
        return values
    if response.status_code == 422 and "accepted" in values:
        raise InvalidInput(str(values.get("field")), values.get("value"), str(values["accepted"]))
    after = response.headers.get("Retry-After", "")
    raise ServiceError(
        str(values.get("detail")), response.status_code, float(after) if after.isdigit() else None
    )


def check_stream(response: httpx.Response) -> bool:
    """Whether there are events in it; else its body is to be read, and is an answer. Raises NothingMore."""
    if response.status_code == 204:
        raise NothingMore
    return response.status_code == 200


def again_in_s(error: Exception, tries: int, most: int = TRIES) -> float | None:
    """How long to wait before the same is sent again; None if it should not be."""
    if tries >= most:
        return None
    if isinstance(error, ServiceError):
        return (error.retry_after_s or 1.0) if error.status in LATER else None
    return min(LONGEST_PAUSE_S, 0.2 * 2.0**tries) if isinstance(error, httpx.TransportError) else None


def unreachable(error: Exception, url: str) -> Exception:
    """The error as it is told when there is no further try."""
    if isinstance(error, httpx.TransportError):
        return ServiceError(f"{url}: {error or type(error).__name__}")
    return error


class NothingMore(Exception):
    """All events have been seen."""


class EventLines:
    """Events out of the lines of a stream."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}

    def take(self, line: str) -> ServiceEvent | None:
        """The event that this line ends."""
        if line:
            name, _, value = line.partition(":")
            if name:
                self._fields[name] = value.removeprefix(" ")
            return None
        fields, self._fields = self._fields, {}
        if "data" not in fields:
            return None
        number = fields.get("id", "")
        data = json.loads(fields["data"])
        return ServiceEvent(int(number) if number.isdigit() else None, fields.get("event", "message"), data)
