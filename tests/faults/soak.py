"""Many searches while workers are killed, stopped and woken at random: nothing goes wrong, nothing is left.

    python -m tests.faults.soak --searches 200 --seed 0

Searches of all strategies and several games run one after the other on a few workers, on a new Ray every
--each searches. Meanwhile a thread kills a worker (SIGKILL), asks one to end (SIGTERM), or stops one
(SIGSTOP) for a while that may be longer than its jobs have. Every answer must have the digest of the same
search in one process. When a Ray has come to rest there may be no worker that was given up, and no actor or
object beyond those of the slots; after it no process, and no file in /tmp or /dev/shm. The memory of the
driver, of Ray's own processes and of workers must not grow.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cluster.system.processes import descendants
from cluster.workers.choose import make_executor
from search.request import SearchRequest
from tests.cluster.searches import alone, search_on
from tests.faults.harness import (
    Campaign,
    main,
    name_of,
    new_parser,
    resident_mb,
)
from tests.waiting import comes_true

if TYPE_CHECKING:
    from cluster.workers.ray_executor import RayExecutor

JOB_TIMEOUT_S = 1.5
PAUSE_S = 1.5
"""The mean time between two faults."""
LONGEST_STOP_S = 2.5
GROWTH, GROWTH_MB = 1.1, 8.0
"""The last quarter of the searches may have this many times the memory of the second, and so many MB more."""
SEARCHES: list[dict[str, Any]] = [
    {"game": "gomoku", "strategy": "root", "lanes": 5, "simulations": 200_000},
    {"game": "gomoku", "strategy": "tree", "lanes": 16, "simulations": 100_000},
    {"game": "gomoku:size=9", "strategy": "tree", "lanes": 5, "simulations": 100_000, "solver": True},
    {"game": "gomoku", "strategy": "leaf", "simulations": 350_000, "batch": 64, "playouts_per_leaf": 32},
    {"game": "gomoku:size=9", "strategy": "leaf", "simulations": 20_000, "in_flight": "virtual-loss"},
    {"game": "tictactoe", "strategy": "tree", "lanes": 4, "simulations": 350_000},
    {"game": "morris", "strategy": "root", "lanes": 3, "simulations": 45_000, "solver": True},
    {"game": "morris", "strategy": "leaf", "lanes": 5, "simulations": 30_000, "playouts_per_leaf": 2},
    {"game": "thud:ruleset=seed", "strategy": "root", "lanes": 4, "simulations": 20_000},
    {"game": "thud:ruleset=seed", "strategy": "tree", "lanes": 8, "simulations": 15_000},
    {"game": "battleship", "strategy": "root", "lanes": 2, "simulations": 60_000,
     "hidden_information": "determinized"},
    {"game": "battleship", "strategy": "tree", "lanes": 8, "simulations": 60_000},
    {"game": "battleship", "strategy": "leaf", "lanes": 7, "simulations": 12_500},
    {"game": "grundy:pile=20", "strategy": "tree", "lanes": 6, "simulations": 350_000},
]  # fmt: skip
"""About a quarter of a second of one core each."""


class Mischief(threading.Thread):
    """Does things to the workers of an executor until it is told to end."""

    def __init__(self, campaign: Campaign, executor: RayExecutor, draw: random.Random) -> None:
        super().__init__(daemon=True)
        self._campaign = campaign
        self._executor = executor
        self._draw = draw
        self._ending = threading.Event()
        self._stopped: dict[int, float] = {}
        """By process id: when it is to be woken."""

    def run(self) -> None:
        due_s = time.monotonic()
        while not self._ending.wait(0.02):
            now = time.monotonic()
            for pid in [pid for pid, until_s in self._stopped.items() if now > until_s]:
                del self._stopped[pid]
                self._campaign.send(pid, signal.SIGCONT, "woken")
            if now > due_s:
                due_s = now + self._draw.expovariate(1 / PAUSE_S)
                self._strike(now)
        for pid in self._stopped:
            self._campaign.send(pid, signal.SIGCONT, "woken")

    def end(self) -> None:
        """Wake whoever is stopped, and end."""
        self._ending.set()
        if self.is_alive():
            self.join()

    def _strike(self, now: float) -> None:
        pids = [pid for pid in self._executor.worker_pids() if pid]
        if not pids:
            return
        pid = self._draw.choice(pids)
        what = self._draw.choice(("killed", "stopped", "stopped", "terminated"))
        numbers = {"killed": signal.SIGKILL, "stopped": signal.SIGSTOP, "terminated": signal.SIGTERM}
        self._campaign.send(pid, numbers[what], what)
        if what == "stopped":
            self._stopped[pid] = now + self._draw.uniform(0.05, LONGEST_STOP_S)


@dataclass
class Tally:
    """What happened to the searches."""

    searches: int = 0
    retried: int = 0
    late: int = 0
    restarts: int = 0
    memory: dict[str, list[float]] = field(default_factory=dict)
    """Megabytes after each search, by kind of process; also counts of files, threads and processes."""


def soak(
    campaign: Campaign,
    requests: Sequence[tuple[SearchRequest, str]],
    workers: int,
    draw: random.Random,
    tally: Tally,
) -> None:
    """Run these searches, with the digests that they must have, on a Ray of their own."""
    files, processes = files_now(), descendants()
    executor = cast("RayExecutor", make_executor("ray", workers, job_timeout_s=JOB_TIMEOUT_S))
    mischief = Mischief(campaign, executor, draw)
    try:
        search_on(executor, requests[0][0])
        mischief.start()
        for request, expected in requests:
            result, session = search_on(executor, request)
            tally.searches += 1
            tally.retried += result.jobs_retried
            tally.late += session.coordinator.counters.late_results
            campaign.expect(
                result.digest == expected, f"search {tally.searches}: another digest for {request}"
            )
            remember(tally, executor)
            if tally.searches % 10 == 0:
                print(f"{tally.searches} searches, {dict(campaign.faults)}", file=sys.stderr, flush=True)
        mischief.end()
        look_for_leaks(campaign, executor, workers)
    finally:
        mischief.end()
        tally.restarts += sum(worker.restarts for worker in executor.workers)
        executor.close()
    if not comes_true(lambda: descendants() <= processes):
        campaign.complain(f"{len(descendants() - processes)} processes are left")
    new = files_now() - files
    campaign.expect(not new, f"files are left: {', '.join(sorted(new))}")


def look_for_leaks(campaign: Campaign, executor: RayExecutor, workers: int) -> None:
    """When a Ray has come to rest: complain of what is there beyond its workers."""
    if not comes_true(lambda: executor.poll_retired() == 0):
        campaign.complain(f"{executor.poll_retired()} workers that were given up are still there")
    # There may be fewer: the next search notices that an idle one has died.
    if not comes_true(lambda: 0 < executor.latest("held").get("actors", 0) <= workers):
        campaign.complain(f"{executor.latest('held')} for {workers} slots")

    def at_rest() -> bool:
        # An answer that came since the last look has one until the next.
        executor.poll_retired()
        # Each actor's handle, its first call, and the context.
        return executor.latest("held")["references"] <= 2 * workers + 1

    if not comes_true(at_rest):
        campaign.complain(f"{executor.latest('held')}: more references to objects than workers need")


def files_now() -> set[str]:
    """What lies in the temporary folders that Ray and Python use, as far as it belongs to this process.

    Ray names its folder after the process; `prove` gives everything else a folder of its own.
    """
    temporary, shared = Path(tempfile.gettempdir()), Path("/dev/shm")
    ray = temporary / "ray"
    found = set(temporary.iterdir()) - {ray}
    found |= set(shared.iterdir()) if shared.is_dir() else set()
    for folder in (ray, Path("/tmp/ray")):
        found |= set(folder.glob(f"session_*_{os.getpid()}"))
    return set(map(str, found))


def remember(tally: Tally, executor: RayExecutor) -> None:
    """Note the memory of each kind of process, and what the driver holds open."""
    sizes: dict[str, float] = {}
    sizes["driver"], sizes["driver, shared"] = resident_mb(os.getpid())
    for pid in descendants():
        name = name_of(pid)
        if name in ("gcs_server", "raylet"):
            sizes[name] = sum(resident_mb(pid))
    workers = [resident_mb(pid) for pid in executor.worker_pids() if pid]
    sizes["largest worker"] = max((own for own, _ in workers), default=0.0)
    sizes["worker, shared"] = max((shared for _, shared in workers), default=0.0)
    sizes["driver's files"] = len(os.listdir("/proc/self/fd"))
    sizes["driver's threads"] = len(os.listdir("/proc/self/task"))
    sizes["processes"] = len(descendants())
    for name, size in sizes.items():
        tally.memory.setdefault(name, []).append(size)


def judge_memory(campaign: Campaign, tally: Tally) -> None:
    """Compare the last quarter of the searches with the second; the first is for warming up."""
    for name, sizes in tally.memory.items():
        quarter = len(sizes) // 4
        if quarter < 2:
            continue
        before, after = (statistics.median(sizes[k * quarter : (k + 1) * quarter]) for k in (1, 3))
        print(f"{name:17} {before:7.1f} -> {after:7.1f}, at most {max(sizes):7.1f}")
        # What is shared grows until every page of the object store has been touched, and ends with its Ray.
        grown = after > before * GROWTH + GROWTH_MB and "shared" not in name
        campaign.expect(not grown, f"{name} has grown")


def prove(campaign: Campaign, options: argparse.Namespace) -> None:
    """Run all searches that are asked for."""
    os.environ["TMPDIR"] = tempfile.tempdir = str(campaign.folder)
    draw = random.Random(options.seed)
    known = []
    for values in SEARCHES:
        request = SearchRequest(**values, memory_mb=64, seed=draw.randrange(1000))
        known.append((request, alone(request).digest))
    print(f"{len(known)} searches known", flush=True)
    tally = Tally()
    while tally.searches < options.searches:
        count = min(options.each, options.searches - tally.searches)
        soak(campaign, draw.choices(known, k=count), options.workers, random.Random(draw.random()), tally)
    print(
        f"{tally.searches} searches; {tally.restarts} workers replaced, {tally.retried} jobs run again, "
        f"{tally.late} late results dropped"
    )
    judge_memory(campaign, tally)


if __name__ == "__main__":
    parser = new_parser(__doc__)
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--each", type=int, default=50, metavar="N", help="searches on one Ray")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    sys.exit(main(prove, parser))
