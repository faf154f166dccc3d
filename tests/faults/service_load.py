"""A service under load: many clients, searches of mixed games and sizes, and what is killed meanwhile.

    python -m tests.faults.service_load --minutes 5 --clients 50 --searches 500 --kill worker,server,ray

Each client asks for a search, asks how it stands until it is over, and looks at its digest. Searches are
spread evenly over the time, and together they are about as much as two cores can do in it: so the workers
search all the time, and the server has to answer beside them. Whoever is killed comes back by itself.

What is measured is printed as JSON. Every search that was accepted must end once with the digest that it has
alone; where nothing is killed, the 99th percentile of a status request must be below --p99, and the server's
memory grow by less than --growth a minute after the first one.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import math
import random
import signal
import statistics
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import httpx

from cluster.client.client import AsyncClient, ServiceError
from cluster.system.processes import descendants
from search.request import SearchRequest
from tests.cluster.processes import command_of
from tests.cluster.searches import alone
from tests.cluster.service.process import Server
from tests.faults.harness import Campaign, main, memory_of, new_parser, print_fields

POLL_S = 0.25
"""How often a client asks how its search stands."""
SAMPLE_S = 2.0
"""How often memory is looked at."""
WORDS = {"worker": "ray::Banyan", "ray": "raylet/raylet", "gcs": "gcs_server"}
BODIES: list[dict[str, Any]] = [
    {"game": game, "strategy": strategy, "simulations": simulations, "lanes": lanes, "seed": seed}
    for seed, (game, strategy, simulations, lanes) in enumerate(
        [
            ("tictactoe", "tree", 100_000, 8),
            ("tictactoe", "root", 300_000, 4),
            ("gomoku:size=9", "tree", 100_000, 8),
            ("gomoku:size=9", "leaf", 140_000, 8),
            ("gomoku", "tree", 120_000, 16),
            ("gomoku", "root", 1_000_000, 4),
            ("morris", "tree", 12_000, 8),
            ("morris", "leaf", 50_000, 4),
            ("thud", "tree", 60_000, 4),
            ("battleship", "tree", 46_000, 8),
        ]
    )
]
"""From 0.2 to 2.5 seconds of one core each, 1.1 s on average: 500 keep two cores busy for five minutes."""


@dataclass
class Seen:
    """What the clients have seen."""

    accepted: dict[str, int] = field(default_factory=dict)
    """Which of BODIES each search was."""
    ended: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    statuses: list[tuple[float, float]] = field(default_factory=list)
    """When a status was asked for, and how long that took."""
    memory: list[tuple[float, int, int]] = field(default_factory=list)
    """By time: bytes of the server, and of it and all processes below it."""
    busy: list[tuple[float, float]] = field(default_factory=list)
    """By time: seconds that the workers have been in jobs, as the metrics say; from 0 where they are new."""


def bodies(scale: float) -> list[dict[str, Any]]:
    """BODIES, with so many times their simulations."""
    return [body | {"simulations": int(scale * body["simulations"])} for body in BODIES]


async def client(url: str, number: int, options: argparse.Namespace, expected: list[str], seen: Seen) -> None:
    """One client, with its share of the searches, at even distances."""
    asked = bodies(options.scale)
    rng = random.Random(number)
    mine = range(number, options.searches, options.clients)
    started_s = time.monotonic()
    async with AsyncClient(url) as api:
        for search in mine:
            due_s = started_s + 60 * options.minutes * search / options.searches
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            which = rng.randrange(len(BODIES))
            search_id = (
                await patiently(lambda which=which, search=search: api.submit(asked[which], f"load-{search}"))
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


def memory_below(parent: int) -> tuple[int, int]:
    """Bytes of the server that a parent keeps, and of all below the parent, with it."""
    return memory_of({server_of(parent)}), memory_of({parent, *descendants(parent)})


def server_of(parent: int) -> int:
    """The process that serves; 0 where there is none just now."""
    for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        # What Ray left behind may be a child for a moment too.
        if command_of(int(child)) == command_of(parent):
            return int(child)
    return 0


class Place:
    """The server, which its parent starts again when it ends."""

    def __init__(self, campaign: Campaign, workers: int) -> None:
        options = ("--workers", str(workers), "--checkpoint-every", "2", "--max-waiting", "1000")
        self.server = Server(campaign.folder / "data", *options, executor="ray")
        self._campaign = campaign

    @property
    def parent(self) -> int:
        return self.server.process.pid

    def kill(self, what: str) -> None:
        """SIGKILL to the server, a worker, or Ray; waits for it if it is just starting again."""
        deadline_s = time.monotonic() + 60
        while time.monotonic() < deadline_s:
            pids = [server_of(self.parent)] if what == "server" else sorted(descendants(self.parent))
            for pid in pids:
                is_it = pid and (what == "server" or WORDS[what].encode() in command_of(pid))
                if is_it and self._campaign.send(pid, signal.SIGKILL, f"{what} killed"):
                    return
            time.sleep(0.2)
        raise RuntimeError(f"there is no {what} to kill")


async def watch(place: Place, options: argparse.Namespace, seen: Seen, killed: list[float]) -> None:
    """Kill what is to be killed, at even distances; take samples of memory and of the workers' time."""
    started_s = time.monotonic()
    kills = [what for what in options.kill.split(",") if what]
    due = [60 * options.minutes * (i + 1) / (len(kills) + 1) for i in range(len(kills))]
    # In a process of its own: the clients would wait for it.
    beside = ProcessPoolExecutor(1, get_context("spawn"))
    async with httpx.AsyncClient(timeout=60.0) as asking:
        while True:
            await asyncio.sleep(SAMPLE_S)
            elapsed_s = time.monotonic() - started_s
            if due and elapsed_s > due[0]:
                due.pop(0)
                print(f"{elapsed_s:.0f} s: kill -9 of {kills[0]}", file=sys.stderr)
                await asyncio.to_thread(place.kill, kills.pop(0))
                killed.append(time.monotonic())
            server, everything = await asyncio.get_running_loop().run_in_executor(
                beside, memory_below, place.parent
            )
            seen.memory.append((elapsed_s, server, everything))
            with contextlib.suppress(httpx.HTTPError):
                metrics = (await asking.get(f"{place.server.url}/metrics")).text
                seen.busy.append((time.monotonic() - started_s, metric(metrics, "worker_busy_seconds_total")))


