"""Settings and limits of a service: those that have an option of `banyan serve` are described as the options
of a search are. Nothing heavy is imported here, so that `banyan --help` is quick.
"""

# ruff: noqa: RUF009
from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from search.options import BASIC, option, refuse
from search.request import SearchRequest

SHARE_OF_ONE = 0.75
"""Largest share of all places for one address, which may be a proxy with many clients."""


def of_one(most: int) -> int:
    """The number of places that one address may have, of ``most`` in total."""
    return max(1, int(most * SHARE_OF_ONE))


def _limit(default: float, name: str, help: str, metavar: str = "N", least: float = 1) -> Any:  # noqa: A002
    bounds = (least, math.inf)
    return option(default, help=help, group="Limits", cli=name, metavar=metavar, bounds=bounds)


_access = partial(option, group="Access")


@dataclass(frozen=True)
class Settings:
    """The settings of a server: address, data folder, access."""

    data: Path = option(
        help="Folder in which the server stores its searches; each server needs its own.",
        group=BASIC,
        metavar="DIR",
    )
    host: str = _access("127.0.0.1", help="Address to listen on.", metavar="HOST")
    port: int = _access(8000, help="Port to listen on; 0 for any free one.", metavar="PORT")
    token_file: Path | None = _access(
        None,
        help="File with bearer tokens, one per line (also BANYAN_TOKEN). Without tokens only this "
        "machine has access.",
        metavar="FILE",
    )
    cors_origin: list[str] | None = _access(
        None,
        help="An origin whose pages have access, such as https://example.org; may be repeated.",
        metavar="ORIGIN",
    )
    root_path: str = _access(
        "",
        help="Prefix, such as /banyan, of paths that a proxy passes on unchanged; not needed where the proxy "
        "removes it.",
        metavar="PATH",
    )
    allow_games: list[str] | None = _access(
        None,
        help="A further game that clients may use: a game of an installed package, openspiel:connect_four, "
        "'openspiel:*', or gym:FrozenLake-v1; may be repeated.",
        metavar="NAME",
        envvar="BANYAN_ALLOW_GAMES",
    )
    allow_speedup: bool | None = _access(
        None,
        help="Clients may measure the speedup of the workers, which takes them from searches meanwhile.",
        unset="yes, if only this machine has access",
    )
    checkpoint_every: float = option(
        10.0,
        help="Seconds between checkpoints of a running search.",
        group=BASIC,
        metavar="S",
        bounds=(0.1, math.inf),
    )


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
    analysis_bytes: int = _limit(
        4 * 2**20, "max-analysis-body", "Bytes of one request with many positions.", "BYTES", 1024
    )
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
