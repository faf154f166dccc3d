"""Limits of a service: sizes and numbers of searches, requests and connections."""

from __future__ import annotations

from dataclasses import dataclass

from games.errors import InvalidInput
from search.request import MAX_SIMULATIONS, SearchRequest


@dataclass(frozen=True)
class Limits:
    """Upper bounds; `banyan serve` has options for the most important ones."""

    running: int = 4
    """Searches that run at a time. Each needs its memory on the server and on each worker."""
    waiting: int = 256
    """Searches in the queue."""
    simulations: int = MAX_SIMULATIONS
    seconds: float = 3600.0
    move_seconds: float = 10.0
    """CPU time of a player for one move; such moves are computed one after the other."""
    memory_mb: int = 1024
    """Memory of one search, on the server and on each worker."""
    lanes: int = 1024
    moves: int = 2000
    text: int = 20_000
    """Characters of a position, or of a game with its options."""
    body_bytes: int = 256 * 1024
    kept: int = 10_000
    """Stored searches that are over; older ones are deleted."""
    streams: int = 1000
    """Open event streams."""
    connections: int = 2000
    """Requests that are answered at a time, and waiting connections; one address may have 3/4 of each."""

    def within(self, request: SearchRequest) -> SearchRequest:
        """Return the request if it is within the limits, otherwise raise InvalidInput."""
        for field, value, most in (
            ("simulations", request.simulations, self.simulations),
            ("seconds", request.seconds, self.seconds),
            ("memory_mb", request.memory_mb, self.memory_mb),
            ("lanes", request.lanes, self.lanes),
        ):
            if value is not None and value > most:
                raise InvalidInput(field, value, f"at most {most:,g} on this server".replace(",", " "))
        return request