def metric(text: str, name: str) -> float:
    """The sum of a metric's samples."""
    lines = [line for line in text.splitlines() if line.startswith(f"banyan_{name}")]
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


async def load(options: argparse.Namespace, place: Place, expected: list[str]) -> tuple[Seen, list[float]]:
    """All clients, to their ends."""
    seen, killed = Seen(), []  # type: ignore[var-annotated]
    watching = asyncio.create_task(watch(place, options, seen, killed))
    clients = [client(place.server.url, n, options, expected, seen) for n in range(options.clients)]
    await asyncio.gather(*clients)
    if watching.done():
        # It has failed.
        watching.result()
    watching.cancel()
    return seen, killed


def summary(seen: Seen, killed: list[float], options: argparse.Namespace, place: Place) -> dict[str, Any]:
    """What was measured."""
    # Requests that met a server that was starting again waited for it, as clients do.
    calm = sorted(took for at, took in seen.statuses if not any(-5 < at - kill < 30 for kill in killed))
    metrics = httpx.get(f"{place.server.url}/metrics", timeout=60.0).text
    return {
        "searches": len(seen.accepted),
        "ended": sum(seen.ended.values()),
        "wrong": seen.wrong,
        "statuses": len(seen.statuses),
        "status_p50_s": round(calm[len(calm) // 2], 4) if calm else None,
        "status_p99_s": round(calm[int(0.99 * len(calm))], 4) if calm else None,
        "status_max_s": round(calm[-1], 4) if calm else None,
        "workers_busy": busy_shares(seen, options),
        "memory_mb": [
            [round(at), server >> 20, everything >> 20] for at, server, everything in seen.memory[::15]
        ],
        "memory_columns": "seconds, server, everything below its parent",
        # Those of several servers, one after the other, have no trend.
        "server_growth_mb_per_minute": None if killed else growth(seen, 1),
        "growth_mb_per_minute": None if killed else growth(seen, 2),
        "server_restarts": metric(metrics, "server_restarts_total"),
        "killed": options.kill,
    }


def busy_shares(seen: Seen, options: argparse.Namespace) -> list[float]:
    """What share of its time a worker is in jobs, minute by minute, until the last searches are asked for."""
    shares = []
    for minute in range(math.ceil(options.minutes)):
        took = gained = 0.0
        for (before_s, before), (after_s, after) in pairwise(seen.busy):
            # Those of another server begin at 0.
            if minute <= before_s / 60 < minute + 1 and after >= before:
                took += after_s - before_s
                gained += after - before
        shares.append(round(gained / took / options.workers, 3) if took else 0.0)
    return shares


def growth(seen: Seen, column: int) -> float | None:
    """Megabytes a minute after the first minute, by least squares."""
    later = [(row[0] / 60, row[column] / 2**20) for row in seen.memory if row[0] > 60]
    if len(later) < 10:
        return None
    return round(statistics.linear_regression(*zip(*later, strict=True)).slope, 2)


def judge(campaign: Campaign, options: argparse.Namespace, seen: Seen, found: dict[str, Any]) -> None:
    """Complain of answers that are wrong or missing; where nothing was killed, of what is slow or grows."""
    for line in seen.wrong:
        campaign.complain(line)
    once = sum(times == 1 for times in seen.ended.values())
    campaign.expect(once == options.searches, f"{once} of {options.searches} searches ended once")
    asked = [what for what in options.kill.split(",") if what]
    made = campaign.faults.total()
    campaign.expect(made == len(asked), f"{made} of {len(asked)} kills were made")
    if asked:
        restarted = "server" not in asked or found["server_restarts"] > 0
        campaign.expect(restarted, "the server was killed and did not start again")
        return
    p99_s, growth_mb = found["status_p99_s"], found["server_growth_mb_per_minute"]
    quick = p99_s is not None and p99_s < options.p99
    campaign.expect(quick, f"the 99th percentile of a status request is {p99_s} s, not below {options.p99}")
    # Of the first minute there is no growth.
    flat = options.minutes < 2 or (growth_mb is not None and growth_mb < options.growth)
    campaign.expect(flat, f"the server grew by {growth_mb} MB a minute, not below {options.growth}")


def prove(campaign: Campaign, options: argparse.Namespace) -> None:
    """One service, with all its clients."""
    expected = [alone(SearchRequest(**body)).digest for body in bodies(options.scale)]
    # Compiled kernels are many objects, which a collection would look through while 50 clients wait.
    gc.freeze()
    place = Place(campaign, options.workers)
    print(f"serving at {place.server.url}", file=sys.stderr, flush=True)
    try:
        seen, killed = asyncio.run(load(options, place, expected))
        found = summary(seen, killed, options, place)
    finally:
        place.server.end()
    print_fields(found)
    judge(campaign, options, seen, found)


if __name__ == "__main__":
    parser = new_parser(__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--searches", type=int, default=500)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kill", default="", help="worker, server, ray, in this order")
    parser.add_argument("--scale", type=float, default=1.0, help="so many times the simulations")
    parser.add_argument("--p99", type=float, default=0.1, help="seconds that a status request may take")
    parser.add_argument("--growth", type=float, default=4.0, help="megabytes a minute that a server may grow")
    sys.exit(main(prove, parser))
