"""Checks of every request before its route: token, origin, and size of the body."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import quote, unquote

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cluster.service.api.connections import address_of
from cluster.service.api.page_routes import is_page
from cluster.service.api.tokens import Tokens
from cluster.service.errors import Problem, of_input, shown
from cluster.service.limits import Limits, of_one
from cluster.service.service_figures import OTHER, ServiceFigures
from cluster.system.processes import LOOPBACK
from games.errors import InvalidInput

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Paths without a token: health probes, whose answers contain no data."""
ANALYSES_PATH = "/api/v1/analyses"
"""The path to which larger bodies are sent."""
BODY_S = 30.0
"""Seconds that a client may take to send a body."""
OWN_SITES = frozenset({None, "none", "same-origin"})
"""Values of the header Sec-Fetch-Site of requests that do not come from pages of other origins."""
PAGE_PATH = "/"
_JSON = re.compile(r"application/(.+\+)?json")
_PLAIN = re.compile("(identity)?")
_PREFIX = re.compile(r"(/[^/?#\s]+)*/?")
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
        root_path: str = "",
    ) -> None:
        self._app = app
        self._root_path = root_path
        self._tokens = tokens
        self._origins = frozenset(origins)
        self._body_bytes, self._analysis_bytes = limits.body_bytes, limits.analysis_bytes
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
            scope = self._inside(scope)
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

    def _inside(self, scope: Scope) -> Scope:
        """A request without the prefix of a proxy, where its path has one, and with GET for HEAD.

        Raises Problem (308) for the prefix alone: the paths of the page are relative to what is below it.
        """
        path = scope["path"].removeprefix(self._root_path)
        if not path:
            below = f"{scope['path'].rpartition('/')[2]}/"
            raise Problem(308, f"the page is at {below}", {"Location": quote(below)})
        # uvicorn leaves out the body of an answer to HEAD. An event stream would have no end.
        as_get = scope["method"] == "HEAD" and not path.endswith("/events")
        return {
            **scope,
            "path": path if path.startswith("/") else scope["path"],
            "method": "GET" if as_get else scope["method"],
        }

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
            accepted = f"{' or '.join(LOOPBACK)}; a server with a token (--token-file) has any name"
            raise self._of_other_host(421, InvalidInput("Host", headers.get("host"), accepted))
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
            if origin.partition("://")[2] != (host := headers.get("host", "")):
                accepted = (
                    f"a page of {shown(host)!r}, the Host of this request, or of a --cors-origin; a proxy "
                    "must pass on the Host that it was sent (nginx: proxy_set_header Host $http_host)"
                )
                raise self._of_other_host(403, InvalidInput("Origin", origin, accepted))
        # Links from other origins to the page are allowed.
        if site not in OWN_SITES and path != PAGE_PATH:
            accepted = "a page of this server, or of a --cors-origin"
            raise self._of_other_host(403, InvalidInput("Sec-Fetch-Site", site, accepted))

    def _of_other_host(self, status: int, error: InvalidInput) -> Problem:
        self._figures.refused("host")
        return of_input(error, status)

    async def _body(self, scope: Scope, receive: Receive) -> Receive:
        """Read the whole body; returns a receive function that replays it. Raises Problem (408, 413, 415)."""
        headers = Headers(scope=scope)
        declared = headers.get("content-length", "0")
        most = self._analysis_bytes if scope["path"] == ANALYSES_PATH else self._body_bytes
        if not declared.isdigit() or int(declared) > most:
            raise self._too_large(most)
        body = b""
        try:
            async with asyncio.timeout(BODY_S):
                async for part in Request(scope, receive).stream():
                    body += part
                    if len(body) > most:
                        raise self._too_large(most)
        except TimeoutError:
            raise Problem(408, f"the body took longer than {BODY_S:g} s", {"Connection": "close"}) from None
        if body and scope["method"] == "POST":
            _check_type(headers)
            body = without_surrogates(body)
        given: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Message:
            return given.pop() if given else await receive()

        return again

    def _too_large(self, most: int) -> Problem:
        self._figures.refused("too_large")
        accepted = f"at most {most} bytes"
        return Problem(413, f"the body is too large: {accepted}", {"Connection": "close"}, accepted=accepted)


def read_root_path(text: str) -> str:
    """A prefix of paths, decoded, with no slash at its end. Raises InvalidInput (field ``root_path``)."""
    if not _PREFIX.fullmatch(text):
        raise InvalidInput("root_path", text, "a path such as /banyan")
    return unquote(text.rstrip("/"))


def is_open(path: str) -> bool:
    """Whether a path needs no token: probes and the page. Bodies sent there are not read."""
    return path in OPEN_PATHS or is_page(path)


def without_surrogates(body: bytes) -> bytes:
    """The body with lone surrogates, which no answer could repeat, replaced by the text of their escapes.

    Raises Problem (422) for a body that is not UTF-8, is nested too deeply, or has numbers of too many
    digits. Malformed JSON is returned unchanged.
    """
    try:
        text = json.dumps(json.loads(body), ensure_ascii=False)
    except json.JSONDecodeError:
        return body
    except (ValueError, RecursionError):
        accepted = "JSON in UTF-8, not nested deeply, with numbers of at most 4300 digits"
        raise of_input(InvalidInput("body", body.decode(errors="replace"), accepted)) from None
    return _SURROGATE.sub(lambda lone: f"\\\\u{ord(lone[0]):x}", text).encode()


def _check_type(headers: Headers) -> None:
    """Raise Problem (415) for a body whose content type is not JSON, or that is compressed."""
    for field, accepted, form in (
        ("Content-Type", "application/json", _JSON),
        ("Content-Encoding", "identity", _PLAIN),
    ):
        value = headers.get(field)
        if not form.fullmatch((value or "").partition(";")[0].strip().lower()):
            raise of_input(InvalidInput(field, value, accepted), 415, {"Accept-Encoding": "identity"})


def _host_of(header: str) -> str:
    match = _HOST.fullmatch(header)
    return "" if match is None else match[1].strip("[]").lower()
