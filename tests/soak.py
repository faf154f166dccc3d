"""Many searches while workers are killed, stopped and woken at random: nothing goes wrong, nothing is left.

    python -m tests.soak --searches 200 --seed 0

Searches of all strategies and several games run one after the other on a few workers, on a new Ray every
--each searches. Meanwhile a thread kills a worker (SIGKILL), asks one to end (SIGTERM), or stops one
(SIGSTOP) for a while that may be longer than its jobs have. Every answer must have the digest of the same
search in one process. When a Ray has come to rest there may be no worker that was given up, and no actor or
object beyond those of the slots; after it no process, and no file in /tmp or /dev/shm. The memory of the
driver, of Ray's own processes and of workers must not grow. The report says what was done; the exit status is
1 when anything is off.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cluster.coordinator import Coordinator
from cluster.executors import make_executor
from cluster.inline_executor import InlineExecutor
from cluster.processes import descendants
from cluster.session import Session
from search.opening import open_search
from search.request import SearchRequest

if TYPE_CHECKING:
    from cluster.executor import Executor
    from cluster.ray_executor import RayExecutor

JOB_TIMEOUT_S = 1.5
PAUSE_S = 1.5
"""Between two misdeeds, in the mean."""
LONGEST_STOP_S = 2.5
CALM_S = 20.0
"""How long what is left of a search may take to go."""
GROWTH = 1.1
"""By so much the last quarter of the searches may have more memory than the second, and..."""
GROWTH_MB = 8.0
"""...by so much more, for what is small."""
SEARCHES: list[dict[str, Any]] = [
    {"game": "gomoku", "strategy": "root", "lanes": 5, "simulations": 200_000},
    {"game": "gomoku", "strategy": "tree", "lanes": 16, "simulations": 100_000},
    {"game": "gomoku:size=9", "strategy": "tree", "lanes": 5, "simulations": 100_000, "staleness": 2},
    {"game": "gomoku", "strategy": "leaf", "lanes": 16, "simulations": 350_000},
    {"game": "gomoku:size=9", "strategy": "leaf", "simulations": 200_000, "in_flight": "virtual-loss"},
    {"game": "tictactoe", "strategy": "tree", "lanes": 4, "simulations": 350_000},
    {"game": "morris", "strategy": "root", "lanes": 3, "simulations": 45_000, "solver": True},
    {"game": "morris", "strategy": "leaf", "lanes": 5, "simulations": 30_000, "playouts_per_leaf": 2},
    {"game": "thud:ruleset=seed", "strategy": "root", "lanes": 4, "simulations": 20_000},
    {"game": "thud:ruleset=seed", "strategy": "tree", "lanes": 8, "simulations": 15_000},
    {"game": "battleship", "strategy": "root", "lanes": 2, "simulations": 60_000,
     "hidden_information": "determinized"},
    {"game": "battleship", "strategy": "tree", "lanes": 8, "simulations": 60_000},
    {"game": "battleship", "strategy": "leaf", "lanes": 7, "simulations": 12_500, "playouts_per_leaf": 1},
    {"game": "grundy:pile=20", "strategy": "tree", "lanes": 6, "simulations": 350_000},
]  # fmt: skip
"""A quarter of a second of one core each, more or less."""


class Mischief(threading.Thread):
    """Does things to the workers of an executor until it is told to end."""

    def __init__(self, executor: RayExecutor, draw: random.Random) -> None:
        super().__init__(daemon=True)
        self.done: Counter[str] = Counter()
        self._executor = executor
        self._draw = draw
        self._ending = threading.Event()
        self._stopped: dict[int, float] = {}

    def run(self) -> None:
        due_s = time.monotonic()
        while not self._ending.wait(0.02):
            now = time.monotonic()
            for pid, until_s in list(self._stopped.items()):
                if now > until_s:
                    del self._stopped[pid]
                    # It may have been given up and killed.
                    self.done["woken"] += self._send(pid, signal.SIGCONT)
            if now > due_s:
                due_s = now + self._draw.expovariate(1 / PAUSE_S)
                self._strike(now)
        for pid in self._stopped:
            self._send(pid, signal.SIGCONT)

    def end(self) -> None:
        self._ending.set()
        self.join()

    def _strike(self, now: float) -> None:
        pids = [pid for pid in self._executor.worker_pids() if pid]
        if not pids:
            return
        pid = self._draw.choice(pids)
        what = self._draw.choice(("killed", "stopped", "stopped", "terminated"))
        if what == "stopped":
            self.done["stopped"] += self._send(pid, signal.SIGSTOP)
            self._stopped[pid] = now + self._draw.uniform(0.05, LONGEST_STOP_S)
        else:
            self.done[what] += self._send(pid, signal.SIGKILL if what == "killed" else signal.SIGTERM)

    @staticmethod
    def _send(pid: int, number: int) -> bool:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return False
        return True


@dataclass
class Tally:
    """What happened, and what was off."""

    searches: int = 0
    retried: int = 0
    late: int = 0
    restarts: int = 0
    done: Counter[str] = field(default_factory=Counter)
    off: list[str] = field(default_factory=list)
    memory: dict[str, list[float]] = field(default_factory=dict)
    """Megabytes after each search."""

    def complain(self, text: str) -> None:
        self.off.append(text)
        print(f"OFF: {text}", flush=True)


def search_on(executor: Executor, request: SearchRequest) -> tuple[str, Session]:
    """Search; the digest."""
    search = open_search(request)
    executor.open(search.context)
    session = Session(Coordinator(search, executor.num_workers), executor)
    return session.run().digest, session


def soak(requests: list[tuple[SearchRequest, str]], workers: int, draw: random.Random, tally: Tally) -> None:
    """These searches on a Ray of their own."""
    files, processes = files_now(), descendants()
    executor = cast("RayExecutor", make_executor("ray", workers, job_timeout_s=JOB_TIMEOUT_S))
    mischief = Mischief(executor, draw)
    try:
        search_on(executor, requests[0][0])
        mischief.start()
        for request, expected in requests:
            digest, session = search_on(executor, request)
            tally.searches += 1
            tally.retried += session.coordinator.counters.jobs_retried
            tally.late += session.coordinator.counters.late_results
            if digest != expected:
                tally.complain(f"search {tally.searches}: another digest for {request}")
            if tally.searches % 10 == 0:
                print(progress(tally, mischief), file=sys.stderr)
            remember(tally, executor)
        mischief.end()
        look_for_leaks(executor, workers, tally)
    finally:
        mischief.end()
        tally.done += mischief.done
        tally.restarts += sum(worker.restarts for worker in executor.workers)
        executor.close()
    if not comes_true(lambda: descendants() <= processes):
        tally.complain(f"{len(descendants() - processes)} processes are left")
    new = files_now() - files
    if new:
        tally.complain(f"files are left: {', '.join(sorted(new))}")


def look_for_leaks(executor: RayExecutor, workers: int, tally: Tally) -> None:
    """When a Ray has come to rest: what is there beyond its workers."""
    from cluster.ray_executor import ray

    if not comes_true(lambda: executor.poll_retired() == 0):
        tally.complain(f"{executor.poll_retired()} workers that were given up are still there")
    state = ray._private.state

    def actors() -> int:
        return sum(actor["State"] != "DEAD" for actor in state.actors().values())

    # There may be fewer: that an idle one has died is noticed by the next search.
    if not comes_true(lambda: actors() <= workers):
        tally.complain(f"{actors()} actors for {workers} slots")
    core = ray._private.worker.global_worker.core_worker

    def at_rest() -> bool:
        # An answer that came since the last look has one until the next.
        executor.poll_retired()
        # Each actor's handle, its first call, and the context.
        return len(core.get_all_reference_counts()) <= 2 * workers + 1

    if not comes_true(at_rest):
        counts = core.get_all_reference_counts()
        tally.complain(f"{len(counts)} references to objects: {sorted(map(str, counts.items()))}")


def comes_true(condition: Callable[[], bool], within_s: float = CALM_S) -> bool:
    limit = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > limit:
            return False
        time.sleep(0.1)
    return True


def files_now() -> set[str]:
    """What lies in the folders that Ray and Python use for a while, as far as it is of this process.

    Ray names its folder after the process; ``main`` gives the others a folder of their own.
    """
    temporary, shared = Path(tempfile.gettempdir()), Path("/dev/shm")
    ray = temporary / "ray"
    found = set(temporary.iterdir()) - {ray}
    found |= set(shared.iterdir()) if shared.is_dir() else set()
    for folder in (ray, Path("/tmp/ray")):
        found |= set(folder.glob(f"session_*_{os.getpid()}"))
    return set(map(str, found))


def remember(tally: Tally, executor: RayExecutor) -> None:
    """Note how much memory there is to each kind of process, and what the driver holds open."""
    sizes: dict[str, float] = {}
    sizes["driver"], sizes["driver's shared"] = megabytes(os.getpid())
    for pid in descendants():
        name = name_of(pid)
        if name in ("gcs_server", "raylet"):
            sizes[name] = sum(megabytes(pid))
    workers = [megabytes(pid) for pid in executor.worker_pids() if pid]
    sizes["largest worker"] = max((own for own, _ in workers), default=0.0)
    sizes["... its shared"] = max((shared for _, shared in workers), default=0.0)
    sizes["driver's files"] = len(os.listdir("/proc/self/fd"))
    sizes["driver's threads"] = len(os.listdir("/proc/self/task"))
    sizes["processes"] = len(descendants())
    for name, size in sizes.items():
        tally.memory.setdefault(name, []).append(size)


def megabytes(pid: int) -> tuple[float, float]:
    """Of its own, and shared: programs, and what it has read of Ray's object store."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()
        resident, shared = (int(pages[k]) * os.sysconf("SC_PAGE_SIZE") / 2**20 for k in (1, 2))
    except (OSError, IndexError):
        return 0.0, 0.0
    return resident - shared, shared


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def progress(tally: Tally, mischief: Mischief) -> str:
    done = tally.done + mischief.done
    return (
        f"{tally.searches} searches, {done['killed']} killed, {done['terminated']} terminated, "
        f"{done['stopped']} stopped, {tally.retried} jobs again, {tally.late} late, "
        f"driver {tally.memory['driver'][-1]:.0f} MB, {len(tally.off)} things off"
    )


