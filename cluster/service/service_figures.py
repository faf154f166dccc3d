"""The counters of a service, in addition to those of sessions and executors.

Sets of label values are bounded: built-in games, routes, methods; every other value is ``other``.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from functools import cache

from cluster.observe.metrics import Metric, counter, gauge, histogram
from cluster.runtime.worker_state import WorkerState
from cluster.service.pool import Pool
from games import names
from games.spec import GYM, OPENSPIEL
from search.coordinator import Durations

GAME = ("game", "strategy")
"""Labels of metrics."""
OTHER = "other"
METHODS = frozenset({"GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH"})
REASONS = (
    "queue_full",
    "draining",
    "unauthorized",
    "host",
    "too_large",
    "too_many_streams",
    "too_many_connections",
    "too_slow",
)


@cache
def known_games() -> frozenset[str]:
    """The values of the label ``game``, without OTHER."""
    return frozenset({*names(), OPENSPIEL, GYM})


def game_label(spec: str) -> str:
    """The label of a game: its name without options, or OTHER."""
    name = spec.strip().partition(":")[0]
    return name if name in known_games() else OTHER


class ServiceFigures:
    """The counters. Safe to use from any thread."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.accepted_searches: Counter[tuple[str, str]] = Counter()
        """Number of accepted searches by (game, strategy)."""
        self.simulations: Counter[tuple[str, str]] = Counter()
        self.playouts: Counter[tuple[str, str]] = Counter()
        self.ended_searches: Counter[tuple[str, str, str]] = Counter()
        """Number of ended searches by (game, strategy, final state)."""
        self.search_durations: defaultdict[str, Durations] = defaultdict(Durations)
        """Durations of searches by game."""
        self.refusals: Counter[str] = Counter(dict.fromkeys(REASONS, 0))
        self.requests: Counter[tuple[str, str, str]] = Counter()
        """Number of HTTP requests by (method, route, status)."""
        self.request_durations: defaultdict[str, Durations] = defaultdict(Durations)
        """Durations until the answer begins, by route."""
        self.restarts = 0
        """Number of servers of this supervisor that have crashed before this one."""
        self.streams: Counter[str] = Counter()
        """Number of open event streams by address."""

    def accepted(self, game: str, strategy: str) -> None:
        """Count an accepted search."""
        with self.lock:
            self.accepted_searches[game_label(game), strategy] += 1

    def grown(self, game: str, strategy: str, simulations: int, playouts: int) -> None:
        """Add simulations and playouts of a search."""
        with self.lock:
            self.simulations[game_label(game), strategy] += simulations
            self.playouts[game_label(game), strategy] += playouts

    def ended(self, game: str, strategy: str, state: str, elapsed_s: float | None) -> None:
        """Count an ended search; ``elapsed_s`` is None if it has no result."""
        with self.lock:
            self.ended_searches[game_label(game), strategy, state] += 1
            if elapsed_s is not None:
                self.search_durations[game_label(game)].observe(elapsed_s)

    def refused(self, reason: str) -> None:
        """Count a refused request; ``reason``: one of REASONS."""
        with self.lock:
            self.refusals[reason] += 1

    def answered(self, method: str, route: str, status: int, duration_s: float) -> None:
        """Count an answered request."""
        with self.lock:
            self.requests[method if method in METHODS else OTHER, route, str(status)] += 1
            self.request_durations[route].observe(duration_s)

    def retry_after_s(self, running: int) -> int:
        """Estimated seconds until a running search ends, from the mean duration of past searches."""
        with self.lock:
            count = sum(sum(each.counts) for each in self.search_durations.values())
            total_s = sum(each.sum_s for each in self.search_durations.values())
        mean_s = total_s / count if count else 5.0
        return max(1, min(60, round(mean_s / max(1, running))))

    def families(self, pool: Pool, queued: int, running: int) -> list[Metric]:
        """All metric families with their present values; cluster/observe/METRICS.md describes them."""
        by_request = ("method", "route", "status")
        given_back = sum(worker.state is WorkerState.GIVEN_BACK for worker in pool.executor.workers)
        with self.lock:
            return [
                gauge(
                    "banyan_open_searches",
                    "Searches that are not over.",
                    {"queued": queued, "running": running},
                    "state",
                ),
                counter(
                    "banyan_accepted_searches_total", "Searches accepted.", self.accepted_searches, *GAME
                ),
                counter(
                    "banyan_finished_searches_total",
                    "Searches that are over, by final state.",
                    self.ended_searches,
                    *GAME,
                    "state",
                ),
                counter("banyan_game_simulations_total", "Simulations merged.", self.simulations, *GAME),
                counter("banyan_game_playouts_total", "Playouts of searches.", self.playouts, *GAME),
                histogram(
                    "banyan_search_duration_seconds", "Duration of searches.", self.search_durations, "game"
                ),
                counter("banyan_refused_requests_total", "Refused requests.", self.refusals, "reason"),
                counter("banyan_http_requests_total", "Answered HTTP requests.", self.requests, *by_request),
                histogram(
                    "banyan_http_request_duration_seconds",
                    "Time until the answer begins.",
                    self.request_durations,
                    "route",
                ),
                gauge("banyan_event_streams", "Open event streams.", self.streams.total()),
                gauge("banyan_waiting_jobs", "Jobs that wait for a worker.", len(pool.queue)),
                gauge("banyan_ready_pools", "1 while there is a worker.", float(pool.ready)),
                gauge("banyan_given_back_workers", "Workers ended because they were idle.", given_back),
                counter("banyan_pool_restarts_total", "Restarts of the executor.", pool.renewals),
                counter(
                    "banyan_server_restarts_total", "Restarts of the server after a crash.", self.restarts
                ),
            ]
