"""The web page at `/`: static files of the package, which load nothing from other hosts."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Response
from fastapi import Path as InPath

from cluster.service.errors import Problem

FOLDER = Path(__file__).parents[1] / "page"
INDEX = "index.html"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
PREFIX = "/page/"


def is_page(path: str) -> bool:
    """Whether a path is part of the page, which needs no token because it contains no data."""
    return path == "/" or path.startswith(PREFIX)


router = APIRouter(include_in_schema=False)


@router.get("/")
def index() -> Response:
    return _answer(INDEX)


@router.get(PREFIX + "{name:path}")
def file(name: Annotated[str, InPath()]) -> Response:
    return _answer(name)


@cache
def _files() -> dict[str, bytes]:
    """All files by name, read once, so that no requested name is used as a path."""
    return {
        path.relative_to(FOLDER).as_posix(): path.read_bytes()
        for path in FOLDER.rglob("*")
        if path.suffix in TYPES
    }


def _answer(name: str) -> Response:
    """The response with a file of the page. Raises Problem (404)."""
    content = _files().get(name)
    if content is None:
        raise Problem(404, "there is no such file")
    return Response(content, headers=HEADERS, media_type=TYPES[Path(name).suffix])