def judge_memory(tally: Tally) -> None:
    """Compare quarters: the first is for warming up."""
    for name, sizes in tally.memory.items():
        quarter = len(sizes) // 4
        if quarter < 2:
            continue
        before, after = (statistics.median(sizes[k * quarter : (k + 1) * quarter]) for k in (1, 3))
        print(f"{name:17} {before:7.1f} -> {after:7.1f}, at most {max(sizes):7.1f}")
        # What is shared grows until every page of the object store has been touched, and ends with its Ray.
        if after > before * GROWTH + GROWTH_MB and "shared" not in name:
            tally.complain(f"{name} has grown")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--each", type=int, default=50, metavar="N", help="searches on one Ray")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        return run(options)


def run(options: argparse.Namespace) -> int:
    """All that is asked for; the exit status."""
    draw = random.Random(options.seed)
    started = time.monotonic()
    known = []
    for values in SEARCHES:
        request = SearchRequest(**values, memory_mb=64, seed=draw.randrange(1000))
        known.append((request, search_on(InlineExecutor(), request)[0]))
    print(f"{len(known)} searches known ({time.monotonic() - started:.0f} s)", flush=True)
    tally = Tally()
    with contextlib.suppress(KeyboardInterrupt):
        while tally.searches < options.searches:
            count = min(options.each, options.searches - tally.searches)
            soak(draw.choices(known, k=count), options.workers, random.Random(draw.random()), tally)
    did = ", ".join(f"{count} {name}" for name, count in sorted(tally.done.items()))
    print(f"{tally.searches} searches in {time.monotonic() - started:.0f} s; workers: {did}")
    print(f"{tally.restarts} replaced, {tally.retried} jobs run again, {tally.late} late results dropped")
    judge_memory(tally)
    print(f"{len(tally.off)} things off")
    return 1 if tally.off or tally.searches < options.searches else 0


if __name__ == "__main__":
    sys.exit(main())
