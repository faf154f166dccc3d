"""The web page at `/`: static files of the package, which load nothing from other hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from cluster.report.plot_frame import COLOURS

FOLDER = Path(__file__).parents[1] / "page"
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
    return FileResponse(FOLDER / "index.html", headers=HEADERS)


@router.get(f"{PREFIX}strategies.css")
def strategies() -> Response:
    """The colours of strategies, which are those of the figures of commands."""
    rules = "\n".join(f".chart .of-{name} {{ --tone: {colour}; }}" for name, colour in COLOURS.items())
    return Response(rules, media_type="text/css", headers=HEADERS)


class PageFiles(StaticFiles):
    """The files that the page loads, below PREFIX."""

    def file_response(self, *file: Any, **more: Any) -> Response:
        response = super().file_response(*file, **more)
        response.headers.update(HEADERS)
        return response
