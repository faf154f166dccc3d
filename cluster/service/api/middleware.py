"""Checks of every request before its route: token, origin, and size of the body."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cluster.service.api.connections import address_of
from cluster.service.api.page_routes import is_page
from cluster.service.api.tokens import LOOPBACK, Tokens
from cluster.service.errors import Problem, shown
from cluster.service.limits import Limits, of_one
from cluster.service.service_figures import OTHER, ServiceFigures

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Paths without a token: health probes, whose answers contain no data."""
BODY_S = 30.0
"""Seconds that a client may take to send a body."""
OWN_SITES = frozenset({None, "none", "same-origin"})
"""Values of the header Sec-Fetch-Site of requests that do not come from pages of other origins."""
PAGE_PATH = "/"
_JSON = re.compile(r"application/(.+\+)?json")
_SURROGATE = re.compile("[\ud800-\udfff]")
_HOST = re.compile(r"(\[[0-9a-fA-F:]+\]|[^:\[\]]+)(?::[0-9]+)?")


class Guard:
    """ASGI middleware that checks and counts all requests."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        tokens: Tokens,
        origins: Sequence[str],
        limits: Limits,
        figures: ServiceFigures,
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._origins = frozenset(origins)
        self._body_bytes = limits.body_bytes
        self._most, self._most_of_one = limits.connections, of_one(limits.connections)
        self._answered: Counter[str] = Counter()
        """Number of requests being answered, by address."""
        self._figures = figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started_s = time.perf_counter()
        begun = False

        def count(status: int) -> None:
            route = getattr(scope.get("route"), "path", OTHER)
            self._figures.answered(scope["method"], route, status, time.perf_counter() - started_s)

        async def counted(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                count(message["status"])
            await send(message)

        try:
            with self._place(scope):
                self._check(scope)
                if not is_open(scope["path"]):
                    receive = await self._body(scope, receive)
                await self._app(scope, receive, counted)
        except ClientDisconnect:
            pass
        except Problem as problem:
            await problem.response()(scope, receive, counted)
        except asyncio.CancelledError:
            if begun:
                raise
            ending = Problem(503, "the server ends before it has this answer", {"Retry-After": "5"})
            await ending.response()(scope, receive, counted)
        except Exception:
            # The error handler is outside of this middleware.
            if not begun:
                count(500)
            raise

    @contextmanager
    def _place(self, scope: Scope) -> Iterator[None]:
        """Count a request among those being answered, except probes. Raises Problem (503) if there are too
        many."""
        if scope["path"] in OPEN_PATHS:
            yield
            return
        address = address_of(scope.get("client"))
        if self._answered.total() >= self._most or self._answered[address] >= self._most_of_one:
            self._figures.refused("too_many_connections")
            detail = "too many requests are being answered, in total or from this address"
            raise Problem(503, detail, {"Retry-After": "5", "Connection": "close"})
        self._answered[address] += 1
        try:
            yield
        finally:
            self._answered -= Counter([address])

    def _check(self, scope: Scope) -> None:
        """Raise Problem for a request that must be refused."""
        headers = Headers(scope=scope)
        path = scope["path"]
        if "transfer-encoding" in headers and "content-length" in headers:
            # Which of them ends the body? A proxy may think otherwise, and take the rest for another request.
            detail = "Content-Length is not accepted together with Transfer-Encoding"
            raise Problem(400, detail, {"Connection": "close"}, field="Content-Length")
        # DNS rebinding: a page whose host name was made to resolve to this machine sends its own name.
        if not self._tokens and _host_of(headers.get("host", "")) not in LOOPBACK:
            self._figures.refused("host")
            raise Problem(
                421, "this server answers to localhost only", field="Host", value=headers.get("host")
            )
        self._check_page(headers, path)
        preflight = scope["method"] == "OPTIONS" and "access-control-request-method" in headers
        if is_open(path) or preflight:
            return
        if not self._tokens.accept(headers.get("authorization")):
            self._figures.refused("unauthorized")
            detail = "a token is required: Authorization: Bearer TOKEN"
            raise Problem(401, detail, {"WWW-Authenticate": "Bearer"}, field="Authorization")

    def _check_page(self, headers: Headers, path: str) -> None:
        """Raise Problem (403) for a request from a page of another origin.

        For images and links browsers send no Origin, but Sec-Fetch-Site.
        """
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None:
            if origin in self._origins:
                return
            if origin.partition("://")[2] != headers.get("host", ""):
                self._figures.refused("host")
                raise Problem(403, "pages of other origins are not allowed", field="Origin", value=origin)
        # Links from other origins to the page are allowed.
        if site not in OWN_SITES and path != PAGE_PATH:
            self._figures.refused("host")
            raise Problem(403, "pages of other origins are not allowed", field="Sec-Fetch-Site", value=site)

    async def _body(self, scope: Scope, receive: Receive) -> Receive:
        """Read the whole body; returns a receive function that replays it. Raises Problem (408, 413, 415)."""
        headers = Headers(scope=scope)
        declared = headers.get("content-length", "0")
        if not declared.isdigit() or int(declared) > self._body_bytes:
            raise self._too_large()
        body = b""
        try:
            async with asyncio.timeout(BODY_S):
                async for part in Request(scope, receive).stream():
                    body += part
                    if len(body) > self._body_bytes:
                        raise self._too_large()
        except TimeoutError:
            raise Problem(408, f"the body took longer than {BODY_S:g} s", {"Connection": "close"}) from None
        if body and scope["method"] == "POST":
            _check_type(headers.get("content-type"))
            body = without_surrogates(body)
        given: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Message:
            return given.pop() if given else await receive()

        return again

    def _too_large(self) -> Problem:
        self._figures.refused("too_large")
        accepted = f"at most {self._body_bytes} bytes"
        return Problem(413, f"the body is too large: {accepted}", {"Connection": "close"}, accepted=accepted)


def is_open(path: str) -> bool:
    """Whether a path needs no token: probes and the page. Bodies sent there are not read."""
    return path in OPEN_PATHS or is_page(path)


def without_surrogates(body: bytes) -> bytes:
    """JSON in which lone surrogates, which no answer could repeat, are the text of their escapes."""
    try:
        text = json.dumps(json.loads(body), ensure_ascii=False)
    except (ValueError, RecursionError):
        return body
    return _SURROGATE.sub(lambda lone: f"\\\\u{ord(lone[0]):x}", text).encode()


def _check_type(content_type: str | None) -> None:
    """Raise Problem (415) for a body whose content type is not JSON."""
    kind = (content_type or "").partition(";")[0].strip().lower()
    if not _JSON.fullmatch(kind):
        detail = f"Content-Type: {shown(content_type)!r} is not accepted; expected application/json"
        value = shown(content_type)
        raise Problem(415, detail, field="Content-Type", value=value, accepted="application/json")


def _host_of(header: str) -> str:
    match = _HOST.fullmatch(header)
    return "" if match is None else match[1].strip("[]").lower()
