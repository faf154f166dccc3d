"""Metrics for Prometheus. Only this module imports prometheus_client.

Nothing is counted here: a scrape reads the counters of coordinators, executors and sessions, so metrics cost
a search nothing. A scrape runs in its own thread while the search writes: single numbers need no lock,
and lists are copied before they are iterated. Stored here are only the totals of searches that have ended,
and a few samples for the rates.

Workers are labelled by slot, not by process: a slot outlives its processes, so the number of time series is
the number of workers. cluster/observe/METRICS.md describes each metric; tests/cluster/observe/test_metrics.py
compares both.
"""

from __future__ import annotations

import copy
import platform
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import accumulate
from operator import attrgetter
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest, start_http_server
from prometheus_client.core import Metric as Metric
from prometheus_client.registry import Collector

from cluster.runtime.session import Session
from cluster.runtime.tasks import Executor
from games.errors import InvalidInput
from search.coordinator import DURATION_BUCKETS_S, Durations, RoundCosts
from search.result import STOPPED_BY

OUTCOMES = (*STOPPED_BY, "failed")
RATE_S = 3.0
"""Shortest interval of rates, in seconds; the interval is longer if scrapes are less frequent."""
_BOUNDS = (*map(str, DURATION_BUCKETS_S), "+Inf")
SAMPLE_EVERY_S = 0.5
"""Scrapes within this interval, in seconds, share a sample, which limits the number of samples."""


def _metric(kind: str, name: str, text: str, values: Any, *labels: str) -> Metric:
    """A metric with one value, or with ``values`` by the value of its label or the tuple of its labels.

    A value is a number, of a histogram `Durations`.
    """
    metric = Metric(name.removesuffix("_total"), text, kind)
    for key, value in (values if isinstance(values, Mapping) else {(): values}).items():
        own = dict(zip(labels, key if isinstance(key, tuple) else (str(key),), strict=True))
        if not isinstance(value, Durations):
            metric.add_sample(name, own, value)
            continue
        counts = list(accumulate(value.counts))
        for bound, count in zip(_BOUNDS, counts, strict=True):
            metric.add_sample(f"{name}_bucket", {**own, "le": bound}, count)
        metric.add_sample(f"{name}_count", own, counts[-1])
        metric.add_sample(f"{name}_sum", own, value.sum_s)
    return metric


counter, gauge, histogram = (partial(_metric, kind) for kind in ("counter", "gauge", "histogram"))
"""Make a metric of the kind in their name, with the further arguments of `_metric`."""


SUMMED = ("simulations", "playouts", "recalled", "jobs_done", "jobs_retried", "late_results")
"""The numbers of `Counters` that are added up."""


@dataclass
class _Totals:
    """Sums over sessions."""

    numbers: Counter[str] = field(default_factory=Counter)
    """SUMMED, and the numbers of nodes ``created`` and of ``duplicates`` among them."""
    job_durations: Durations = field(default_factory=Durations)
    merge_durations: Durations = field(default_factory=Durations)
    rounds: Counter[str] = field(default_factory=lambda: Counter(asdict(RoundCosts())))
    """The fields of `RoundCosts`."""
    outcomes: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(OUTCOMES, 0)))

    def add(self, session: Session) -> None:
        """Add the present counters of a session to these totals."""
        counters, strategy = session.coordinator.counters, session.search.strategy
        self.numbers.update({name: getattr(counters, name) for name in SUMMED})
        self.numbers.update(created=int(strategy.created), duplicates=int(strategy.duplicates))
        self.rounds.update(asdict(counters.round_costs))
        for name in ("job_durations", "merge_durations"):
            total, more = getattr(self, name), getattr(counters, name)
            total.counts = [a + b for a, b in zip(total.counts, list(more.counts), strict=True)]
            total.sum_s += more.sum_s
        if session.outcome is not None:
            self.outcomes[session.outcome] += 1


@dataclass(frozen=True)
class _Sample:
    """Totals at one moment, from which rates are computed."""

    time_s: float
    numbers: Counter[str]
    busy_s: dict[int, float]
    """Seconds spent in jobs by slot."""
    cpu_s: dict[int, float]
    """Seconds of these with a core."""


