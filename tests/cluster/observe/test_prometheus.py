"""A real Prometheus, configured as deploy/prometheus/ says, sees a search as it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cluster.observe.metrics import MetricsServer
from cluster.workers.inline import InlineExecutor
from search.request import SearchRequest
from tests.cluster.prometheus import DEPLOY, Query, need, prometheus, promtool
from tests.cluster.searches import session_on
from tests.cluster.service.process import Server
from tests.waiting import eventually

FOLDER = DEPLOY / "prometheus"
CONFIGS = sorted(FOLDER.glob("*.yml"))
RULES = sorted((FOLDER / "rules").glob("*.yml"))


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    server = MetricsServer(0)
    yield server
    server.close()


@pytest.fixture
def query(server: MetricsServer, tmp_path: Path) -> Iterator[Query]:
    """Asks a Prometheus that scrapes the server every second."""
    with prometheus(tmp_path, {'"127.0.0.1:9101"': f'"127.0.0.1:{server.port}"'}) as ask:
        eventually(lambda: 1 in ask('up{job="banyan"}'), "prometheus does not scrape")
        yield ask


def test_prometheus_sees_the_search_as_it_is(server: MetricsServer, query: Query) -> None:
    session = session_on(InlineExecutor(), SearchRequest(game="tictactoe", seconds=5.0, lanes=4))
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
        assert truth / 5 < seen < truth * 5
    (busy,) = query("max_over_time(banyan_worker_busy_ratio[1m])")
    assert 0.1 < busy <= 1
    # ... and by the rules, which Prometheus evaluates itself: what came within a minute.
    (recorded,) = query("max_over_time(instance:banyan_simulations:rate1m[1m])")
    assert result.simulations / 5 < recorded * 60 < result.simulations * 5


@pytest.mark.slow
def test_a_service_without_a_token_is_scraped_by_the_configuration_as_it_is(tmp_path: Path) -> None:
    need("prometheus")
    service = Server(tmp_path / "data")
    try:
        with prometheus(tmp_path, {"127.0.0.1:8000": f"127.0.0.1:{service.port}"}) as ask:
            eventually(lambda: ask('up{job="banyan-service"}') == [1], "the service is not scraped")
            assert ask("banyan_ready_pools") == [1]
    finally:
        service.kill()


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.name)
def test_promtool_accepts_the_deployed_configurations(config: Path, tmp_path: Path) -> None:
    # Debian's Prometheus is built without the discovery of Kubernetes: here a target stands in for it.
    plain = yaml.safe_load(config.read_text())
    found = [
        job.pop("kubernetes_sd_configs") for job in plain["scrape_configs"] if "kubernetes_sd_configs" in job
    ]
    assert (config.name == "kubernetes.yml") == bool(found)
    assert all(each == [{"role": "pod", "namespaces": {"names": ["banyan"]}}] for each in found)
    copy = tmp_path / config.name
    copy.write_text(yaml.safe_dump(plain))
    assert "SUCCESS" in promtool("check", "config", "--syntax-only", str(copy))


def test_promtool_accepts_the_rules() -> None:
    assert promtool("check", "rules", *map(str, RULES)).count("SUCCESS") == len(RULES) == 2


def test_the_rules_say_what_their_tests_say() -> None:
    tests = sorted((FOLDER / "tests").glob("*.yml"))
    assert promtool("test", "rules", *map(str, tests)).count("SUCCESS") == len(tests) == 2


def test_every_rule_has_a_test() -> None:
    groups = [group for path in RULES for group in yaml.safe_load(path.read_text())["groups"]]
    rules = {rule.get("record") or rule["alert"] for group in groups for rule in group["rules"]}
    cases = [
        case
        for path in (FOLDER / "tests").glob("*.yml")
        for case in yaml.safe_load(path.read_text())["tests"]
    ]
    recorded = {
        each["expr"] for case in cases for each in case.get("promql_expr_test", []) if each["exp_samples"]
    }
    alerted = {
        each["alertname"] for case in cases for each in case.get("alert_rule_test", []) if each["exp_alerts"]
    }
    assert rules == recorded | alerted
