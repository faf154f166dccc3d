"""Searches that are killed at random moments and go on from their checkpoints: the answer stays the same.

    python -m tests.kill_and_resume --times 100

For each strategy: a search runs in a process of its own, with one to four workers. The process is killed with
SIGKILL when it has merged a random share of its jobs, one time in four while it writes a checkpoint. Another
process, with another number of workers, goes on from the file; it may be killed as well. The digest must be
that of a search without a break, and so must all else that the answer says. ``--times`` counts kills for each
strategy. With ``--ray N`` the same for N kills each of the command itself: banyan search and banyan resume.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import mmap
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cluster.checkpoint import Keeper, Opened, read_checkpoint
from cluster.coordinator import Coordinator
from cluster.processes import descendants
from cluster.session import Session
from search.opening import open_search
from search.request import STRATEGIES, SearchRequest
from tests.thread_executor import ThreadExecutor

EVERY_S = 0.05
"""Between checkpoints."""
MOST_WORKERS = 4
MOST_KILLS = 4
"""Of one search; then it may end."""
AIMED = 0.25
"""The share of kills that wait for a checkpoint that is being written."""
DIFFERENT = ("executor", "workers", "jobs_retried", "resumed", "elapsed_s", "simulations_per_s")
"""Fields of the answer that a break may change."""

SEARCHES: dict[str, list[dict[str, Any]]] = {
    "root": [
        {"game": "thud:ruleset=seed", "lanes": 4, "simulations": 90_000},
        {"game": "morris", "lanes": 3, "simulations": 250_000, "solver": True},
        {"game": "battleship", "lanes": 2, "simulations": 200_000, "hidden_information": "determinized"},
    ],
    "tree": [
        {"game": "gomoku", "lanes": 16, "simulations": 300_000},
        {"game": "gomoku:size=9", "lanes": 5, "simulations": 300_000, "staleness": 2, "solver": True},
        {"game": "battleship", "lanes": 8, "simulations": 150_000},
    ],
    "leaf": [
        {"game": "gomoku", "lanes": 16, "simulations": 1_000_000},
        {"game": "morris", "lanes": 5, "simulations": 100_000, "playouts_per_leaf": 2, "memory_mb": 1},
        {"game": "battleship", "lanes": 7, "simulations": 60_000, "playouts_per_leaf": 1},
        {"game": "gomoku:size=9", "lanes": 9, "simulations": 600_000, "in_flight": "virtual-loss"},
    ],
}
"""A second or two each."""
SMALL: dict[str, list[dict[str, Any]]] = {
    strategy: [{"game": "gomoku:size=5", "lanes": 6, "simulations": 200_000}] for strategy in STRATEGIES
}


@dataclass
class Tally:
    """What happened to the searches of one strategy."""

    searches: int = 0
    kills: int = 0
    writing: int = 0
    """Kills that left an unfinished checkpoint beside the whole one."""
    before: int = 0
    """Kills before there was any: the search begins again."""
    moments: list[float] = field(default_factory=list)
    """When: shares of the jobs that had been merged."""
    wrong: int = 0

    def __str__(self) -> str:
        quarters = Counter(min(3, int(4 * moment)) for moment in self.moments)
        spread = [quarters[quarter] for quarter in range(4)]
        return (
            f"{self.searches} searches, {self.kills} kills: {self.writing} while a checkpoint was written, "
            f"{self.before} before the first; by quarters of the search {spread}; wrong answers: {self.wrong}"
        )


class Progress:
    """How many jobs a search has merged, as its process writes and another reads it; an observer."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 8)

    @property
    def jobs(self) -> int:
        return int.from_bytes(self._shared[:8], "little")

    @jobs.setter
    def jobs(self, count: int) -> None:
        self._shared[:8] = count.to_bytes(8, "little")

    def __call__(self, session: Session) -> None:
        self.jobs = session.search.strategy.absorbed


PROGRESS = Progress()


def play_search(request: SearchRequest, path: Path | None, workers: int) -> dict[str, Any]:
    """The answer of a search, in this process: from its checkpoint if there is one."""
    if path is not None and path.exists():
        opened = read_checkpoint(path).open()
    else:
        opened = Opened(Coordinator(open_search(request), 1))
    coordinator = opened.coordinator
    executor = ThreadExecutor(workers)
    executor.open(coordinator.search.context)
    coordinator.workers = workers
    session = Session(coordinator, executor, elapsed_before_s=opened.elapsed_s)
    if path is None:
        return session.run().to_json()
    # By a clock that stands, writing takes no time: as often as said, whatever it costs.
    keeper = Keeper(path, EVERY_S, warn=lambda line: sys.exit(line), clock=lambda: 0.0)
    keeper.begin(opened)
    return session.run((PROGRESS, keeper)).to_json()


