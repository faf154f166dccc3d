"""Clients of the HTTP service: `Client` is blocking, `AsyncClient` is for asyncio.

A refused request raises InvalidInput if the server's problem names a field, otherwise `ServiceError`.
Searches are submitted with a unique key, so that a request can be repeated if its answer was lost. A broken
stream of events is continued after the last received event.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx

from cluster.system.processes import LOOPBACK
from games.errors import InvalidInput

TIMEOUT_S = 30.0
"""Time limit of one answer, in seconds; the server may have to compile a game's rules first."""
STREAM_S = 60.0
"""Longest pause on an event stream, in seconds; the server sends pings, so a longer one is a failure."""
TRIES = 3
"""Retries of a request if the server is unreachable or temporarily unable to take it."""
FOLLOWS = 9
"""Retries of a broken event stream; together they are long enough for a restart of the server."""
LONGEST_PAUSE_S = 5.0
POLL_S = 0.5
"""Seconds after which answers of an analysis are asked for again, if there was none."""
LATER = frozenset({429, 502, 503, 504})
PROXIES = {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}
PROXY = "the address of an HTTP proxy, such as http://proxy:3128, or nothing"
Reply = TypeVar("Reply")


class ServiceError(ConnectionError):
    """The service cannot be reached, or refuses a request."""

    def __init__(self, detail: str, status: int | None = None, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.status = status
        """The HTTP status; None without an answer."""
        self.retry_after_s = retry_after_s


@dataclass(frozen=True)
class ServiceEvent:
    """An event of a search."""

    id: int | None
    name: str
    """The kind of event: state, progress or final."""
    data: dict[str, Any]

    @property
    def final(self) -> bool:
        return self.name == "final"


class Requests(ABC, Generic[Reply]):
    """The requests that both clients send. A reply is a JSON object, or a coroutine that returns one."""

    @abstractmethod
    def _send(self, method: str, path: str, **more: Any) -> Reply:
        """Send a request and read its answer; ``more``: as httpx takes it."""

    def submit(self, body: dict[str, Any], key: str | None = None) -> Reply:
        """Submit a search; ``body`` has the fields of the API. Returns the search's description.

        ``key``: with the same key a repeated request returns the same search; None: a new random key.
        """
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        return self._send("POST", "/searches", json=body, headers=headers)

    def get(self, search_id: str) -> Reply:
        """The current description of a search."""
        return self._send("GET", path_of(search_id))

    def searches(self, state: str | None = None, after: str | None = None, limit: int = 50) -> Reply:
        """A page of at most ``limit`` searches in the given state (None: any), the latest first.

        ``after``: ``next`` of the page before; None: the first page.
        """
        params = {"state": state, "after": after, "limit": limit}
        return self._send("GET", "/searches", params={k: v for k, v in params.items() if v is not None})

    def cancel(self, search_id: str) -> Reply:
        """Cancel a search."""
        return self._send("DELETE", path_of(search_id))

    def resume(self, search_id: str) -> Reply:
        """Resume a search that was cancelled or has failed."""
        return self._send("POST", path_of(search_id) + "/resume")

    def analyse(self, body: dict[str, Any], key: str | None = None) -> Reply:
        """Submit an analysis of many positions, as `submit` a search. Returns its description."""
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        return self._send("POST", "/analyses", json=body, headers=headers)

    def analysis(self, analysis_id: str) -> Reply:
        """The current description of an analysis."""
        return self._send("GET", f"/analyses/{quote(analysis_id, safe='')}")

    def cancel_analysis(self, analysis_id: str) -> Reply:
        """Cancel an analysis: positions without an answer get none."""
        return self._send("DELETE", f"/analyses/{quote(analysis_id, safe='')}")

    def _results(self, analysis_id: str, after: int) -> Reply:
        return self._send("GET", f"/analyses/{quote(analysis_id, safe='')}/results?after={after}")

    def game(self, spec: str) -> Reply:
        """The description of a game."""
        return self._send("GET", f"/games/{quote(spec, safe='')}")

    def position(self, spec: str, moves: list[str], position: str | None = None) -> Reply:
        """The description of a position: legal moves, drawn board, outcome."""
        body = {"moves": moves, "position": position}
        return self._send("POST", f"/games/{quote(spec, safe='')}/positions", json=body)

    def move(self, spec: str, body: dict[str, Any]) -> Reply:
        """A player's move; ``body`` has the fields of the API: the position, and the ``player``."""
        return self._send("POST", f"/games/{quote(spec, safe='')}/moves", json=body)


def path_of(search_id: str) -> str:
    """The path of a search."""
    return f"/searches/{quote(search_id, safe='')}"


def http_settings(url: str, token: str | None, transport: Any, direct: Callable[[], Any]) -> dict[str, Any]:
    """Keyword arguments of the HTTP client, which reaches this machine without a proxy.

    ``transport``: the transport of httpx; None: as the environment says. ``direct`` makes one without proxy.
    Raises InvalidInput for a bad address (field ``server``), and for a bad variable of the environment.
    """
    try:
        parts = httpx.URL(url) if "://" in url else httpx.URL(f"http://{url}")
    except httpx.InvalidURL:
        parts = httpx.URL()
    if parts.scheme not in ("http", "https") or not parts.host:
        raise InvalidInput("server", url, "an address such as http://localhost:8000")
    if transport is None and (parts.host in LOOPBACK or parts.host.startswith("127.")):
        transport = direct()
    elif transport is None:
        _check_proxies()
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    # The address of a page that is shown has a fragment.
    base = str(parts.copy_with(query=None, fragment=None)).rstrip("/") + "/api/v1"
    return {"base_url": base, "headers": headers, "timeout": TIMEOUT_S, "transport": transport}


def _check_proxies() -> None:
    """Raise InvalidInput (the variable) if the environment has an address of a proxy that httpx refuses."""
    for name in sorted(PROXIES & os.environ.keys()):
        value = os.environ[name]
        try:
            httpx.HTTPTransport(proxy=value if "://" in value else f"http://{value}")
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            # Without the password.
            raise InvalidInput(name, value.rpartition("@")[2], f"{PROXY} ({error})") from None


def read_answer(response: httpx.Response) -> dict[str, Any]:
    """The JSON object of an answer. Raises InvalidInput or ServiceError if the request was refused."""
    try:
        values = response.json()
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise ServiceError(
            f"an answer that is not from Banyan (status {response.status_code})", response.status_code
        )
    if response.is_success:
        return values
    if response.status_code == 422 and "accepted" in values:
        raise InvalidInput(str(values.get("field")), values.get("value"), str(values["accepted"]))
    after = response.headers.get("Retry-After", "")
    raise ServiceError(
        str(values.get("detail")), response.status_code, float(after) if after.isdigit() else None
    )


class Retries:
    """Decides whether a failed request to a server is sent again."""

    def __init__(self, url: str, most: int = TRIES) -> None:
        """``most``: the largest number of retries."""
        self._url, self._most = url, most
        self.tries = 0
        """Retries since the last success."""

    def pause_s(self, error: Exception) -> float:
        """Seconds to wait before the request is sent again. Raises the error if it should not be."""
        tries, self.tries = self.tries, self.tries + 1
        unreachable = isinstance(error, httpx.TransportError)
        if tries < self._most and unreachable:
            return min(LONGEST_PAUSE_S, 0.2 * 2.0**tries)
        if tries < self._most and isinstance(error, ServiceError) and error.status in LATER:
            return error.retry_after_s or 1.0
        if unreachable:
            error = ServiceError(f"{self._url}: {error or type(error).__name__}")
        raise error from None


class Following(Retries):
    """Reads the event stream of one search: arguments of the next request, and the events in its lines."""

    def __init__(self, url: str, search_id: str, last: int | None) -> None:
        """``last``: the number of the last event that was received, None before the first."""
        super().__init__(url, FOLLOWS)
        self.over = False
        """Whether there is no further event."""
        self._path, self._last = path_of(search_id) + "/events", last
        self._fields: dict[str, str] = {}

    def request(self) -> dict[str, Any]:
        """Arguments of httpx for the events after the last one."""
        self._fields = {}
        last = {} if self._last is None else {"Last-Event-ID": str(self._last)}
        headers = {"Accept": "text/event-stream"} | last
        return {"method": "GET", "url": self._path, "headers": headers, "timeout": STREAM_S}

    def take_answer(self, response: httpx.Response) -> None:
        """Take an answer that is no stream: nothing follows, or it is an error, which is raised."""
        self.over = response.status_code == 204
        if not self.over:
            read_answer(response)

    def take(self, line: str) -> ServiceEvent | None:
        """Take one line; returns the event that it completes, if any."""
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
        event = ServiceEvent(int(number) if number.isdigit() else None, fields.get("event", "message"), data)
        self.tries, self.over, self._last = 0, event.final, event.id or self._last
        return event


class Client(Requests[dict[str, Any]]):
    """A blocking client of a service."""

    def __init__(
        self, url: str, token: str | None = None, transport: httpx.BaseTransport | None = None
    ) -> None:
        """Raises InvalidInput (field ``server``) if ``url`` is not an address."""
        self.url = url
        self._http = httpx.Client(**http_settings(url, token, transport, httpx.HTTPTransport))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def games(self) -> list[dict[str, Any]]:
        """Descriptions of all games."""
        games: list[dict[str, Any]] = self._send("GET", "/games")["games"]
        return games

    def events(self, search_id: str, last: int | None = None) -> Iterator[ServiceEvent]:
        """The events of a search until the final one, across broken connections and server restarts.

        ``last``: id of the last event received before, if any. Raises InvalidInput, ServiceError.
        """
        following = Following(self.url, search_id, last)
        while True:
            error: Exception = ServiceError("the stream ended", 503)
            try:
                with self._http.stream(**following.request()) as response:
                    if response.status_code != 200:
                        response.read()
                        following.take_answer(response)
                    for line in response.iter_lines():
                        if event := following.take(line):
                            yield event
                        if following.over:
                            return
            except (httpx.TransportError, ServiceError) as broken:
                error = broken
            if following.over:
                return
            time.sleep(following.pause_s(error))

    def wait(self, search_id: str) -> dict[str, Any]:
        """Wait until a search is over; returns its description."""
        for _ in self.events(search_id):
            pass
        return self.get(search_id)

    def results(self, analysis_id: str, after: int = 0) -> Iterator[dict[str, Any]]:
        """The answers of an analysis beyond the first ``after`` ones, as they are found, until it is over;
        each exactly once, also across restarts of the server."""
        seen: int | None = after
        while seen is not None:
            page = self._results(analysis_id, seen)
            yield from page["results"]
            seen = page["next"]
            time.sleep(0.0 if page["results"] else POLL_S)

    def _send(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        retries = Retries(self.url)
        while True:
            try:
                return read_answer(self._http.request(method, path, **more))
            except (httpx.TransportError, ServiceError) as error:
                time.sleep(retries.pause_s(error))


class AsyncClient(Requests[Coroutine[Any, Any, dict[str, Any]]]):
    """A client of a service for asyncio, with the methods of `Client`."""

    def __init__(
        self, url: str, token: str | None = None, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self.url = url
        self._http = httpx.AsyncClient(**http_settings(url, token, transport, httpx.AsyncHTTPTransport))

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def games(self) -> list[dict[str, Any]]:
        """Descriptions of all games, see `Client.games`."""
        games: list[dict[str, Any]] = (await self._send("GET", "/games"))["games"]
        return games

    async def events(self, search_id: str, last: int | None = None) -> AsyncIterator[ServiceEvent]:
        """The events of a search, see `Client.events`."""
        following = Following(self.url, search_id, last)
        while True:
            error: Exception = ServiceError("the stream ended", 503)
            try:
                async with self._http.stream(**following.request()) as response:
                    if response.status_code != 200:
                        await response.aread()
                        following.take_answer(response)
                    async for line in response.aiter_lines():
                        if event := following.take(line):
                            yield event
                        if following.over:
                            return
            except (httpx.TransportError, ServiceError) as broken:
                error = broken
            if following.over:
                return
            await asyncio.sleep(following.pause_s(error))

    async def wait(self, search_id: str) -> dict[str, Any]:
        """Wait until a search is over, see `Client.wait`."""
        async for _ in self.events(search_id):
            pass
        return await self.get(search_id)

    async def results(self, analysis_id: str, after: int = 0) -> AsyncIterator[dict[str, Any]]:
        """The answers of an analysis, see `Client.results`."""
        seen: int | None = after
        while seen is not None:
            page = await self._results(analysis_id, seen)
            for answer in page["results"]:
                yield answer
            seen = page["next"]
            await asyncio.sleep(0.0 if page["results"] else POLL_S)

    async def _send(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        retries = Retries(self.url)
        while True:
            try:
                return read_answer(await self._http.request(method, path, **more))
            except (httpx.TransportError, ServiceError) as error:
                await asyncio.sleep(retries.pause_s(error))
