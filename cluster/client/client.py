"""Clients of the HTTP service: `Client` is blocking, `AsyncClient` is for asyncio.

A refused request raises InvalidInput if the server's problem names a field, otherwise `ServiceError`.
Searches are submitted with a unique key, so that a request can be repeated if its answer was lost. A broken
stream of events is continued after the last received event.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx

from cluster.client.calls import (
    FOLLOWS,
    STREAM_S,
    TRIES,
    Call,
    Calls,
    EventLines,
    NothingMore,
    ServiceError,
    ServiceEvent,
    again_in_s,
    check_stream,
    http_settings,
    read_answer,
    stream_headers,
    unreachable,
)

__all__ = ["AsyncClient", "Client", "ServiceError", "ServiceEvent"]


class Client:
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

    def submit(self, body: dict[str, Any], key: str | None = None) -> dict[str, Any]:
        """Submit a search; ``body`` has the fields of the API. Returns the search's description."""
        return self._send(Calls.submit(body, key))

    def get(self, search_id: str) -> dict[str, Any]:
        """The current description of a search."""
        return self._send(Calls.search(search_id))

    def searches(self, state: str | None = None, after: str | None = None, limit: int = 50) -> dict[str, Any]:
        """A page of at most ``limit`` searches, after search ``after``, in the given state."""
        return self._send(Calls.searches(state, after, limit))

    def cancel(self, search_id: str) -> dict[str, Any]:
        """Cancel a search."""
        return self._send(Calls.cancel(search_id))

    def resume(self, search_id: str) -> dict[str, Any]:
        """Resume a search that was cancelled or has failed."""
        return self._send(Calls.resume(search_id))

    def games(self) -> list[dict[str, Any]]:
        """Descriptions of all games."""
        games: list[dict[str, Any]] = self._send(Calls.games())["games"]
        return games

    def game(self, spec: str) -> dict[str, Any]:
        """The description of a game."""
        return self._send(Calls.game(spec))

    def position(self, spec: str, moves: list[str], position: str | None = None) -> dict[str, Any]:
        """The description of a position: legal moves, drawn board, outcome."""
        return self._send(Calls.position(spec, moves, position))

    def events(self, search_id: str, last: int | None = None) -> Iterator[ServiceEvent]:
        """The events of a search until the final one, across broken connections and server restarts."""
        tries = 0
        while True:
            try:
                for event in self._stream(search_id, last):
                    tries, last = 0, event.id or last
                    yield event
                    if event.final:
                        return
                error: Exception = ServiceError("the stream ended", 503)
            except NothingMore:
                return
            except (httpx.TransportError, ServiceError) as broken:
                error = broken
            pause_s = again_in_s(error, tries, FOLLOWS)
            if pause_s is None:
                raise unreachable(error, self.url) from None
            tries += 1
            time.sleep(pause_s)

    def wait(self, search_id: str) -> dict[str, Any]:
        """Wait until a search is over; returns its description."""
        for _ in self.events(search_id):
            pass
        return self.get(search_id)

    def _stream(self, search_id: str, last: int | None) -> Iterator[ServiceEvent]:
        lines, path = EventLines(), Calls.search(search_id).path + "/events"
        with self._http.stream("GET", path, headers=stream_headers(last), timeout=STREAM_S) as response:
            if not check_stream(response):
                response.read()
                read_answer(response)
            for line in response.iter_lines():
                event = lines.take(line)
                if event is not None:
                    yield event

    def _send(self, call: Call) -> dict[str, Any]:
        for tries in range(TRIES + 1):
            try:
                return read_answer(
                    self._http.request(
                        call.method, call.path, json=call.json, params=call.params, headers=call.headers
                    )
                )
            except (httpx.TransportError, ServiceError) as error:
                pause_s = again_in_s(error, tries)
                if pause_s is None:
                    raise unreachable(error, self.url) from None
                time.sleep(pause_s)
        raise AssertionError("the last try returns or raises")


class AsyncClient:
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

    async def submit(self, body: dict[str, Any], key: str | None = None) -> dict[str, Any]:
        """Submit a search, see `Client.submit`."""
        return await self._send(Calls.submit(body, key))

    async def get(self, search_id: str) -> dict[str, Any]:
        """The current description of a search, see `Client.get`."""
        return await self._send(Calls.search(search_id))

    async def searches(
        self, state: str | None = None, after: str | None = None, limit: int = 50
    ) -> dict[str, Any]:
        """A page of searches, see `Client.searches`."""
        return await self._send(Calls.searches(state, after, limit))

    async def cancel(self, search_id: str) -> dict[str, Any]:
        """Cancel a search, see `Client.cancel`."""
        return await self._send(Calls.cancel(search_id))

    async def resume(self, search_id: str) -> dict[str, Any]:
        """Resume a search, see `Client.resume`."""
        return await self._send(Calls.resume(search_id))

    async def games(self) -> list[dict[str, Any]]:
        """Descriptions of all games, see `Client.games`."""
        games: list[dict[str, Any]] = (await self._send(Calls.games()))["games"]
        return games

    async def game(self, spec: str) -> dict[str, Any]:
        """The description of a game, see `Client.game`."""
        return await self._send(Calls.game(spec))

    async def position(self, spec: str, moves: list[str], position: str | None = None) -> dict[str, Any]:
        """The description of a position, see `Client.position`."""
        return await self._send(Calls.position(spec, moves, position))

    async def events(self, search_id: str, last: int | None = None) -> AsyncIterator[ServiceEvent]:
        """The events of a search, see `Client.events`."""
        tries = 0
        while True:
            try:
                async for event in self._stream(search_id, last):
                    tries, last = 0, event.id or last
                    yield event
                    if event.final:
                        return
                error: Exception = ServiceError("the stream ended", 503)
            except NothingMore:
                return
            except (httpx.TransportError, ServiceError) as broken:
                error = broken
            pause_s = again_in_s(error, tries, FOLLOWS)
            if pause_s is None:
                raise unreachable(error, self.url) from None
            tries += 1
            await asyncio.sleep(pause_s)

    async def wait(self, search_id: str) -> dict[str, Any]:
        """Wait until a search is over, see `Client.wait`."""
        async for _ in self.events(search_id):
            pass
        return await self.get(search_id)

    async def _stream(self, search_id: str, last: int | None) -> AsyncIterator[ServiceEvent]:
        lines, path = EventLines(), Calls.search(search_id).path + "/events"
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
        for tries in range(TRIES + 1):
            try:
                return read_answer(
                    await self._http.request(
                        call.method, call.path, json=call.json, params=call.params, headers=call.headers
                    )
                )
            except (httpx.TransportError, ServiceError) as error:
                pause_s = again_in_s(error, tries)
                if pause_s is None:
                    raise unreachable(error, self.url) from None
                await asyncio.sleep(pause_s)
        raise AssertionError("the last try returns or raises")
