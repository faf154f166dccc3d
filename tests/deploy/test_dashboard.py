"""Every panel of the dashboard shows something: asked of a real Prometheus beside a search and a service."""

from __future__ import annotations

import json
import math
import re
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.command import start
from tests.cluster.prometheus import (
    DEPLOY,
    Query,
    free_port,
    need,
    prometheus,
)
from tests.waiting import PATIENCE_S, eventually

pytestmark = pytest.mark.slow

GRAFANA = DEPLOY / "grafana"
DASHBOARD = json.loads((GRAFANA / "dashboards" / "banyan.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
VARIABLES = {"$job": ".*", "$instance": ".*"}
TOKEN = "a-token-for-a-test"
SEARCH_S = 600
"""More than the test takes: the search is ended with it."""


def expressions(panel: dict[str, Any]) -> list[str]:
    """What a panel asks, with the dashboard's variables filled in."""
    found = [target["expr"] for target in panel["targets"]]
    for name, value in VARIABLES.items():
        found = [each.replace(name, value) for each in found]
    assert not any("$" in each for each in found)
    return found


ASKED = [(panel["title"], each) for panel in PANELS for each in expressions(panel)]


def ended(process: subprocess.Popen[str]) -> None:
    """End it, and wait until it has."""
    process.terminate()
    try:
        process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def query(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Query]:
    """A Prometheus beside a search, a speedup, and a service with searches on it."""
    need("prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    search_port, speedup_port, service_port = free_port(), free_port(), free_port()
    (folder / "token").write_text(TOKEN + "\n")
    here = {
        '"127.0.0.1:9101"': f'"127.0.0.1:{search_port}"',
        '"127.0.0.1:9102"': f'"127.0.0.1:{speedup_port}"',
        '"127.0.0.1:8000"': f'"127.0.0.1:{service_port}"',
        "/dev/null": str(folder / "token"),
    }
    with ExitStack() as stack:
        options = ("--executor", "inline", "--no-progress", "--metrics-port", str(search_port))
        search = start("search", "tictactoe", "--seconds", str(SEARCH_S), "--lanes", "4", *options)
        stack.callback(ended, search)
        small = ("--workers", "1,2", "--strategies", "tree", "--simulations", "200000", "--repeats", "1")
        where = ("--executor", "threads", "--metrics-port", str(speedup_port))
        stack.callback(ended, start("speedup", "tictactoe", *small, *where))
        where = ("--port", str(service_port), "--data", str(folder / "data"))
        service = start("serve", *where, "--token-file", str(folder / "token"), "--executor", "inline")
        stack.callback(ended, service)
        ask = stack.enter_context(prometheus(folder, here))
        eventually(lambda: ask('up{job="banyan-service"}') == [1], "the service is not scraped")
        submit(service_port, {"game": "tictactoe", "seconds": SEARCH_S, "lanes": 4})

        def ends_searches() -> bool:
            submit(service_port, {"game": "tictactoe", "seconds": 0.1, "lanes": 4})
            time.sleep(1)
            return bool(ask("increase(banyan_search_duration_seconds_count[1m]) > 0"))

        eventually(ends_searches, "the service ends no search")
        eventually(lambda: bool(ask('banyan_running_searches{job="banyan"} > 0')), "no search")
        eventually(lambda: len(ask("banyan_speedup_ratio")) == 2, "no speedup")
        yield ask


def submit(port: int, body: dict[str, Any]) -> None:
    """Ask the service for a search."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/v1/searches",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        assert answer.status == 202


@pytest.mark.parametrize(("title", "expression"), ASKED)
def test_a_panel_shows_something(query: Query, title: str, expression: str) -> None:
    def shows() -> bool:
        values = query(expression)
        return bool(values) and not any(map(math.isnan, values))

    eventually(shows, f"{title} shows nothing: {expression}")


def test_variables_find_what_is_scraped(query: Query) -> None:
    names = {each["name"]: each for each in DASHBOARD["templating"]["list"]}
    assert list(names) == ["datasource", "job", "instance"]
    for name in ("job", "instance"):
        assert re.fullmatch(
            rf"label_values\(banyan_build_info(\{{.*\}})?, {name}\)", names[name]["definition"]
        )
    assert len(query("count by (job, instance) (banyan_build_info)")) == 3


def test_panels_are_apart_and_explain_themselves() -> None:
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    cells = [
        (column, row)
        for panel in DASHBOARD["panels"]
        for at in [panel["gridPos"]]
        for column in range(at["x"], at["x"] + at["w"])
        for row in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(column for column, _ in cells) == 23
    for panel in PANELS:
        assert panel["title"] and panel["fieldConfig"]["defaults"]["unit"]
        assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])


def test_all_metrics_of_panels_and_rules_are_documented() -> None:
    documented = (DEPLOY.parent / "cluster" / "observe" / "METRICS.md").read_text()
    texts = [each for _, each in ASKED]
    texts += [path.read_text() for path in (DEPLOY / "prometheus" / "rules").glob("*.yml")]
    names = {name for text in texts for name in re.findall(r"(?<![:\w])banyan_\w+", text)}
    assert len(names) > 10
    for name in sorted(names):
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        assert f"`{base}`" in documented, base


def test_all_recorded_series_of_panels_are_recorded() -> None:
    text = (DEPLOY / "prometheus" / "rules" / "recording.yml").read_text()
    recorded = set(re.findall(r"record: (\S+)", text))
    used = {name for _, each in ASKED for name in re.findall(r"\w+:banyan_\w+:\w+", each)}
    assert used and used <= recorded


def test_provisioning_names_what_is_mounted() -> None:
    """Grafana cannot be run here: its files agree with each other and with the compose file."""

    def read(path: Path) -> Any:
        return yaml.safe_load(path.read_text())

    (source,) = read(GRAFANA / "provisioning" / "datasources" / "prometheus.yml")["datasources"]
    (provider,) = read(GRAFANA / "provisioning" / "dashboards" / "banyan.yml")["providers"]
    grafana = read(DEPLOY / "compose.yml")["services"]["grafana"]
    mounts = dict(each.split(":")[:2] for each in grafana["volumes"] if each.startswith("."))
    assert mounts["./grafana/dashboards"] == provider["options"]["path"]
    assert mounts["./grafana/provisioning"] == "/etc/grafana/provisioning"
    assert source["type"] == "prometheus"
    assert grafana["environment"][source["url"].removeprefix("$")] == "http://prometheus:9090"
