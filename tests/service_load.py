"""A service under load: many clients, searches of mixed games and sizes, and what is killed meanwhile.

    python -m tests.service_load --minutes 5 --clients 50 --searches 500 --workers 2 --kill worker,server,ray

Each client asks for a search, asks how it stands until it is over, and looks at its digest. Searches are
spread evenly over the time. The exit status is 0 if every search that was accepted ended once with the
digest that it has alone, and the 99th percentile of a status request, while nothing was killed, is below
--p99.
What is measured is printed as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from cluster.client import AsyncClient, ServiceError
from cluster.processes import descendants
from search.request import SearchRequest
from tests.cluster.interrupted import fresh, session_of
from tests.cluster.service_process import Server

POLL_S = 0.25
"""How often a client asks how its search stands."""
WORDS = {"worker": "ray::_Actor", "ray": "raylet/raylet"}
BODIES: list[dict[str, Any]] = [
    {"game": game, "strategy": strategy, "simulations": simulations, "lanes": lanes, "seed": seed}
    for seed, (game, strategy, simulations, lanes) in enumerate(
        [
            ("tictactoe", "tree", 200_000, 8),
            ("tictactoe", "root", 400_000, 4),
            ("gomoku:size=9", "tree", 40_000, 8),
            ("gomoku:size=9", "leaf", 20_000, 8),
            ("gomoku", "tree", 20_000, 16),
            ("gomoku", "root", 20_000, 4),
            ("morris", "tree", 8_000, 8),
            ("morris", "leaf", 4_000, 4),
            ("thud", "tree", 2_000, 4),
            ("battleship", "tree", 4_000, 8),
        ]
    )
]


@dataclass
class Seen:
    """What the clients have seen."""

    accepted: dict[str, int] = field(default_factory=dict)
    """Which of BODIES each search was."""
    ended: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    statuses: list[tuple[float, float]] = field(default_factory=list)
    """When a status was asked for, and how long that took."""
    memory: list[tuple[float, int]] = field(default_factory=list)
    """Bytes of the server and all processes below it, by time."""


def digests() -> list[str]:
    """What each of BODIES comes to alone."""
    return [session_of(fresh(SearchRequest(**body))).run().digest for body in BODIES]


async def client(url: str, number: int, options: argparse.Namespace, expected: list[str], seen: Seen) -> None:
    """One client, with its share of the searches, at even distances."""
    rng = random.Random(number)
    mine = range(number, options.searches, options.clients)
    started_s = time.monotonic()
    async with AsyncClient(url) as api:
        for search in mine:
            due_s = started_s + 60 * options.minutes * search / options.searches
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            which = rng.randrange(len(BODIES))
            search_id = (
                await patiently(
                    lambda which=which, search=search: api.submit(BODIES[which], f"load-{search}")
                )
            )["id"]  # type: ignore[misc]
            seen.accepted[search_id] = which
            while True:
                await asyncio.sleep(POLL_S)
                asked_s = time.monotonic()
                view = await patiently(lambda search_id=search_id: api.get(search_id))  # type: ignore[misc]
                seen.statuses.append((asked_s, time.monotonic() - asked_s))
                if view["state"] in ("done", "cancelled", "failed"):
                    break
            seen.ended[search_id] += 1
            if view["state"] != "done" or view["result"]["digest"] != expected[which]:
                seen.wrong.append(f"{search_id}: {view['state']} {view['error']}")
            finals = [event async for event in api.events(search_id) if event.final]
            if len(finals) != 1:
                seen.wrong.append(f"{search_id}: {len(finals)} final events")


async def patiently(ask: Any) -> dict[str, Any]:
    """Ask until there is an answer: the server may be starting again."""
    deadline_s = time.monotonic() + 120
    while True:
        try:
            answer: dict[str, Any] = await ask()
            return answer
        except ServiceError:
            if time.monotonic() > deadline_s:
                raise
            await asyncio.sleep(0.5)


def memory_of(pid: int) -> int:
    """Bytes that a process and all below it have in memory, shared ones once for each."""
    total = 0
    for each in {pid, *descendants(pid)}:
        try:
            pages = int(Path(f"/proc/{each}/statm").read_text().split()[1])
        except OSError:
            continue
        total += pages * os.sysconf("SC_PAGESIZE")
    return total


class Place:
    """The server, which is started again when it ends."""

    def __init__(self, folder: Path, workers: int) -> None:
        self._options = ("--workers", str(workers), "--checkpoint-every", "2", "--max-waiting", "1000")
        self._folder = folder
        self.server = Server(folder, *self._options, executor="ray")
        self.starts = 1

    def look(self) -> None:
        """Start it again if it has ended."""
        if self.server.process.poll() is not None:
            print("".join(self.server.lines[-3:]), file=sys.stderr)
            port = self.server.port
            self.server = Server(self._folder, *self._options, executor="ray", port=port)
            self.starts += 1

    def kill(self, what: str) -> None:
        """SIGKILL to the server, to one of its workers, or to Ray."""
        if what == "server":
            os.kill(self.server.process.pid, signal.SIGKILL)
            self.server.process.wait()
            return
        for pid in sorted(descendants(self.server.process.pid)):
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if WORDS[what] in command:
                os.kill(pid, signal.SIGKILL)
                return


async def watch(place: Place, options: argparse.Namespace, seen: Seen, killed: list[float]) -> None:
    """Kill what is to be killed, at even distances; take samples of memory."""
    started_s = time.monotonic()
    kills = [what for what in options.kill.split(",") if what]
    due = [60 * options.minutes * (i + 1) / (len(kills) + 1) for i in range(len(kills))]
    while True:
        await asyncio.sleep(1.0)
        elapsed_s = time.monotonic() - started_s
        if due and elapsed_s > due[0]:
            due.pop(0)
            killed.append(time.monotonic())
            print(f"{elapsed_s:.0f} s: kill -9 of {kills[0]}", file=sys.stderr)
            place.kill(kills.pop(0))
        await asyncio.to_thread(place.look)
        seen.memory.append((elapsed_s, memory_of(place.server.process.pid)))


async def load(options: argparse.Namespace, place: Place, expected: list[str]) -> tuple[Seen, list[float]]:
    """All clients, to their ends."""
    seen, killed = Seen(), []  # type: ignore[var-annotated]
    watching = asyncio.create_task(watch(place, options, seen, killed))
    clients = [client(place.server.url, n, options, expected, seen) for n in range(options.clients)]
    await asyncio.gather(*clients)
    watching.cancel()
    return seen, killed


def summary(seen: Seen, killed: list[float], options: argparse.Namespace, place: Place) -> dict[str, Any]:
    """What was measured."""
    # Requests that met a server that was starting again waited for it, as clients do.
    calm = sorted(took for at, took in seen.statuses if not any(-5 < at - kill < 30 for kill in killed))
    early = [used for at, used in seen.memory if at <= 60]
    late = [used for at, used in seen.memory if at > 60]
    metrics = httpx.get(f"{place.server.url}/metrics").text
    again = [line for line in metrics.splitlines() if line.startswith("banyan_pool_restarts_total")]
    return {
        "searches": len(seen.accepted),
        "ended": sum(seen.ended.values()),
        "wrong": seen.wrong,
        "statuses": len(seen.statuses),
        "status_p50_s": round(calm[len(calm) // 2], 4) if calm else None,
        "status_p99_s": round(calm[int(0.99 * len(calm))], 4) if calm else None,
        "status_max_s": round(calm[-1], 4) if calm else None,
        "memory_first_minute_mb": max(early, default=0) // 2**20,
        "memory_later_mb": max(late, default=0) // 2**20,
        "memory_end_mb": seen.memory[-1][1] // 2**20,
        "server_starts": place.starts,
        "pool_restarts": again[0].split()[-1] if again else None,
        "killed": options.kill,
    }


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--searches", type=int, default=500)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kill", default="", help="worker, server, ray, in this order")
    parser.add_argument("--p99", type=float, default=0.1, help="seconds that a status request may take")
    options = parser.parse_args()
    expected = digests()
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), options.workers)
        try:
            seen, killed = asyncio.run(load(options, place, expected))
            found = summary(seen, killed, options, place)
        finally:
            place.server.end()
    print(json.dumps(found, indent=1))
    sound = not seen.wrong and set(seen.ended.values()) == {1} and len(seen.ended) == options.searches
    return 0 if sound and (found["status_p99_s"] or 0.0) < options.p99 else 1


if __name__ == "__main__":
    sys.exit(main())
