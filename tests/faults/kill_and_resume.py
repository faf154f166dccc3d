"""Searches that are killed at random moments and go on from their checkpoints: the answer stays the same.

    python -m tests.faults.kill_and_resume --times 100

For each strategy: a search runs in a process of its own, with one to four threads. The process is killed with
SIGKILL when it has merged a random share of its jobs, one time in four while it writes a checkpoint. Another
process, with another number of threads, goes on from the file; it may be killed as well. The digest must be
that of a search without a break, and so must all else that the answer says. ``--times`` counts kills for each
strategy. ``--ray N`` kills the commands `banyan search` and `banyan resume` themselves N times for each
strategy that runs on Ray.
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
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cluster.checkpoint.checkpoint import Keeper, begun, read_checkpoint
from cluster.runtime.session import Session
from cluster.system.processes import descendants, kill
from cluster.workers.choose import make_executor
from search.request import STRATEGIES, SearchRequest
from tests.cluster.command import BANYAN
from tests.cluster.searches import DIFFERENT
from tests.faults.harness import Campaign, main, new_parser

EVERY_S = 0.05
"""Between checkpoints."""
MAX_WORKERS = 4
MAX_KILLS = 4
"""Of one search; then it may end."""
AIMED = 0.25
"""The share of kills that wait for a checkpoint that is being written."""

SEARCHES: dict[str, list[dict[str, Any]]] = {
    "root": [
        {"game": "thud:ruleset=seed", "lanes": 4, "simulations": 90_000},
        {"game": "morris", "lanes": 3, "simulations": 250_000, "solver": True},
        {"game": "battleship", "lanes": 2, "simulations": 200_000, "hidden_information": "determinized"},
    ],
    "tree": [
        {"game": "gomoku", "lanes": 16, "simulations": 300_000},
        {"game": "gomoku:size=9", "lanes": 5, "simulations": 300_000, "solver": True},
        {"game": "battleship", "lanes": 8, "simulations": 150_000},
    ],
    "leaf": [
        {"game": "gomoku", "lanes": 16, "simulations": 1_000_000, "batch": 64, "playouts_per_leaf": 32},
        {"game": "morris", "lanes": 5, "simulations": 100_000, "playouts_per_leaf": 2, "memory_mb": 1},
        {"game": "battleship", "lanes": 7, "simulations": 60_000},
        {"game": "gomoku:size=9", "lanes": 9, "simulations": 60_000, "in_flight": "virtual-loss"},
    ],
}
"""A second or two each."""
SMALL: dict[str, list[dict[str, Any]]] = {
    strategy: [{"game": "gomoku:size=5", "lanes": 6, "simulations": 200_000, "batch": 64}]
    for strategy in STRATEGIES
}


@dataclass
class Tally:
    """What happened to the searches of one strategy."""

    searches: int = 0
    kills: int = 0
    writing: int = 0
    """Kills that left an unfinished checkpoint beside the whole one."""
    before: int = 0
    """Kills before there was a checkpoint: the search begins again."""
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

    def killed(self, path: Path, merged: float) -> None:
        """Count a kill. ``merged``: the share of the jobs that were merged; ``path``: of the checkpoint."""
        self.kills += 1
        self.writing += path.with_name(path.name + ".part").exists()
        if path.exists():
            self.moments.append(merged)
        else:
            self.before += 1


class Progress:
    """An observer that shares the number of merged jobs with the process that started the search."""

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


def answer_of(request: SearchRequest, path: Path | None = None, workers: int = 1) -> dict[str, Any]:
    """The answer of a search in this process, from its checkpoint if there is one."""
    opened = read_checkpoint(path).open() if path is not None and path.exists() else begun(request)
    coordinator = opened.coordinator
    executor = make_executor("threads", workers)
    executor.open(coordinator.search.context)
    coordinator.workers = workers
    session = Session(coordinator, executor, elapsed_before_s=opened.elapsed_s)
    if path is None:
        return session.run().to_json()
    # By a clock that stands still, writing takes no time: checkpoints are as frequent as asked.
    keeper = Keeper(path, EVERY_S, warn=lambda line: sys.exit(line), clock=lambda: 0.0)
    keeper.begin(opened)
    return session.run((PROGRESS, keeper)).to_json()


def in_child(request: SearchRequest, path: Path, workers: int, out: Path) -> int:
    """Search in a process of its own, which writes the answer to ``out``; its process id."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            out.write_text(json.dumps(answer_of(request, path, workers)))
            status = 0
        finally:
            os._exit(status)
    return pid


def kill_at_random(pid: int, path: Path, draw: random.Random, jobs: int) -> bool:
    """Kill a child when it has merged a random share of the jobs; False if it ended by itself."""
    target = draw.uniform(PROGRESS.jobs, jobs)
    aimed = draw.random() < AIMED
    part = path.with_name(path.name + ".part")
    while PROGRESS.jobs < target or (aimed and not part.exists()):
        if ended(pid, os.WNOHANG):
            return False
        time.sleep(0.0002)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def ended(pid: int, flags: int = 0) -> bool:
    """Wait for a child, or only look with WNOHANG; raises RuntimeError if it has failed."""
    found, status = os.waitpid(pid, flags)
    if found and status:
        raise RuntimeError(f"a search failed with status {status}")
    return bool(found)


