"""Clients of the HTTP service: `Client` is blocking, `AsyncClient` is for asyncio.

A refused request raises InvalidInput if the server's problem names a field, otherwise `ServiceError`.
Searches are submitted with a unique key, so that a request can be repeated if its answer was lost. A broken
stream of events is continued after the last received event.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any

import httpx

from cluster.client.calls import (
    FOLLOWS,
    GAMES,
    STREAM_S,
    Call,
    EventLines,
    NothingMore,
    Requests,
    Retries,
    ServiceError,
    ServiceEvent,
    check_stream,
    http_settings,
    path_of,
    read_answer,
    stream_headers,
)

__all__ = ["AsyncClient", "Client", "ServiceError", "ServiceEvent"]


class Client(Requests[dict[str, Any]]):
    """A blocking client of a service."""

    def __init__(
        self, url: str, token: str | None = None, transport: httpx.BaseTransport | None = None
    ) -> None:
        """Raises InvalidInput (field ``server``) if ``url`` is not an address."""
        self.url = url
        self._http = httpx.Client(**http_settings(url, token), transport=transport)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def games(self) -> list[dict[str, Any]]:
        """Descriptions of all games."""
        games: list[dict[str, Any]] = self._send(GAMES)["games"]
        return games

    def events(self, search_id: str, last: int | None = None) -> Iterator[ServiceEvent]:
        """The events of a search until the final one, across broken connections and server restarts."""
        retries = Retries(self.url, FOLLOWS)
        while True:
            try:
                for event in self._stream(search_id, last):
                    retries.tries, last = 0, event.id or last
                    yield event
                    if event.final:
                        return
                error: Exception = ServiceError("the stream ended", 503)
            except NothingMore:
                return
            except (httpx.TransportError, ServiceError) as broken:
                error = broken
            time.sleep(retries.pause_s(error))

    def wait(self, search_id: str) -> dict[str, Any]:
        """Wait until a search is over; returns its description."""
        for _ in self.events(search_id):
            pass
        return self.get(search_id)

    def _stream(self, search_id: str, last: int | None) -> Iterator[ServiceEvent]:
        lines, path = EventLines(), path_of(search_id) + "/events"
        with self._http.stream("GET", path, headers=stream_headers(last), timeout=STREAM_S) as response:
            if not check_stream(response):
                response.read()
                read_answer(response)
            for line in response.iter_lines():
                event = lines.take(line)
                if event is not None:
                    yield event

    def _send(self, call: Call) -> dict[str, Any]:
        retries = Retries(self.url)
        while True:
            try:
                return read_answer(self._http.request(**vars(call)))
            except (httpx.TransportError, ServiceError) as error:
                pause_s = retries.pause_s(error)
            time.sleep(pause_s)


class AsyncClient(Requests[Coroutine[Any, Any, dict[str, Any]]]):
    """A client of a service for asyncio, with the methods of `Client`."""

    def __init__(
        self, url: str, token: str | None = None, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self.url = url
        self._http = httpx.AsyncClient(**http_settings(url, token), transport=transport)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def games(self) -> list[dict[str, Any]]:
        """Descriptions of all games, see `Client.games`."""
        games: list[dict[str, Any]] = (await self._send(GAMES))["games"]
        return games

    async def events(self, search_id: str, last: int | None = None) -> AsyncIterator[ServiceEvent]:
        """The events of a search, see `Client.events`."""
        retries = Retries(self.url, FOLLOWS)
        while True:
            try:
                async for event in self._stream(search_id, last):
                    retries.tries, last = 0, event.id or last
                    yield event
                    if event.final:
                        return
                error: Exception = ServiceError("the stream ended", 503)
            except NothingMore:
                return
            except (httpx.TransportError, ServiceError) as broken:
                error = broken
            await asyncio.sleep(retries.pause_s(error))

    async def wait(self, search_id: str) -> dict[str, Any]:
        """Wait until a search is over, see `Client.wait`."""
        async for _ in self.events(search_id):
            pass
        return await self.get(search_id)

    async def _stream(self, search_id: str, last: int | None) -> AsyncIterator[ServiceEvent]:
        lines, path = EventLines(), path_of(search_id) + "/events"
        headers = stream_headers(last)
        async with self._http.stream("GET", path, headers=headers, timeout=STREAM_S) as response:
            if not check_stream(response):
                await response.aread()
                read_answer(response)
            async for line in response.aiter_lines():
                event = lines.take(line)
                if event is not None:
                    yield event

    async def _send(self, call: Call) -> dict[str, Any]:
        retries = Retries(self.url)
        while True:
            try:
                return read_answer(await self._http.request(**vars(call)))
            except (httpx.TransportError, ServiceError) as error:
                pause_s = retries.pause_s(error)
            await asyncio.sleep(pause_s)
