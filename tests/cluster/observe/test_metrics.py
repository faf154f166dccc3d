"""What a scrape says is what the search did, and cluster/observe/METRICS.md says what it means."""

from __future__ import annotations

import re
import socket
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from cluster.observe.metrics import OUTCOMES, MetricsServer
from cluster.runtime.session import Session
from cluster.workers.inline import InlineExecutor
from games.errors import InvalidInput
from search.coordinator import DURATION_BUCKETS_S
from search.request import SearchRequest
from search.result import STOPPED_BY
from tests.cluster.prometheus import promtool
from tests.cluster.searches import session_on
from tests.games.common import JIT
from tests.waiting import PATIENCE_S

METRICS = Path(__file__).parents[3] / "cluster" / "observe" / "METRICS.md"
PARTS = ("search", "service", "speedup")
UNITS = (
    *("simulations", "playouts", "samples", "searches", "jobs", "results", "workers", "restarts"),
    *("rounds", "evaluations"),
    *("nodes", "bytes", "seconds", "per_second", "ratio", "info"),
)


def exposition(server: MetricsServer) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=PATIENCE_S) as answer:
        return str(answer.read().decode())


@dataclass(frozen=True)
class Scrape:
    families: dict[str, Metric]

    def value(self, sample_name: str, **labels: str) -> float:
        found = [
            sample.value
            for family in self.families.values()
            for sample in family.samples
            if sample.name == sample_name and sample.labels == labels
        ]
        assert len(found) == 1, (sample_name, labels, found)
        return found[0]


def families_of(text: str) -> dict[str, Metric]:
    """Metrics by the names that they have in the document."""
    families = text_string_to_metric_families(text)
    return {f"{f.name}_total" if f.type == "counter" else f.name: f for f in families}


def types_and_labels(families: dict[str, Metric]) -> dict[str, tuple[str, frozenset[str]]]:
    return {
        name: (family.type, frozenset(label for s in family.samples for label in s.labels) - {"le"})
        for name, family in families.items()
    }


def scrape(server: MetricsServer) -> Scrape:
    return Scrape(families_of(exposition(server)))


@dataclass(frozen=True)
class Documented:
    type: str
    labels: frozenset[str]
    query: str


def documented(of: str = "search") -> dict[str, Documented]:
    """The rows of a table of METRICS.md: name, type, labels, meaning, query; ``of``: one of PARTS."""
    texts = METRICS.read_text().split("### Of a ")
    lines = texts[PARTS.index(of)].splitlines()
    rows = [line.split("|")[1:-1] for line in lines if line.startswith("| `banyan_")]
    table = {
        name.strip(" `"): Documented(
            kind.strip(), frozenset(re.findall(r"`(\w+)`", labels)), query.strip(" `")
        )
        for name, kind, labels, _, query in rows
    }
    assert len(table) == len(rows)
    return table


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    server = MetricsServer(0)
    yield server
    server.close()


@pytest.fixture
def watched(server: MetricsServer) -> Session:
    """A search that has ended and in which every metric has something to say."""
    session = session_on(InlineExecutor(), SearchRequest(game="tictactoe", simulations=20_000, lanes=4))
    server.watch(session)
    session.run()
    return session


def test_document_and_code_name_the_same_metrics_by_their_units(
    server: MetricsServer, watched: Session
) -> None:
    families = scrape(server).families
    assert types_and_labels(families) == {name: (row.type, row.labels) for name, row in documented().items()}
    for name, family in families.items():
        assert re.fullmatch(r"banyan(_[a-z]+)+", name)
        assert (family.type == "counter") == name.endswith("_total")
        assert name.removesuffix("_total").endswith(UNITS)


