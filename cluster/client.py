"""A client of the service, in two forms: `Client` blocks, `AsyncClient` awaits.

Whatever a server refuses raises InvalidInput where the problem names a field, else `ServiceError`. Searches are
asked for with a key of their own, so that a request whose answer was lost can be sent again; a stream
of events that breaks is followed on from its last event.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

from games.errors import InvalidInput

TIMEOUT_S = 30.0
"""For one answer; it covers rules that the server has to compile."""
STREAM_S = 60.0
"""Without a word on an event stream, which has pings: longer than this, and it is broken."""
TRIES = 5
"""Of a request that meets no server, or one that cannot take it now."""
LATER = frozenset({429, 502, 503, 504})
OVER = frozenset({"done", "cancelled", "failed"})


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
class _Call:
    """A request, and how it may be repeated."""

    method: str
    path: str
    json: dict[str, Any] | None = None
    params: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


class Calls:
    """What can be asked; the two clients send it."""

    @staticmethod
    def submit(body: dict[str, Any], key: str | None) -> _Call:
        return _Call("POST", "/searches", body, headers={"Idempotency-Key": key or uuid.uuid4().hex})

    @staticmethod
    def search(search_id: str) -> _Call:
        return _Call("GET", f"/searches/{quote(search_id, safe='')}")

    @staticmethod
    def searches(state: str | None, after: str | None, limit: int) -> _Call:
        params = {"state": state, "after": after, "limit": limit}
        return _Call("GET", "/searches", params={k: v for k, v in params.items() if v is not None})

    @staticmethod
    def cancel(search_id: str) -> _Call:
        return _Call("DELETE", f"/searches/{quote(search_id, safe='')}")

    @staticmethod
    def resume(search_id: str) -> _Call:
        return _Call("POST", f"/searches/{quote(search_id, safe='')}/resume")

    @staticmethod
    def games() -> _Call:
        return _Call("GET", "/games")

    @staticmethod
    def game(spec: str) -> _Call:
        return _Call("GET", f"/games/{quote(spec, safe='')}")

    @staticmethod
    def position(spec: str, moves: list[str], position: str | None) -> _Call:
        return _Call(
            "POST", f"/games/{quote(spec, safe='')}/positions", {"moves": moves, "position": position}
        )


def _settings(url: str, token: str | None) -> dict[str, Any]:
    parts = httpx.URL(url) if "://" in url else httpx.URL(f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.host:
        raise InvalidInput("server", url, "an address such as http://localhost:8000")
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    base = str(parts).rstrip("/") + "/api/v1"
    return {"base_url": base, "headers": headers, "timeout": TIMEOUT_S}


def _events_headers(last: int | None) -> dict[str, str]:
    headers = {"Accept": "text/event-stream"}
    return headers if last is None else headers | {"Last-Event-ID": str(last)}


def _read(response: httpx.Response) -> dict[str, Any]:
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


def _again_in_s(error: Exception, tries: int) -> float | None:
    """How long to wait before the same is sent again; None if it should not be."""
    if tries >= TRIES:
        return None
    if isinstance(error, ServiceError):
        return (error.retry_after_s or 1.0) if error.status in LATER else None
    return 0.2 * 2.0**tries if isinstance(error, httpx.TransportError) else None


def _unreachable(error: Exception, url: str) -> Exception:
    if isinstance(error, httpx.TransportError):
        return ServiceError(f"{url}: {error or type(error).__name__}")
    return error


class _Lines:
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


class Client:
    """Asks a service, and waits for its answers."""

    def __init__(
        self, url: str, token: str | None = None, transport: httpx.BaseTransport | None = None
    ) -> None:
        """Raises InvalidInput (server) for what is no address."""
        self.url = url
        self._http = httpx.Client(**_settings(url, token), transport=transport)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def submit(self, body: dict[str, Any], key: str | None = None) -> dict[str, Any]:
        """Ask for a search, with fields as in the API; what the service says of it."""
        return self._send(Calls.submit(body, key))

    def get(self, search_id: str) -> dict[str, Any]:
        """A search as it stands."""
        return self._send(Calls.search(search_id))

    def searches(self, state: str | None = None, after: str | None = None, limit: int = 50) -> dict[str, Any]:
        """A page of searches."""
        return self._send(Calls.searches(state, after, limit))

    def cancel(self, search_id: str) -> dict[str, Any]:
        """End a search."""
        return self._send(Calls.cancel(search_id))

    def resume(self, search_id: str) -> dict[str, Any]:
        """Have a search go on that was cancelled or has failed."""
        return self._send(Calls.resume(search_id))

    def games(self) -> list[dict[str, Any]]:
        """All games."""
        games: list[dict[str, Any]] = self._send(Calls.games())["games"]
        return games

    def game(self, spec: str) -> dict[str, Any]:
        """One game."""
        return self._send(Calls.game(spec))

    def position(self, spec: str, moves: list[str], position: str | None = None) -> dict[str, Any]:
        """A position of a game."""
        return self._send(Calls.position(spec, moves, position))

    def events(self, search_id: str, last: int | None = None) -> Iterator[ServiceEvent]:
        """Its events, until the final one; across broken connections and restarts of the server."""
        tries = 0
        while True:
            try:
                for event in self._stream(search_id, last):
                    tries, last = 0, event.id or last
                    yield event
                    if event.final:
                        return
                error: Exception = ServiceError("the stream ended", 503)
            except (httpx.TransportError, ServiceError) as broken:
                error = broken
            pause_s = _again_in_s(error, tries)
            if pause_s is None:
                raise _unreachable(error, self.url) from None
            tries += 1
            time.sleep(pause_s)

    def wait(self, search_id: str) -> dict[str, Any]:
        """The search when it is over."""
        for _ in self.events(search_id):
            pass
        return self.get(search_id)

    def _stream(self, search_id: str, last: int | None) -> Iterator[ServiceEvent]:
        lines, path = _Lines(), Calls.search(search_id).path + "/events"
        with self._http.stream("GET", path, headers=_events_headers(last), timeout=STREAM_S) as response:
            if response.status_code != 200:
                response.read()
                _read(response)
            for line in response.iter_lines():
                event = lines.take(line)
                if event is not None:
                    yield event

    def _send(self, call: _Call) -> dict[str, Any]:
        for tries in range(TRIES + 1):
            try:
                return _read(
                    self._http.request(
                        call.method, call.path, json=call.json, params=call.params, headers=call.headers
                    )
                )
            except (httpx.TransportError, ServiceError) as error:
                pause_s = _again_in_s(error, tries)
                if pause_s is None:
                    raise _unreachable(error, self.url) from None
                time.sleep(pause_s)
        raise AssertionError("the last try returns or raises")


class AsyncClient:
    """The same, to be awaited; see `Client`."""

    def __init__(
        self, url: str, token: str | None = None, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self.url = url
        self._http = httpx.AsyncClient(**_settings(url, token), transport=transport)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def submit(self, body: dict[str, Any], key: str | None = None) -> dict[str, Any]:
        """See `Client.submit`."""
        return await self._send(Calls.submit(body, key))

    async def get(self, search_id: str) -> dict[str, Any]:
        """See `Client.get`."""
        return await self._send(Calls.search(search_id))

    async def searches(
        self, state: str | None = None, after: str | None = None, limit: int = 50
    ) -> dict[str, Any]:
        """See `Client.searches`."""
        return await self._send(Calls.searches(state, after, limit))

    async def cancel(self, search_id: str) -> dict[str, Any]:
        """See `Client.cancel`."""
        return await self._send(Calls.cancel(search_id))

    async def resume(self, search_id: str) -> dict[str, Any]:
        """See `Client.resume`."""
        return await self._send(Calls.resume(search_id))

    async def games(self) -> list[dict[str, Any]]:
        """See `Client.games`."""
        games: list[dict[str, Any]] = (await self._send(Calls.games()))["games"]
        return games

    async def game(self, spec: str) -> dict[str, Any]:
        """See `Client.game`."""
        return await self._send(Calls.game(spec))

    async def position(self, spec: str, moves: list[str], position: str | None = None) -> dict[str, Any]:
        """See `Client.position`."""
        return await self._send(Calls.position(spec, moves, position))

    async def events(self, search_id: str, last: int | None = None) -> AsyncIterator[ServiceEvent]:
        """See `Client.events`."""
        tries = 0
        while True:
            try:
                async for event in self._stream(search_id, last):
                    tries, last = 0, event.id or last
                    yield event
                    if event.final:
                        return
                error: Exception = ServiceError("the stream ended", 503)
            except (httpx.TransportError, ServiceError) as broken:
                error = broken
            pause_s = _again_in_s(error, tries)
            if pause_s is None:
                raise _unreachable(error, self.url) from None
            tries += 1
            await asyncio.sleep(pause_s)

    async def wait(self, search_id: str) -> dict[str, Any]:
        """See `Client.wait`."""
        async for _ in self.events(search_id):
            pass
        return await self.get(search_id)

    async def _stream(self, search_id: str, last: int | None) -> AsyncIterator[ServiceEvent]:
        lines, path = _Lines(), Calls.search(search_id).path + "/events"
        headers = _events_headers(last)
        async with self._http.stream("GET", path, headers=headers, timeout=STREAM_S) as response:
            if response.status_code != 200:
                await response.aread()
                _read(response)
            async for line in response.aiter_lines():
                event = lines.take(line)
                if event is not None:
                    yield event

    async def _send(self, call: _Call) -> dict[str, Any]:
        for tries in range(TRIES + 1):
            try:
                return _read(
                    await self._http.request(
                        call.method, call.path, json=call.json, params=call.params, headers=call.headers
                    )
                )
            except (httpx.TransportError, ServiceError) as error:
                pause_s = _again_in_s(error, tries)
                if pause_s is None:
                    raise _unreachable(error, self.url) from None
                await asyncio.sleep(pause_s)
        raise AssertionError("the last try returns or raises")