class Metrics(Collector):
    """The metrics of watched sessions and of other sources, made from their present state at each scrape."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sources: tuple[Callable[[], Iterable[Metric]], ...] = (),
    ) -> None:
        self._clock = clock
        self._sources = sources
        self._lock = threading.RLock()
        """Held while the lists below are changed or copied; the search loop never waits for it."""
        self._sessions: list[Session] = []
        """The running sessions, and the last session watched."""
        self._executors: dict[Executor, None] = {}
        """All executors ever watched, for their workers' totals; a process has few of them."""
        self._ended = _Totals()
        self._samples: deque[_Sample] = deque()
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def watch(self, session: Session) -> None:
        """Include a session from now on. The counts of ended sessions stay in the totals."""
        with self._lock:
            if session in self._sessions:
                return
            self.settle()
            self._sessions.append(session)
            self._executors[session.executor] = None
            self._keep(self._sample(self._totals()))

    def watch_executor(self, executor: Executor) -> None:
        """Include an executor's workers, also while no session runs on it."""
        with self._lock:
            self._executors[executor] = None

    def settle(self, put_off: Session | None = None) -> None:
        """Replace ended sessions, and the session ``put_off``, by their totals: their trees are released."""
        with self._lock:
            left = [known for known in self._sessions if known.outcome is None and known is not put_off]
            for known in self._sessions:
                if known not in left:
                    self._ended.add(known)
            self._sessions = left

    def exposition(self) -> tuple[bytes, str]:
        """(all metrics in Prometheus' text format, its media type)."""
        return generate_latest(self.registry), CONTENT_TYPE_LATEST

    def collect(self) -> Iterator[Metric]:
        with self._lock:
            sessions = list(self._sessions)
            # A session continues on a new executor after its executor has failed.
            self._executors |= dict.fromkeys(session.executor for session in sessions)
            latest = [*self._executors][-1:]
            totals = self._totals()
            sample = self._sample(totals)
            while len(self._samples) > 1 and self._samples[1].time_s <= sample.time_s - RATE_S:
                self._samples.popleft()
            before = self._samples[0] if self._samples else sample
            self._keep(sample)
            restarts = _by_slot(self._executors, lambda worker: worker.restarts)
            moved = {
                (str(slot), direction): number
                for direction in ("in", "out")
                for slot, number in _by_slot(self._executors, attrgetter(f"{direction}_bytes")).items()
            }
        executors = [*(each.executor for each in sessions), *latest]
        yield from _search_metrics(sessions, totals)
        yield from _recent_metrics(executors, sample, before, restarts)
        text = "Bytes sent to worker processes, and received from them."
        yield counter("banyan_bytes_total", text, moved, "slot", "direction")
        yield _build_info()
        for source in self._sources:
            yield from source()

    def _totals(self) -> _Totals:
        totals = copy.deepcopy(self._ended)
        for session in self._sessions:
            totals.add(session)
        return totals

    def _sample(self, totals: _Totals) -> _Sample:
        busy_s = _by_slot(self._executors, lambda worker: worker.busy_s)
        cpu_s = _by_slot(self._executors, lambda worker: worker.cpu_s)
        return _Sample(self._clock(), totals.numbers, busy_s, cpu_s)

    def _keep(self, sample: _Sample) -> None:
        if not self._samples or sample.time_s - self._samples[-1].time_s >= SAMPLE_EVERY_S:
            self._samples.append(sample)