@pytest.mark.parametrize("strategy", ["root", "tree", "leaf"])
def test_values_are_those_of_the_result(server: MetricsServer, strategy: str) -> None:
    session = session_on(
        InlineExecutor(), SearchRequest(game="tictactoe", simulations=5_000, lanes=4, strategy=strategy)
    )
    server.watch(session)
    assert scrape(server).value("banyan_running_searches") == 1
    result = session.run()
    counters, seen = session.coordinator.counters, scrape(server)
    assert seen.value("banyan_simulations_total") == result.simulations == 5_000
    assert seen.value("banyan_playouts_total") == result.playouts > 0
    assert seen.value("banyan_jobs_total") == result.jobs > 0
    assert seen.value("banyan_retried_jobs_total") == result.jobs_retried == 0
    assert seen.value("banyan_late_results_total") == 0
    assert seen.value("banyan_tree_nodes") == result.tree_nodes > 0
    assert seen.value("banyan_tree_bytes") == session.coordinator.tree_bytes > 0
    assert seen.value("banyan_lane_tree_bytes") == counters.lane_tree_bytes
    assert seen.value("banyan_full_searches") == 0
    assert seen.value("banyan_in_flight_jobs") == seen.value("banyan_unobserved_samples") == 0
    assert seen.value("banyan_running_searches") == 0
    costs = counters.round_costs
    # Where jobs run by turns, no coordinator sees their rounds.
    assert (costs.rounds > 0) == (strategy != "leaf" or not JIT)
    assert seen.value("banyan_rounds_total") == costs.rounds
    assert seen.value("banyan_round_seconds_total", part="jobs") == costs.jobs_s >= costs.longest_s
    assert seen.value("banyan_round_seconds_total", part="merge") == costs.merge_s
    made = session.search.strategy
    assert seen.value("banyan_duplicate_expansions_ratio") == made.duplicates / made.created
    assert seen.value("banyan_created_nodes_total") == made.created
    assert seen.value("banyan_duplicate_nodes_total") == made.duplicates
    assert seen.value("banyan_alive_workers", slot="0") == 1
    assert seen.value("banyan_worker_restarts_total", slot="0") == 0
    assert seen.value("banyan_bytes_total", slot="0", direction="out") == 0
    (worker,) = session.executor.workers
    assert seen.value("banyan_worker_busy_seconds_total", slot="0") == worker.busy_s
    assert seen.value("banyan_worker_cpu_seconds_total", slot="0") == worker.cpu_s
    assert 0 < worker.cpu_s <= worker.busy_s


@pytest.mark.parametrize("name", ["job", "merge"])
def test_histograms_count_every_job_once(server: MetricsServer, watched: Session, name: str) -> None:
    seen, full_name = scrape(server), f"banyan_{name}_duration_seconds"
    durations = getattr(watched.coordinator.counters, f"{name}_durations")
    jobs = watched.search.strategy.absorbed
    assert seen.value(f"{full_name}_count") == seen.value(f"{full_name}_bucket", le="+Inf") == jobs
    assert seen.value(f"{full_name}_sum") == durations.sum_s > 0
    so_far = 0
    for bound, in_bucket in zip(DURATION_BUCKETS_S, durations.counts, strict=False):
        so_far += in_bucket
        assert seen.value(f"{full_name}_bucket", le=str(bound)) == so_far


def test_a_scrape_in_the_middle_sees_what_is_under_way(server: MetricsServer) -> None:
    session = session_on(InlineExecutor(), SearchRequest(game="tictactoe", simulations=4_000, lanes=4))
    server.watch(session)
    seen: list[tuple[float, float, float, float]] = []

    def observe(session: Session) -> None:
        if len(seen) < 3:
            now = scrape(server)
            assert now.value("banyan_simulations_total") == session.coordinator.counters.simulations
            seen.append(
                (
                    now.value("banyan_running_searches"),
                    now.value("banyan_in_flight_jobs") - session.coordinator.jobs_in_flight,
                    now.value("banyan_unobserved_samples") - session.search.strategy.unobserved,
                    float(now.value("banyan_unobserved_samples") > 0),
                )
            )

    session.run(observers=(observe,))
    assert seen == [(1, 0, 0, 1)] * 3


def test_totals_do_not_fall_when_another_search_is_watched(server: MetricsServer) -> None:
    executor = InlineExecutor()
    simulations = 0.0
    busy_s = 0.0
    # The first executor comes back: what its worker did must not be counted twice.
    for number, runner in enumerate([executor, executor, InlineExecutor(), executor], start=1):
        session = session_on(runner, SearchRequest(game="tictactoe", simulations=1_000 * number, lanes=2))
        server.watch(session)
        server.watch(session)
        assert scrape(server).value("banyan_simulations_total") == simulations
        assert scrape(server).value("banyan_worker_busy_seconds_total", slot="0") == pytest.approx(busy_s)
        before_s = runner.workers[0].busy_s
        session.run()
        simulations += 1_000 * number
        busy_s += runner.workers[0].busy_s - before_s
        seen = scrape(server)
        assert seen.value("banyan_simulations_total") == simulations
        assert seen.value("banyan_worker_busy_seconds_total", slot="0") == pytest.approx(busy_s)
        assert seen.value("banyan_searches_total", outcome="simulations") == number
        assert seen.value("banyan_job_duration_seconds_count") == seen.value("banyan_jobs_total")
        assert seen.value("banyan_tree_nodes") == session.coordinator.tree_nodes


