"""Limits of a service: sizes and numbers of searches, requests and connections.

Those that have an option of `banyan serve` are described as the options of a search are. Nothing heavy is
imported here, so that `banyan --help` is quick.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from search.options import option, refuse
from search.request import SearchRequest

SHARE_OF_ONE = 0.75
"""Largest share of all places for one address, which may be a proxy with many clients."""


def of_one(most: int) -> int:
    """The number of places that one address may have, of ``most`` in total."""
    return max(1, int(most * SHARE_OF_ONE))


def _limit(default: float, name: str, help: str, metavar: str = "N", least: float = 1) -> Any:  # noqa: A002
    bounds = (least, math.inf)
    return option(default, help=help, group="Limits", cli=name, metavar=metavar, bounds=bounds)


@dataclass(frozen=True)
class Limits:
    """Upper bounds."""

    running: int = _limit(4, "max-running", "Searches that run at a time.")
    waiting: int = _limit(256, "max-waiting", "Searches that wait.")
    simulations: int = _limit(2_000_000_000, "max-simulations", "Simulations of one search.")
    seconds: float = _limit(3600.0, "max-seconds", "Seconds of one search.", "S", 0.001)
    memory_mb: int = _limit(1024, "max-memory", "MB of one search, on the server and on each worker.", "MB")
    lanes: int = _limit(1024, "max-lanes", "Lanes of one search.")
    kept: int = _limit(10_000, "keep", "Finished searches that are kept.")
    connections: int = _limit(
        2000,
        "max-connections",
        "Requests answered at a time; the same number of connections may wait. One address (all clients "
        "behind one proxy) gets at most three quarters of them.",
        least=8,
    )
    body_bytes: int = _limit(256 * 1024, "max-body", "Bytes of one request.", "BYTES", 1024)
    move_seconds: float = 10.0
    """CPU time of a player for one move; such moves are computed one after the other."""
    streams: int = 1000
    """Open event streams; one address may have 3/4 of them."""

    def within(self, request: SearchRequest) -> SearchRequest:
        """Return the request if it is within the limits, otherwise raise InvalidInput."""
        for field, value, most in (
            ("simulations", request.simulations, self.simulations),
            ("seconds", request.seconds, self.seconds),
            ("memory_mb", request.memory_mb, self.memory_mb),
            ("lanes", request.most_lanes, self.lanes),
        ):
            if value is not None and value > most:
                refuse(field, value, f"at most {most:,g} on this server".replace(",", " "))
        return request