class MetricsServer(Metrics):
    """An HTTP server on a port of this machine for the metrics of watched sessions."""

    def __init__(
        self,
        port: int,
        host: str = "127.0.0.1",
        clock: Callable[[], float] = time.monotonic,
        sources: tuple[Callable[[], Iterable[Metric]], ...] = (),
    ) -> None:
        """Starts to listen; port 0 selects a free port. Raises InvalidInput (field ``metrics_port``)."""
        super().__init__(clock, sources)
        try:
            self._server, self._thread = start_http_server(port, host, self.registry)
        except (OSError, OverflowError) as error:
            accepted = f"a free port of {host} from 1 to 65535, or 0 for any ({error})"
            raise InvalidInput("metrics_port", port, accepted) from None
        self.host = host
        self.port = int(self._server.server_port)
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self.port}/metrics"

    def close(self) -> None:
        """Stop listening. Further calls have no effect."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _search_metrics(sessions: list[Session], totals: _Totals) -> list[Metric]:
    """Metrics of searches, of their jobs and of their trees."""
    numbers = totals.numbers
    rounds = totals.rounds
    coordinators = [session.coordinator for session in sessions]
    strategies = [session.search.strategy for session in sessions]
    running = [session for session in sessions if session.outcome is None]
    parts = {part.removesuffix("_s"): seconds for part, seconds in rounds.items() if part != "rounds"}
    created = sum(int(strategy.created) for strategy in strategies)
    duplicates = sum(int(strategy.duplicates) for strategy in strategies)
    return [
        counter("banyan_simulations_total", "Simulations merged.", numbers["simulations"]),
        counter("banyan_playouts_total", "Playouts of the merged simulations.", numbers["playouts"]),
        counter("banyan_recalled_evaluations_total", "Positions not evaluated again.", numbers["recalled"]),
        counter("banyan_jobs_total", "Jobs whose result was merged.", numbers["jobs_done"]),
        counter("banyan_retried_jobs_total", "Lost jobs that were assigned again.", numbers["jobs_retried"]),
        counter(
            "banyan_late_results_total",
            "Discarded results of jobs no longer in flight.",
            numbers["late_results"],
        ),
        counter("banyan_created_nodes_total", "Nodes created by jobs.", numbers["created"]),
        counter("banyan_duplicate_nodes_total", "Nodes created by several lanes.", numbers["duplicates"]),
        counter("banyan_searches_total", "Searches that ended, by outcome.", totals.outcomes, "outcome"),
        gauge("banyan_running_searches", "Searches that have not ended.", len(running)),
        gauge(
            "banyan_in_flight_jobs",
            "Assigned jobs without a result yet.",
            sum(each.coordinator.jobs_in_flight for each in running),
        ),
        gauge(
            "banyan_unobserved_samples",
            "Assigned simulations that are not merged yet.",
            sum(each.search.strategy.unobserved for each in running),
        ),
        histogram("banyan_job_duration_seconds", "Time of a job on its worker.", totals.job_durations),
        histogram("banyan_merge_duration_seconds", "Time to merge one result.", totals.merge_durations),
        counter("banyan_rounds_total", "Rounds, of one job of each lane.", rounds["rounds"]),
        counter("banyan_round_seconds_total", "What rounds cost, by part.", parts, "part"),
        gauge(
            "banyan_tree_nodes",
            "Nodes of all trees of the search.",
            sum(each.tree_nodes for each in coordinators),
        ),
        gauge(
            "banyan_tree_bytes",
            "Bytes of the shared tree.",
            sum(each.tree_bytes for each in coordinators),
        ),
        gauge(
            "banyan_lane_tree_bytes",
            "Bytes of the largest tree reported by a job.",
            max((each.counters.lane_tree_bytes for each in coordinators), default=0),
        ),
        gauge(
            "banyan_full_searches",
            "Searches in which a tree has filled its memory.",
            sum(each.counters.tree_full for each in coordinators),
        ),
        gauge(
            "banyan_duplicate_expansions_ratio",
            "Share of new nodes created by several lanes.",
            {(): duplicates / created} if created else {},
        ),
    ]


def _recent_metrics(
    executors: list[Executor], sample: _Sample, before: _Sample, restarts: dict[int, float]
) -> list[Metric]:
    """Rates, and metrics of workers."""
    elapsed_s = sample.time_s - before.time_s
    growth = sample.numbers - before.numbers
    per_s = {name: growth[name] / elapsed_s if elapsed_s > 0 else 0.0 for name in ("simulations", "playouts")}
    alive = {slot: float(number > 0) for slot, number in _by_slot(executors, lambda w: w.alive).items()}
    # A job's time is counted when it ends, so the ratio of a short interval may exceed 1.
    busy = {
        slot: min(1.0, (busy_s - before.busy_s.get(slot, 0.0)) / elapsed_s) if elapsed_s > 0 else 0.0
        for slot, busy_s in sample.busy_s.items()
    }
    return [
        gauge("banyan_simulations_per_second", "Recent simulations/s.", per_s["simulations"]),
        gauge("banyan_playouts_per_second", "Recent playouts/s.", per_s["playouts"]),
        gauge("banyan_alive_workers", "1 while the slot has a worker.", alive, "slot"),
        gauge("banyan_worker_busy_ratio", "Recent share of time in jobs.", busy, "slot"),
        counter("banyan_worker_busy_seconds_total", "Time in jobs.", sample.busy_s, "slot"),
        counter("banyan_worker_cpu_seconds_total", "CPU time in jobs.", sample.cpu_s, "slot"),
        counter("banyan_worker_restarts_total", "Workers replaced.", restarts, "slot"),
    ]


def _build_info() -> Metric:
    versions = {"version": "banyan-mcts", "ray": "ray", "numba": "numba"}
    labels = {label: version_of(package) for label, package in versions.items()}
    labels["python"] = platform.python_version()
    return gauge("banyan_build_info", "Versions as labels; always 1.", {(*labels.values(),): 1}, *labels)


def version_of(package: str) -> str:
    """The version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _by_slot(executors: Iterable[Executor], value: Callable[..., float]) -> dict[int, float]:
    """The sum of a value of workers by slot, over all executors."""
    sums: dict[int, float] = {}
    for executor in executors:
        for worker in executor.workers:
            sums[worker.slot] = sums.get(worker.slot, 0.0) + value(worker)
    return sums
