"""Clients that send slowly, read slowly, or hold connections: nobody else waits for them."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI
from uvicorn.server import ServerState

from cluster.service.api.connections import Patience, Waiting, address_of, bounded
from cluster.service.api.search_routes import router
from cluster.service.errors import install
from cluster.service.limits import Limits
from cluster.service.live import FINAL, KEPT, PROGRESS, Feed
from cluster.service.service_figures import ServiceFigures
from tests.cluster.service.process import Server, http
from tests.waiting import PATIENCE_S, eventually

MOST, OF_ONE = 40, 30
HALF_A_HEADER = b"GET /version HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
STREAM = "GET /api/v1/searches/{}/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
PROBES = ("/healthz", "/readyz")
SERVER = ("--max-connections", str(MOST))
TOO_MANY = 'banyan_refused_requests_total{reason="too_many_connections"}'


def connected(stack: ExitStack, server: Server, sent: bytes) -> socket.socket:
    connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S))
    connection.sendall(sent)
    return connection


@pytest.mark.parametrize(
    "sent",
    [b"", HALF_A_HEADER, b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"],
    ids=["nothing", "half a header", "no body"],
)
def test_who_holds_connections_keeps_nobody_out(server: Server, sent: bytes) -> None:
    before = server.count(TOO_MANY)
    with ExitStack() as stack:
        for _ in range(5 * MOST):
            connected(stack, server, sent)
        for path in (*PROBES, "/version", "/api/v1/searches"):
            assert http.get(server.url + path).status_code == 200
        assert server.count(TOO_MANY) >= before + 5 * MOST - OF_ONE


def test_probes_are_answered_while_an_address_has_all_its_requests(server: Server) -> None:
    client = server.client()
    search_id = client.submit({"game": "gomoku:size=5", "seconds": 60, "lanes": 2})["id"]
    with ExitStack() as stack:
        streams = [connected(stack, server, STREAM.format(search_id).encode()) for _ in range(OF_ONE)]
        for stream in streams:
            assert stream.recv(15) == b"HTTP/1.1 200 OK"
        refused = http.get(f"{server.url}/version")
        assert refused.status_code == 503 and int(refused.headers["Retry-After"]) > 0
        assert refused.headers["Connection"] == "close"
        for path in PROBES:
            assert http.get(server.url + path).status_code == 200
        streams[0].close()
        eventually(lambda: http.get(f"{server.url}/version").status_code == 200)
    client.cancel(search_id)
    client.wait(search_id)


def test_a_kept_connection_may_ask_again(server: Server) -> None:
    request = b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with ExitStack() as stack:
        kept = connected(stack, server, b"")
        for parts in ((request,), (request[:20], request[20:]), (request,)):
            for part in parts:
                kept.sendall(part)
            answer = b""
            while not answer.endswith(b"}"):
                answer += kept.recv(4096)
            assert answer.startswith(b"HTTP/1.1 200 OK")


def test_a_request_with_two_lengths_is_refused_and_its_connection_closed(server: Server) -> None:
    head = b"POST /api/v1/searches HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    body = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    with ExitStack() as stack:
        connection = connected(
            stack, server, head + body + b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n"
        )
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1") == 1
    assert b"Content-Length" in answer.partition(b"\r\n\r\n")[2]


class Streams:
    """The event streams of a search in an application without a server."""

    def __init__(self, most: int) -> None:
        self.figures, self.feed = ServiceFigures(), Feed(1)
        live = SimpleNamespace(feed=self.feed, final_event=None)
        app = FastAPI()
        app.include_router(router)
        install(app)
        app.state.searches = SimpleNamespace(
            figures=self.figures, limits=Limits(streams=most), readable=lambda _: live, live=lambda _: live
        )
        self._app = app

    async def follow(self, address: str, receive: Any, send: Any) -> None:
        scope = {"type": "http", "method": "GET", "path": "/searches/any/events", "client": (address, 1)}
        await self._app(scope | {"query_string": b"", "headers": []}, receive, send)


def test_streams_that_open_at_the_same_time_are_limited_too() -> None:
    async def run() -> None:
        it = Streams(4)
        told: asyncio.Queue[Any] = asyncio.Queue()
        streams: list[asyncio.Task[None]] = []
        async with asyncio.timeout(PATIENCE_S):
            for address, refused in (("a", 2), ("b", 6)):
                follow = partial(it.follow, address, asyncio.Event().wait, told.put)
                streams += [asyncio.create_task(follow()) for _ in range(5)]
                while sum(stream.done() for stream in streams) < refused:
                    await asyncio.sleep(0.01)
        assert it.figures.streams == {"a": 3, "b": 1}
        it.feed.close()
        await asyncio.gather(*streams)
        statuses = Counter(told.get_nowait().get("status") for _ in range(told.qsize()))
        assert (statuses[200], statuses[429]) == (4, 6)
        assert not it.figures.streams

    asyncio.run(run())


@pytest.mark.parametrize("reads", [True, False])
def test_a_client_that_is_gone_is_followed_by_no_event(reads: bool) -> None:
    async def run() -> None:
        it, gone, began = Streams(4), asyncio.Event(), asyncio.Event()

        async def receive() -> dict[str, str]:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message.get("body"):
                began.set()
                await asyncio.sleep(0 if reads else 2 * PATIENCE_S)

        async with asyncio.timeout(PATIENCE_S):
            stream = asyncio.create_task(it.follow("a", receive, send))
            while not began.is_set():
                it.feed.publish(PROGRESS, {})
                await asyncio.sleep(0.01)
            assert it.feed.followed and it.figures.streams == {"a": 1}
            gone.set()
            await stream
            while it.feed.followed:
                await asyncio.sleep(0.01)
        assert not it.figures.streams

    asyncio.run(run())


def test_who_follows_slowly_keeps_no_event_that_is_stored_no_more() -> None:
    async def run() -> None:
        feed, seen = Feed(0), []
        feed.publish(PROGRESS, {})
        events = feed.follow(feed.last)
        for _ in range(3):
            for _ in range(2 * KEPT):
                feed.publish(PROGRESS, {})
            seen.append(await anext(events))
            assert seen[-1] in feed.after(0)[0]
        feed.publish(FINAL, {})
        seen += [event async for event in events]
        numbers = [event.id for event in seen]
        assert numbers == sorted(set(numbers)) and seen[-1].name == FINAL

    asyncio.run(run())


async def answers(scope: Any, receive: Any, send: Any) -> None:
    """An application that reads all of the body and answers much more than buffers hold."""
    while (await receive()).get("more_body"):
        pass
    length = 2**25 if scope["path"] == "/much" else 2
    head = [(b"content-length", str(length).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    for begin in range(0, length, 2**16):
        part = b"x" * min(2**16, length - begin)
        await send({"type": "http.response.body", "body": part, "more_body": begin + len(part) < length})


POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
MUCH = b"GET /much HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "drips", "answered"),
    [
        (b"", False, b""),
        (HALF_A_HEADER, False, b"HTTP/1.1 408 "),
        (HALF_A_HEADER, True, b"HTTP/1.1 408 "),
        (POST, True, b""),
    ],
    ids=["nothing", "half a header", "a header that drips", "a body that drips"],
)
def test_a_request_has_a_time_limit(sent: bytes, drips: bool, answered: bytes) -> None:
    async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)

        async def drip() -> None:
            while drips:
                writer.write(b"x")
                await asyncio.sleep(0.01)

        dripping = asyncio.create_task(drip())
        # Who still writes may lose the answer by a reset.
        with suppress(ConnectionResetError):
            assert (await reader.read()).startswith(answered)
        dripping.cancel()

    assert served(ask, Patience(head_s=0.2, request_s=0.2)).refusals["too_slow"] == 1


def test_who_does_not_read_is_not_waited_for() -> None:
    async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(MUCH)
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        while figures.refusals["too_slow"] == 0:
            await asyncio.sleep(0.01)
        reader._transport.resume_reading()  # type: ignore[attr-defined]
        with suppress(ConnectionError):
            assert len(await reader.read()) < 2**25

    figures = ServiceFigures()
    served(ask, Patience(stalled_s=0.1), figures)


def test_who_reads_slowly_gets_everything() -> None:
    async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(MUCH)
        await reader.readuntil(b"\r\n\r\n")
        for _ in range(32):
            await reader.readexactly(2**20)
            await asyncio.sleep(0.05)

    # Longer in all than it may stall at once, which is longer than a busy machine pauses.
    assert served(ask, Patience(head_s=0.5, request_s=0.5, stalled_s=1.0)).refusals["too_slow"] == 0


def served(
    ask: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    patience: Patience,
    figures: ServiceFigures | None = None,
) -> ServiceFigures:
    """What is counted while a client asks `answers` on a connection of its own."""
    figures = figures or ServiceFigures()
    protocol = bounded(MOST, figures, patience)
    config = uvicorn.Config(answers, http=protocol, log_config=None, lifespan="off", ws="none")
    config.load()

    async def run() -> None:
        loop, state = asyncio.get_running_loop(), ServerState()
        server = await loop.create_server(lambda: protocol(config, state, {}), "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        async with asyncio.timeout(PATIENCE_S):
            await ask(reader, writer)
        writer.close()
        server.close()
        while state.connections:
            await asyncio.sleep(0.01)

    asyncio.run(run())
    return figures


def test_who_has_waited_longest_makes_room() -> None:
    waiting = Waiting[int](8)
    assert [waiting.add(number, "a") for number in range(1, 7)] == [None] * 6
    assert waiting.add(7, "a") == 1
    waiting.remove(1, "a")
    assert waiting.add(2, "a") is None
    assert [waiting.add(number, f"b{number}") for number in (8, 9)] == [None] * 2
    # Too many in all: the address with most of them has to give one.
    assert waiting.add(10, "c") == 2
    waiting.remove(2, "a")
    waiting.remove(2, "a")
    assert waiting.add(11, "c") == 3


def test_an_address_of_ipv6_is_that_of_its_network() -> None:
    assert address_of(("2001:db8::1", 1)) == address_of(("2001:db8::ffff:2", 9))
    assert address_of(("2001:db8:0:1::1", 1)) != address_of(("2001:db8::1", 1))
    assert address_of(("::ffff:192.0.2.7", 1)) == address_of(("192.0.2.7", 4)) == "192.0.2.7"
    assert address_of(("fe80::1%eth0", 1)) and address_of(None) == ""