def test_searches_that_run_together_are_added_up(server: MetricsServer) -> None:
    sessions = [
        session_on(InlineExecutor(), SearchRequest(game="tictactoe", simulations=1_000, lanes=2))
        for _ in range(2)
    ]
    for session in sessions:
        server.watch(session)
    assert scrape(server).value("banyan_running_searches") == 2
    for session in sessions:
        session.run()
    assert scrape(server).value("banyan_simulations_total") == 2_000
    assert scrape(server).value("banyan_searches_total", outcome="simulations") == 2


def test_every_way_to_end_is_counted(server: MetricsServer) -> None:
    def fail(session: Session) -> None:
        raise KeyboardInterrupt

    ways = {
        "seconds": SearchRequest(game="tictactoe", seconds=0.05),
        "memory": SearchRequest(game="gomoku", memory_mb=1, stop_when_full=True),
        "proven": SearchRequest(
            game="tictactoe", moves=("a1", "a2", "b1", "b2"), simulations=10_000, solver=True
        ),
        "decided": SearchRequest(
            game="tictactoe", moves=("a1", "a2", "b1", "b2"), simulations=10_000, lanes=2, early_stop=True
        ),
    }
    for request in ways.values():
        session = session_on(InlineExecutor(), request)
        server.watch(session)
        session.run()
    cancelled = session_on(InlineExecutor(), SearchRequest(game="tictactoe", lanes=16, simulations=10**6))
    server.watch(cancelled)
    cancelled.cancel()
    cancelled.run()
    failed = session_on(InlineExecutor(), SearchRequest(game="tictactoe", lanes=16, simulations=10**6))
    server.watch(failed)
    with pytest.raises(KeyboardInterrupt):
        failed.run(observers=(fail,))
    seen = scrape(server)
    expected = dict.fromkeys((*ways, "cancelled", "failed"), 1) | {"simulations": 0}
    assert {way: seen.value("banyan_searches_total", outcome=way) for way in OUTCOMES} == expected
    assert set(OUTCOMES) == {*STOPPED_BY, "failed"}
    # Jobs that were out when their search ended are nobody's.
    assert seen.value("banyan_in_flight_jobs") == seen.value("banyan_unobserved_samples") == 0


def test_rates_are_taken_over_the_last_seconds() -> None:
    seconds = count(100)
    server = MetricsServer(0, clock=lambda: float(next(seconds)))
    try:
        session = session_on(InlineExecutor(), SearchRequest(game="tictactoe", simulations=6_000, lanes=2))
        server.watch(session)
        session.run()
        # Scrapes come a second apart, and a rate looks back three of them.
        per_second = [scrape(server).value("banyan_simulations_per_second") for _ in range(5)]
        assert per_second == [6_000, 3_000, 2_000, 0, 0]
        assert scrape(server).value("banyan_worker_busy_ratio", slot="0") == 0
    finally:
        server.close()


def test_it_listens_on_loopback_only_unless_told_otherwise(server: MetricsServer) -> None:
    assert server.host == "127.0.0.1"
    with socket.socket() as other:
        # A server on all interfaces would hold every loopback address.
        other.bind(("127.0.0.2", server.port))


@pytest.mark.parametrize(("port", "host"), [(-1, "127.0.0.1"), (65_536, "127.0.0.1"), (0, "no such host")])
def test_a_port_or_host_that_cannot_be_is_refused(port: int, host: str) -> None:
    with pytest.raises(InvalidInput) as error:
        MetricsServer(port, host)
    assert (error.value.field, error.value.value) == ("metrics_port", port)


def test_a_port_in_use_is_refused_and_free_again_after_close() -> None:
    first = MetricsServer(0)
    with pytest.raises(InvalidInput, match="metrics_port"):
        MetricsServer(first.port)
    first.close()
    first.close()
    MetricsServer(first.port).close()


def test_promtool_finds_nothing_to_lint(server: MetricsServer, watched: Session) -> None:
    assert promtool("check", "metrics", text=exposition(server)) == ""


def test_the_queries_in_the_document_are_valid(tmp_path: Path) -> None:
    queries = [row.query for of in PARTS for row in documented(of).values() if row.query]
    assert len(queries) > 10
    rules = "".join(f"  - record: query:{i}\n    expr: '{query}'\n" for i, query in enumerate(queries))
    path = tmp_path / "rules.yml"
    path.write_text("groups:\n- name: documented\n  rules:\n" + rules)
    promtool("check", "rules", str(path))
    known = {name for of in PARTS for name in documented(of)}
    used = set(re.findall(r"banyan_\w+", " ".join(queries)))
    assert {re.sub(r"_(sum|count|bucket)$", "", name) for name in used} <= known
