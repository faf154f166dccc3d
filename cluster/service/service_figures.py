"""What a service counts, beside what sessions and executors do.

Labels are bounded: games with a name, routes, methods, and so on; all else is ``other``.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from functools import cache

from cluster.coordinator import Durations
from games import names
from games.spec import OPENSPIEL

OTHER = "other"
METHODS = frozenset({"GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH"})
REASONS = ("queue_full", "draining", "unauthorized", "host", "too_large", "too_many_streams")


@cache
def known_games() -> frozenset[str]:
    """The values of the label ``game``, but for OTHER."""
    return frozenset({*names(), OPENSPIEL})


def game_label(spec: str) -> str:
    """The game without its options."""
    name = spec.strip().partition(":")[0]
    return name if name in known_games() else OTHER


class ServiceFigures:
    """Counts, from any thread."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.accepted_searches: Counter[tuple[str, str]] = Counter()
        """By game and strategy, as the next three."""
        self.simulations: Counter[tuple[str, str]] = Counter()
        self.playouts: Counter[tuple[str, str]] = Counter()
        self.ended_searches: Counter[tuple[str, str, str]] = Counter()
        """And by the state in which they ended."""
        self.search_durations: defaultdict[str, Durations] = defaultdict(Durations)
        """By game."""
        self.refusals: Counter[str] = Counter(dict.fromkeys(REASONS, 0))
        self.requests: Counter[tuple[str, str, str]] = Counter()
        """By method, route and status."""
        self.request_durations: defaultdict[str, Durations] = defaultdict(Durations)
        """By route, until the answer begins."""
        self.restarts = 0
        """Servers that have died before this one, below the same supervisor."""
        self.streams = 0
        """Event streams that are read."""

    def accepted(self, game: str, strategy: str) -> None:
        """A search was accepted."""
        with self.lock:
            self.accepted_searches[game_label(game), strategy] += 1

    def grown(self, game: str, strategy: str, simulations: int, playouts: int) -> None:
        """A search has so many more."""
        with self.lock:
            self.simulations[game_label(game), strategy] += simulations
            self.playouts[game_label(game), strategy] += playouts

    def ended(self, game: str, strategy: str, state: str, elapsed_s: float | None) -> None:
        """A search is over; ``elapsed_s`` is None if it has no result."""
        with self.lock:
            self.ended_searches[game_label(game), strategy, state] += 1
            if elapsed_s is not None:
                self.search_durations[game_label(game)].observe(elapsed_s)

    def refused(self, reason: str) -> None:
        """A request was turned away, for one of REASONS."""
        with self.lock:
            self.refusals[reason] += 1

    def answered(self, method: str, route: str, status: int, duration_s: float) -> None:
        """A request was answered."""
        with self.lock:
            self.requests[method if method in METHODS else OTHER, route, str(status)] += 1
            self.request_durations[route].observe(duration_s)

    def retry_after_s(self, running: int) -> int:
        """In how many seconds there may be room: when one of those that run has ended, as they did so far."""
        with self.lock:
            count = sum(sum(each.counts) for each in self.search_durations.values())
            total_s = sum(each.sum_s for each in self.search_durations.values())
        mean_s = total_s / count if count else 5.0
        return max(1, min(60, round(mean_s / max(1, running))))