def in_child(request: SearchRequest, path: Path, workers: int, out: Path) -> int:
    """The same in a process of its own, which writes the answer to ``out``; its process id."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            out.write_text(json.dumps(play_search(request, path, workers)))
            status = 0
        finally:
            os._exit(status)
    return pid


def kill_at_random(pid: int, path: Path, draw: random.Random, jobs: int) -> bool:
    """Kill a process of ours when it has merged a random share of the jobs; False if it ended by itself."""
    target = draw.uniform(PROGRESS.jobs, jobs)
    aimed = draw.random() < AIMED
    part = path.with_name(path.name + ".part")
    while PROGRESS.jobs < target or (aimed and not part.exists()):
        if ended(pid):
            return False
        time.sleep(0.0002)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def ended(pid: int) -> bool:
    """Whether a child has ended; raises RuntimeError if it has failed."""
    found, status = os.waitpid(pid, os.WNOHANG)
    if found and status:
        raise RuntimeError(f"a search failed with status {status}")
    return bool(found)


def note(tally: Tally, path: Path, jobs: int) -> None:
    """Look at what a killed search has left."""
    tally.kills += 1
    tally.writing += path.with_name(path.name + ".part").exists()
    if not path.exists():
        tally.before += 1
        return
    tally.moments.append(PROGRESS.jobs / jobs)


def once(
    request: SearchRequest,
    expected: dict[str, Any],
    folder: Path,
    draw: random.Random,
    tally: Tally,
) -> None:
    """One search from its beginning to its end, through some kills."""
    path, out = folder / "search.ckpt", folder / "answer.json"
    for file in folder.iterdir():
        file.unlink()
    kills = draw.randint(1, MOST_KILLS)
    tally.searches += 1
    PROGRESS.jobs = 0
    while True:
        pid = in_child(request, path, draw.randint(1, MOST_WORKERS), out)
        if kills == 0:
            _, status = os.waitpid(pid, 0)
            if status:
                raise RuntimeError(f"a search failed with status {status}")
            break
        if not kill_at_random(pid, path, draw, expected["jobs"]):
            break
        kills -= 1
        note(tally, path, expected["jobs"])
    check(json.loads(out.read_text()), expected, tally)


def check(answer: dict[str, Any], expected: dict[str, Any], tally: Tally) -> None:
    """Compare an answer with that of the search without a break."""
    wrong = [name for name in expected if name not in DIFFERENT and answer[name] != expected[name]]
    if wrong:
        tally.wrong += 1
        print(f"{expected['strategy']} {expected['game']}: other {', '.join(wrong)}", flush=True)


def prove(strategy: str, searches: list[dict[str, Any]], times: int, draw: random.Random) -> Tally:
    """Kill searches of a strategy so many times."""
    tally = Tally()
    known = []
    with tempfile.TemporaryDirectory() as folder:
        for options in searches:
            request = SearchRequest(**options, strategy=strategy, seed=draw.randrange(1000))
            known.append((request, play_search(request, None, 1)))
        while tally.kills < times:
            once(*draw.choice(known), Path(folder), draw, tally)
    return tally


def banyan(*arguments: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-c",
        "from cluster.cli import main; main()",
        *arguments,
        "--json",
        "--no-progress",
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def prove_command(strategy: str, times: int, draw: random.Random) -> Tally:
    """The same with the command itself, its coordinator on a Ray of its own."""
    tally = Tally()
    search = [
        "search",
        "gomoku",
        "--strategy",
        strategy,
        "--simulations",
        "4000000",
        "--seed",
        str(draw.randrange(99)),
    ]
    with banyan(*search, "--executor", "inline") as calm:
        expected = json.loads(calm.communicate()[0])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "search.ckpt"
        kept = ["--checkpoint-every", "0.1"]
        while tally.kills < times:
            path.unlink(missing_ok=True)
            tally.searches += 1
            command = [*search, "--checkpoint", str(path), *kept]
            kills = draw.randint(1, MOST_KILLS)
            while True:
                process = banyan(*command, "--workers", str(draw.randint(1, 2)))
                length_s = expected["elapsed_s"] if kills else float("inf")
                out = killed_or_done(process, path, draw.uniform(0, 0.5) * length_s)
                if out:
                    break
                kills -= 1
                PROGRESS.jobs = read_checkpoint(path).open().coordinator.counters.jobs_done
                note(tally, path, expected["jobs"])
                command = ["resume", str(path), *kept]
            check(json.loads(out), expected, tally)
    return tally


def killed_or_done(process: subprocess.Popen[str], path: Path, after_s: float) -> str:
    """What the command printed, or nothing because it was killed, so long after its search began."""
    with process:
        written = {stamp_of(path)}
        # One checkpoint comes before Ray starts, the next when the search runs.
        while len(written) < 3 and process.poll() is None:
            written.add(stamp_of(path))
            time.sleep(0.01)
        with contextlib.suppress(subprocess.TimeoutExpired):
            out, _ = process.communicate(timeout=None if after_s == float("inf") else after_s)
            if process.returncode:
                raise RuntimeError(f"banyan ended with status {process.returncode}")
            return out
        below = descendants_of(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
    for pid in below:
        # Ray's own: most of them end with their driver.
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return ""


def stamp_of(path: Path) -> int:
    """Which of the files of that name there is now; 0 for none."""
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_mtime_ns
    return 0


def descendants_of(pid: int) -> set[int]:
    """The processes below one of ours; there is but one at a time."""
    return descendants() - {pid}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=100, metavar="N", help="kills for each strategy")
    parser.add_argument(
        "--ray", type=int, default=0, metavar="N", help="kills of the command on Ray, for each"
    )
    parser.add_argument("--small", action="store_true", help="searches of a tenth of a second")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--strategy", choices=STRATEGIES, action="append")
    options = parser.parse_args()
    wrong = 0
    for strategy in options.strategy or STRATEGIES:
        draw = random.Random(f"{strategy} {options.seed}")
        searches = (SMALL if options.small else SEARCHES)[strategy]
        proofs = {
            strategy: (options.times, partial(prove, strategy, searches)),
            f"{strategy} on Ray": (options.ray, partial(prove_command, strategy)),
        }
        for name, (times, proof) in proofs.items():
            if times:
                started = time.monotonic()
                tally = proof(times, draw)
                print(f"{name}: {tally} ({time.monotonic() - started:.0f} s)", flush=True)
                wrong += tally.wrong
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