def search_once(
    request: SearchRequest, expected: dict[str, Any], path: Path, draw: random.Random, tally: Tally
) -> dict[str, Any]:
    """One search from its beginning to its end, through some kills; its answer."""
    out = path.with_name("answer.json")
    kills = draw.randint(1, MAX_KILLS)
    PROGRESS.jobs = 0
    while True:
        pid = in_child(request, path, draw.randint(1, MAX_WORKERS), out)
        if kills == 0:
            ended(pid)
            break
        if not kill_at_random(pid, path, draw, expected["jobs"]):
            break
        kills -= 1
        tally.killed(path, PROGRESS.jobs / expected["jobs"])
    answer: dict[str, Any] = json.loads(out.read_text())
    return answer


def command_once(
    words: list[str], expected: dict[str, Any], path: Path, draw: random.Random, tally: Tally
) -> dict[str, Any]:
    """One search by the commands, with workers on a Ray of their own, through some kills; its answer."""
    kept = ["--checkpoint-every", "0.1"]
    command = [*words, "--checkpoint", str(path), *kept]
    kills = draw.randint(1, MAX_KILLS)
    while True:
        process = banyan(*command, "--workers", str(draw.randint(1, 2)))
        after_s = draw.uniform(0, 0.5) * expected["elapsed_s"] if kills else None
        out = killed_or_done(process, path, after_s)
        if out:
            answer: dict[str, Any] = json.loads(out)
            return answer
        kills -= 1
        merged = read_checkpoint(path).open().coordinator.counters.jobs_done
        tally.killed(path, merged / expected["jobs"])
        command = ["resume", str(path), *kept]


def banyan(*arguments: str) -> subprocess.Popen[str]:
    """The command, whose answer is JSON."""
    command = [*BANYAN, *arguments, "--json", "--no-progress"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def killed_or_done(process: subprocess.Popen[str], path: Path, after_s: float | None) -> str:
    """What the command printed; empty if it was killed, so long after its search began."""
    with process:
        written = {stamp_of(path)}
        # One checkpoint comes before Ray starts, the next when the search runs.
        while len(written) < 3 and process.poll() is None:
            written.add(stamp_of(path))
            time.sleep(0.01)
        with contextlib.suppress(subprocess.TimeoutExpired):
            out, _ = process.communicate(timeout=after_s)
            if process.returncode:
                raise RuntimeError(f"banyan ended with status {process.returncode}")
            return out
        # Ray's processes; most of them end with their driver.
        below = descendants(process.pid)
        process.kill()
        process.wait()
    kill(below)
    return ""


def stamp_of(path: Path) -> int:
    """Which of the files of that name there is now; 0 for none."""
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_mtime_ns
    return 0


Once = Callable[[dict[str, Any], Path, random.Random, Tally], dict[str, Any]]
"""A search through some kills, given the expected answer, the checkpoint's path, a stream and the tally."""


def prove_kind(
    campaign: Campaign, known: list[tuple[Once, dict[str, Any]]], times: int, draw: random.Random
) -> Tally:
    """Run searches, with the answers that they must have, until they have been killed so many times."""
    tally, path = Tally(), campaign.folder / "search.ckpt"
    while tally.kills < times:
        for file in campaign.folder.iterdir():
            file.unlink()
        once, expected = draw.choice(known)
        tally.searches += 1
        answer = once(expected, path, draw, tally)
        wrong = [name for name in expected if name not in DIFFERENT and answer[name] != expected[name]]
        if wrong:
            tally.wrong += 1
            campaign.complain(f"{expected['strategy']} {expected['game']}: other {', '.join(wrong)}")
    return tally


def known_searches(strategy: str, small: bool, draw: random.Random) -> list[tuple[Once, dict[str, Any]]]:
    """The searches of a strategy, in processes of this program, with their answers."""
    found: list[tuple[Once, dict[str, Any]]] = []
    for options in (SMALL if small else SEARCHES)[strategy]:
        request = SearchRequest(**options, strategy=strategy, seed=draw.randrange(1000))
        found.append((partial(search_once, request), answer_of(request)))
    return found


def known_command(strategy: str, draw: random.Random) -> list[tuple[Once, dict[str, Any]]]:
    """The search that the commands make, with its answer."""
    words = ["search", "gomoku", "--strategy", strategy, "--simulations", "4000000"]
    words += ["--seed", str(draw.randrange(99))]
    with banyan(*words, "--executor", "inline") as calm:
        return [(partial(command_once, words), json.loads(calm.communicate()[0]))]


def prove(campaign: Campaign, options: argparse.Namespace) -> None:
    """Kill searches of each strategy as often as asked."""
    for strategy in options.strategy or STRATEGIES:
        draw = random.Random(f"{strategy} {options.seed}")
        if options.times:
            known = known_searches(strategy, options.small, draw)
            print(f"{strategy}: {prove_kind(campaign, known, options.times, draw)}", flush=True)
        if options.ray:
            known = known_command(strategy, draw)
            print(f"{strategy} on Ray: {prove_kind(campaign, known, options.ray, draw)}", flush=True)


if __name__ == "__main__":
    parser = new_parser(__doc__)
    parser.add_argument("--times", type=int, default=100, metavar="N", help="kills for each strategy")
    parser.add_argument("--ray", type=int, default=0, metavar="N", help="kills of the commands on Ray")
    parser.add_argument("--small", action="store_true", help="searches of a tenth of a second")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--strategy", choices=STRATEGIES, action="append")
    sys.exit(main(prove, parser))
