"""A real Prometheus, configured by deploy/prometheus.yml, sees a search as it is."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster.coordinator import Coordinator
from cluster.inline_executor import InlineExecutor
from cluster.metrics import MetricsServer
from cluster.session import Session
from search.opening import open_search
from search.request import SearchRequest

CONFIG = Path(__file__).parents[2] / "deploy" / "prometheus.yml"
START_S = 20.0
"""How long Prometheus may take to start, and a scrape to show; both take a second or two."""

Query = Callable[[str], list[float]]
"""The values of a PromQL expression's series."""


def eventually(condition: Callable[[], bool], what: str) -> None:
    until_s = time.monotonic() + START_S
    while not condition():
        assert time.monotonic() < until_s, what
        time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    server = MetricsServer(0)
    yield server
    server.close()


@pytest.fixture
def query(server: MetricsServer, tmp_path: Path) -> Iterator[Query]:
    """Asks a Prometheus that scrapes the server every second."""
    if shutil.which("prometheus") is None:
        pytest.skip("prometheus is not installed")
    config = CONFIG.read_text()
    for deployed, here in (
        ('"127.0.0.1:9101"', f'"127.0.0.1:{server.port}"'),
        ("scrape_interval: 5s", "scrape_interval: 1s"),
        ("scrape_timeout: 4s", "scrape_timeout: 1s"),
    ):
        assert config.count(deployed) == 1
        config = config.replace(deployed, here)
    (tmp_path / "prometheus.yml").write_text(config)
    port = free_port()
    process = subprocess.Popen(
        [
            "prometheus",
            f"--config.file={tmp_path / 'prometheus.yml'}",
            f"--storage.tsdb.path={tmp_path / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def ask(expression: str) -> list[float]:
        url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(url, timeout=10) as answer:
            return [float(series["value"][1]) for series in json.load(answer)["data"]["result"]]

    def scrapes() -> bool:
        assert process.poll() is None, "prometheus has ended"
        try:
            return ask('up{job="banyan"}') == [1]
        except OSError:
            return False

    try:
        eventually(scrapes, "prometheus does not scrape")
        yield ask
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def test_prometheus_sees_the_search_as_it_is(server: MetricsServer, query: Query) -> None:
    search = open_search(SearchRequest(game="tictactoe", seconds=5.0, lanes=4))
    executor = InlineExecutor()
    executor.open(search.context)
    session = Session(Coordinator(search, executor.num_workers), executor)
    server.watch(session)
    result = session.run()
    eventually(
        lambda: query("banyan_simulations_total") == [result.simulations],
        "the last total has not been scraped",
    )
    assert query("banyan_playouts_total") == [result.playouts]
    assert query("banyan_jobs_total") == [result.jobs]
    assert query("banyan_tree_nodes") == [result.tree_nodes]
    job_durations = session.coordinator.counters.job_durations
    assert query("banyan_job_duration_seconds_count") == [sum(job_durations.counts)]
    assert query('banyan_searches_total{outcome="seconds"}') == [1]
    assert query("banyan_running_searches") == [0]
    # Both rates were taken while it ran, over spans that the search does not fill exactly.
    truth = result.simulations / result.elapsed_s
    for rate in (
        "max_over_time(rate(banyan_simulations_total[3s])[1m:1s])",
        "max_over_time(banyan_simulations_per_second[1m])",
    ):
        (seen,) = query(rate)
        assert truth / 2 < seen < truth * 2
    (busy,) = query("max_over_time(banyan_worker_busy_ratio[1m])")
    assert 0.5 < busy <= 1


def test_promtool_accepts_the_deployed_configuration() -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed")
    checked = subprocess.run(
        ["promtool", "check", "config", str(CONFIG)], capture_output=True, text=True, timeout=60
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
