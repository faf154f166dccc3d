"""What every request passes before any route sees it: who asks, from where, and how much is sent."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cluster.service.page_routes import is_page
from cluster.service.problems import Problem
from cluster.service.service_figures import OTHER, ServiceFigures
from cluster.service.tokens import LOOPBACK, Tokens

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""For probes, which have no token and are told no more than yes or no."""
BODY_S = 30.0
"""How long a client may take to send its body."""
_HOST = re.compile(r"(\[[0-9a-fA-F:]+\]|[^:\[\]]+)(?::[0-9]+)?")


class Guard:
    """An ASGI application around another."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        tokens: Tokens,
        origins: Sequence[str],
        body_bytes: int,
        figures: ServiceFigures,
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._origins = frozenset(origins)
        self._body_bytes = body_bytes
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
            self._check(scope)
            receive = await self._body(Headers(scope=scope), receive)
        except Problem as problem:
            await problem.response()(scope, receive, counted)
            return
        try:
            await self._app(scope, receive, counted)
        except Exception:
            # What answers it is around this.
            if not begun:
                count(500)
            raise

    def _check(self, scope: Scope) -> None:
        """Raises Problem for a request that is not answered."""
        headers = Headers(scope=scope)
        path = scope["path"]
        # A page of elsewhere whose name was made to mean this machine asks with its own name.
        if not self._tokens and _host_of(headers.get("host", "")) not in LOOPBACK:
            self._figures.refused("host")
            raise Problem(
                421, "this server answers to localhost only", field="Host", value=headers.get("host")
            )
        origin = headers.get("origin")
        if origin is not None and not self._may_ask(origin, headers.get("host", "")):
            self._figures.refused("host")
            raise Problem(403, "pages of other origins may not ask", field="Origin", value=origin)
        preflight = scope["method"] == "OPTIONS" and "access-control-request-method" in headers
        if path in OPEN_PATHS or is_page(path) or preflight:
            return
        if not self._tokens.accept(headers.get("authorization")):
            self._figures.refused("unauthorized")
            detail = "a token is needed: Authorization: Bearer TOKEN"
            raise Problem(401, detail, {"WWW-Authenticate": "Bearer"}, field="Authorization")

    def _may_ask(self, origin: str, host: str) -> bool:
        return origin in self._origins or urlsplit(origin).netloc == host

    async def _body(self, headers: Headers, receive: Receive) -> Receive:
        """All of the body, read here, for whoever receives next. Raises Problem (408, 413)."""
        declared = headers.get("content-length", "0")
        if not declared.isdigit() or int(declared) > self._body_bytes:
            raise self._too_large()
        body = b""
        try:
            async with asyncio.timeout(BODY_S):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        break
                    body += message.get("body", b"")
                    if len(body) > self._body_bytes:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise Problem(408, f"the body took longer than {BODY_S:g} s", {"Connection": "close"}) from None
        given = False

        async def again() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        return again

    def _too_large(self) -> Problem:
        self._figures.refused("too_large")
        accepted = f"at most {self._body_bytes} bytes"
        return Problem(413, f"the body is too large: {accepted}", {"Connection": "close"}, accepted=accepted)


def _host_of(header: str) -> str:
    match = _HOST.fullmatch(header)
    return "" if match is None else match[1].strip("[]").lower()
