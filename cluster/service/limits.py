"""What one service takes on: sizes of searches, and how many of them."""

from __future__ import annotations

from dataclasses import dataclass

from games.errors import InvalidInput
from search.request import MAX_SIMULATIONS, SearchRequest


@dataclass(frozen=True)
class Limits:
    """Each is a most; `banyan serve` has an option for those that operators turn."""

    running: int = 4
    """Searches at a time. Each takes its memory on the server, and on each worker."""
    waiting: int = 256
    """Searches that wait for their turn; then the queue is full."""
    simulations: int = MAX_SIMULATIONS
    seconds: float = 3600.0
    memory_mb: int = 1024
    """Of one search, on the server and on each worker."""
    lanes: int = 1024
    moves: int = 2000
    text: int = 20_000
    """Characters of a position, or of a game with its options."""
    body_bytes: int = 256 * 1024
    kept: int = 10_000
    """Searches that are over and still to be asked for; older ones are forgotten."""
    streams: int = 1000
    """Event streams that are read at a time."""

    def within(self, request: SearchRequest) -> SearchRequest:
        """The request, if it is not too large. Raises InvalidInput."""
        for field, value, most in (
            ("simulations", request.simulations, self.simulations),
            ("seconds", request.seconds, self.seconds),
            ("memory_mb", request.memory_mb, self.memory_mb),
            ("lanes", request.lanes, self.lanes),
        ):
            if value is not None and value > most:
                raise InvalidInput(field, value, f"at most {most:,g} on this server".replace(",", " "))
        return request
