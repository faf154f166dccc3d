"""Searches that are killed at random moments and go on from their checkpoints: the answer stays the same.

    python -m tests.kill_and_resume --times 100

For each strategy: a search runs in a process of its own, with one to four workers. The process is killed with
SIGKILL at a random moment, one time in four while it writes a checkpoint. Another process, with another
number of workers, goes on from the file; it may be killed as well. The digest must be that of a search
without a break, and so must all else that the answer says. ``--times`` counts kills for each strategy. With
``--ray N`` the same for N kills each of the command itself: banyan search and banyan resume, on Ray.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
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

EVERY_S = 0.01
"""Between checkpoints, if writing them takes no time."""
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
    strategy: [{"game": "gomoku:size=5", "lanes": 6, "simulations": 60_000}] for strategy in STRATEGIES
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
    """When: shares of the jobs that had been merged, as the checkpoint has it."""
    wrong: int = 0

    def __str__(self) -> str:
        spread = [
            sum(low <= moment < low + 0.25 for moment in self.moments) for low in (0.0, 0.25, 0.5, 0.75)
        ]
        return (
            f"{self.searches} searches, {self.kills} kills: {self.writing} while a checkpoint was written, "
            f"{self.before} before the first; by quarters of the search {spread}; wrong answers: {self.wrong}"
        )


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
    keeper = Keeper(path, EVERY_S, warn=lambda line: sys.exit(line))
    keeper.begin(opened)
    return session.run((keeper,)).to_json()


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


def length_of(request: SearchRequest, folder: Path) -> float:
    """Seconds that a search takes in a process of its own, with checkpoints."""
    started = time.monotonic()
    os.waitpid(in_child(request, folder / "search.ckpt", 2, folder / "answer.json"), 0)
    (folder / "search.ckpt").unlink()
    return time.monotonic() - started


def kill_at_random(pid: int, path: Path, draw: random.Random, length_s: float) -> bool:
    """Kill a process of ours; False if it had ended by itself."""
    moment = time.monotonic() + draw.uniform(0, 1.5 * length_s)
    aimed = draw.random() < AIMED
    part = path.with_name(path.name + ".part")
    while time.monotonic() < moment or (aimed and not part.exists()):
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


def note(tally: Tally, path: Path) -> None:
    """Look at what a killed search has left."""
    tally.kills += 1
    tally.writing += path.with_name(path.name + ".part").exists()
    if not path.exists():
        tally.before += 1
        return
    coordinator = read_checkpoint(path).open().coordinator
    plan = coordinator.search.plan
    assert plan is not None
    tally.moments.append(coordinator.search.strategy.absorbed / plan.jobs)


def once(
    request: SearchRequest,
    expected: dict[str, Any],
    length_s: float,
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
    while True:
        pid = in_child(request, path, draw.randint(1, MOST_WORKERS), out)
        if kills == 0:
            _, status = os.waitpid(pid, 0)
            if status:
                raise RuntimeError(f"a search failed with status {status}")
            break
        if not kill_at_random(pid, path, draw, length_s):
            break
        kills -= 1
        note(tally, path)
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
            known.append((request, play_search(request, None, 1), length_of(request, Path(folder))))
        while tally.kills < times:
            request, expected, length_s = draw.choice(known)
            once(request, expected, length_s, Path(folder), draw, tally)
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
            out = ""
            while not out:
                process = banyan(*command, "--workers", str(draw.randint(1, 3)))
                out = killed_or_done(process, path, draw)
                if not out:
                    note(tally, path)
                    command = ["resume", str(path), *kept]
            check(json.loads(out), expected, tally)
    return tally


def killed_or_done(process: subprocess.Popen[str], path: Path, draw: random.Random) -> str:
    """What the command printed, or nothing because it was killed, at a random moment of its search."""
    with process:
        while not path.exists() and process.poll() is None:
            time.sleep(0.01)
        with contextlib.suppress(subprocess.TimeoutExpired):
            out, _ = process.communicate(timeout=draw.uniform(1.0, 14.0))
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
