"""The page of somebody else that plays against the service: deploy/web."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.command import ROOT
from tests.cluster.service.process import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def origin() -> Iterator[str]:
    """Where the folder is served, as its page says."""
    folder = functools.partial(Quiet, directory=str(ROOT / "deploy" / "web"))
    with ThreadingHTTPServer(("127.0.0.1", 0), folder) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


def test_a_game_is_played_from_its_first_move_to_its_last(
    browser: Browser, origin: str, tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    with Server(tmp_path, "--cors-origin", origin) as service:
        page = browser.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{origin}/connect_four.html?service={service.url}")
        status, stones = page.locator("#status"), page.locator("td.first, td.second")
        yours = "Your move: click a column."
        expect(status).to_have_text(yours)
        # Column by column from the left: it is refused where it is full, and lost sooner or later.
        for turn in range(42):
            before = stones.count()
            page.locator("tr").first.locator("td").nth(turn % 7).click()
            expect(status).not_to_have_text("Banyan thinks ...")
            if status.inner_text().startswith("Your move again"):
                assert stones.count() == before
            elif status.inner_text() != yours:
                break
            else:
                assert stones.count() == before + 2
        assert "wins" in status.inner_text()
        assert complaints == []
