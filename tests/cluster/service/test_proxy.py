"""Behind nginx, as deploy/nginx/ configures it: without a prefix, with one that it removes or keeps."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import httpx
import pytest

from cluster.client.client import Client
from tests.cluster.command import banyan
from tests.cluster.prometheus import DEPLOY, free_port
from tests.cluster.service.process import Server, http
from tests.waiting import PATIENCE_S, eventually

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
TOKEN = "correct.horse.battery.staple"
KEPT = "/user/a b/absproxy/8000"
PREFIXES = ["", "/banyan", "/user/a%20b/absproxy/8000"]
"""Of the proxy: none, one that it removes, and one that it keeps."""
ANSWER = {"game": "tictactoe", "simulations": 200, "seed": 2**63 - 1}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("service")
    (folder / "tokens").write_text(TOKEN)
    options = ("--token-file", str(folder / "tokens"), "--root-path", f"{PREFIXES[2]}/")
    with Server(folder / "data", *options) as server:
        yield server


@pytest.fixture(scope="module")
def proxy(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its address."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    removing = (
        (DEPLOY / "nginx/banyan.conf").read_text().replace("127.0.0.1:8000", f"127.0.0.1:{server.port}")
    )
    keeping = removing.replace(f":{server.port}/", f":{server.port}")
    locations = [
        removing,
        removing.replace("location /banyan/", "location /"),
        keeping.replace("location /banyan/", f'location "{KEPT}/"'),
        keeping.replace("location /banyan/", "location /plain/").replace("proxy_set_header Host", "#"),
    ]
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log stderr; events {{}} http {{ access_log off; {paths}\n"
        f"server {{ listen 127.0.0.1:{port};\n{''.join(locations)}\n}} }}"
    )
    process = subprocess.Popen([NGINX, "-e", "stderr", "-c", str(folder / "nginx.conf")])
    try:
        url = f"http://127.0.0.1:{port}"
        eventually(lambda: answers(url), within_s=PATIENCE_S)
        yield url
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def answers(url: str) -> bool:
    try:
        return http.get(f"{url}/healthz").is_success
    except httpx.TransportError:
        return False


@pytest.mark.parametrize("prefix", PREFIXES)
def test_all_links_lead_to_the_service(proxy: str, prefix: str) -> None:
    url = f"{proxy}{prefix}"
    with httpx.Client(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=PATIENCE_S) as http:
        # Without its last slash the page would look for its files elsewhere.
        page = http.get(url, follow_redirects=True)
        assert str(page.url).endswith(f"{prefix}/" if prefix else "")
        files = re.findall(r'(?:href|src)="([^#"]*)"', page.text)
        assert len(files) > 8
        for file in files:
            assert http.head(urljoin(f"{url}/", file)).status_code == 200
        posted = http.post(f"{url}/api/v1/searches", json=ANSWER, headers={"Origin": proxy})
        found = http.get(urljoin(str(posted.url), posted.headers["Location"]))
        assert found.json()["id"] == posted.json()["id"]
        document = f"{url}/api/v1/openapi.json"
        (root,) = http.get(document).json()["servers"]
        assert urljoin(document, root["url"]) == f"{url}/"
        assert "banyan_alive_workers" in http.get(f"{url}/metrics").text
        assert http.get(f"{url}/api/v1/searches/").status_code == 404


@pytest.mark.parametrize("prefix", PREFIXES)
def test_events_come_through_as_they_happen(proxy: str, prefix: str) -> None:
    with Client(f"{proxy}{prefix}/#/cluster", TOKEN) as client:
        # It ends only after an event of it has come.
        search_id = client.submit({"game": "gomoku", "simulations": 50_000_000})["id"]
        for event in client.events(search_id):
            if event.name == "progress":
                client.cancel(search_id)
        assert event.final and event.data["state"] == "cancelled"


@pytest.mark.slow
@pytest.mark.parametrize("prefix", PREFIXES)
def test_the_page_works_in_a_browser(browser: Browser, proxy: str, prefix: str) -> None:
    from playwright.sync_api import expect

    from tests.cluster.service.browser import Visitor

    found = Visitor(browser, f"{proxy}{prefix}", "cluster")
    page = found.page
    page.fill("#token", TOKEN)
    page.keyboard.press("Enter")
    expect(page.locator("#cluster-state")).to_contain_text("Ready: 1 of 1 workers alive")
    expect(page.locator("#cluster-command")).to_have_text(f"banyan search gomoku --server {proxy}{prefix}")
    page.click("#to-play")
    found.begin("tictactoe", "person", "search", 200)
    found.make("b2")
    assert found.my_turn() and len(found.played) == 2
    page.click("#to-searches")
    page.locator("#searches-rows a").first.click()
    expect(page.locator("#watch .state")).to_have_text("done")
    assert found.hosts == {urlsplit(proxy).netloc}
    # Whoever has another service below the same host is not given the token.
    assert page.evaluate("Object.keys(sessionStorage)") == [f"banyan-token {proxy}{prefix}"]
    found.leave()
    assert [each for each in found.complaints if "401" not in each] == []


def test_the_command_searches_through_a_prefix(proxy: str) -> None:
    search = ("search", "tictactoe", "--simulations", "200", "--server", f"{proxy}/banyan", "--json")
    status, out, _ = banyan(*search, BANYAN_TOKEN=TOKEN)
    assert (status, json.loads(out)["simulations"]) == (0, 200)


def test_a_proxy_that_hides_its_host_is_told_what_to_pass_on(proxy: str, server: Server) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Origin": proxy}
    answer = http.post(f"{proxy}/plain/api/v1/searches", json=ANSWER, headers=headers)
    # The prefix is not that of the server, and is not removed; what is wrong first is the origin.
    assert (answer.status_code, answer.json()["field"]) == (403, "Origin")
    assert "proxy_set_header Host $http_host" in answer.json()["detail"]


def test_a_prefix_that_is_none_is_refused() -> None:
    from cluster.service.api.middleware import read_root_path
    from games.errors import InvalidInput

    assert [read_root_path(text) for text in ("", "/", "/a", "/a/b%20c/")] == ["", "", "/a", "/a/b c"]
    for text in ("a", "/a?b", "/a#b", "//a", "/a b", "http://a/b"):
        with pytest.raises(InvalidInput, match="root_path"):
            read_root_path(text)
