"""A browser and a server, each one for all tests of a file, and somebody who looks at the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.cluster.service.process import Server

if TYPE_CHECKING:
    # `make test` installs no playwright, and runs no test that asks for these fixtures.
    from playwright.sync_api import Browser

    from tests.cluster.service.browser import Visitor


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from tests.cluster.service.browser import chromium

    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One for all tests of a file, with the options that it has as SERVER."""
    with Server(tmp_path_factory.mktemp("data"), *getattr(request.module, "SERVER", ())) as found:
        yield found


@pytest.fixture
def visitor(browser: Browser, server: Server) -> Iterator[Visitor]:
    from tests.cluster.service.browser import Visitor

    found = Visitor(browser, server.url)
    yield found
    found.leave()
    assert found.complaints == []
    assert found.hosts == {server.url.removeprefix("http://")}
