"""The counters of a service, in addition to those of sessions and executors.

Sets of label values are bounded: built-in games, routes, methods; every other value is ``other``.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from functools import cache

from games import names
from games.spec import GYM, OPENSPIEL
from search.coordinator import Durations

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
        self.streams = 0
        """Number of open event streams."""

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
