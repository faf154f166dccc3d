"""Searches across hosts whose links have a limited bandwidth: their speed, and the bytes that they send.

    python -m tests.faults.links                  # as root: a quarter of an hour

The hosts are those of hosts.py: the first has the coordinator and Ray's head, each of the others one worker.
The kernel limits every link in both directions with a token bucket; it adds no latency. Two kinds of work:
simulators that sleep 10 ms, many of which run on two cores, and compiled gomoku at its full speed, with as
many workers as there are cores. A search is repeated with every limit in turn, so that each rate is compared
with one without a limit from the same minute. All answers must have the same digest.

Bytes are those of `banyan_bytes_total` and, beside them, those that the kernel counted on the link of the
coordinator, without limits. Limits follow from them, as in `Row.expected`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from cluster.lab.predict import waiting_compiled
from cluster.runtime.workers import Workers
from cluster.workers.choose import make_executor
from search.request import SearchRequest
from tests.cluster.searches import session_on
from tests.faults.harness import Campaign, main, new_parser
from tests.faults.hosts import ADDRESS, Network, Rays, run_inside

if TYPE_CHECKING:
    from cluster.workers.ray_executor import RayExecutor

HOSTS = (1, 2, 3, 4, 5)
LIMITS = (0, 1000, 100, 10)
"""Mbit/s; the first is none."""
IDLE_S = 10.0
COMPILED = {"root": 6_000_000, "tree": 4_000_000, "leaf": 300_000}
"""Simulations of gomoku by strategy: some seconds on two cores."""
EACH = 400
"""Simulations of 10 ms for each worker."""


@dataclass
class Run:
    """One search. Pairs are (out, in), as seen from the coordinator."""

    simulations: int
    seconds: float
    rounds: float
    """Jobs by lanes."""
    calls: int
    again: int
    """Jobs that were run again."""
    moved: tuple[int, int]
    """Bytes as the metric counts them."""
    link: tuple[int, int]
    """Bytes as the kernel counts them."""

    @property
    def rate(self) -> float:
        """Simulations/s."""
        return self.simulations / self.seconds


@dataclass
class Row:
    """Searches of one kind, by limit; the first of each are of one repetition, and so on."""

    work: str
    strategy: str
    workers: int
    runs: dict[int, list[Run]] = field(default_factory=lambda: {limit: [] for limit in LIMITS})

    def way(self, value: Callable[[Run, int], float], form: str) -> Iterator[str]:
        """The medians of a value without a limit: out, in."""
        for way in (0, 1):
            yield f"{median(value(run, way) for run in self.runs[0]):{form}}"

    def link_bytes(self) -> float:
        """Bytes of a simulation that a link must pass one after the other: of the busier direction or, where
        rounds end with a barrier, of both."""
        of_all = max if self.strategy != "tree" else sum
        return median(of_all(run.link) / run.simulations for run in self.runs[0])

    def expected(self, limit: int) -> float:
        """The speed with a limit, as a share of that without: in rounds the time on the link is added to that
        of the work; without them the longer of both counts."""
        work_s = 1 / median(run.rate for run in self.runs[0])
        link_s = 8e-6 * self.link_bytes() / limit
        return work_s / (work_s + link_s if self.strategy == "tree" else max(work_s, link_s))

    def speeds(self) -> list[str]:
        """Cells of the table of speeds."""
        rates = spread([run.rate for run in self.runs[0]], ",.0f")
        cells = [self.work, self.strategy, str(self.workers), rates]
        for limit in LIMITS[1:]:
            pairs = zip(self.runs[limit], self.runs[0], strict=True)
            shares = [100 * run.rate / free.rate for run, free in pairs]
            cells.append(f"{spread(shares, '.0f')}; {100 * self.expected(limit):.0f}")
        return [*cells, str(sum(run.again for runs in self.runs.values() for run in runs))]

    def bytes(self) -> list[str]:
        """Cells of the table of bytes."""
        return [
            *(self.work, self.strategy, str(self.workers)),
            *self.way(lambda run, way: run.moved[way] / run.simulations, ".3g"),
            *self.way(lambda run, way: run.moved[way] / run.rounds / 1000, ".3g"),
            *self.way(lambda run, way: run.link[way] / run.moved[way], ".2f"),
            *self.way(lambda run, way: (run.link[way] - run.moved[way]) / run.calls, ".0f"),
            *self.way(lambda run, way: 8e-6 * run.link[way] / run.seconds / self.workers, ".3g"),
            f"{10 / (8e-6 * self.link_bytes()):,.0f}",
        ]


FIRST = ("work", "strategy", "workers")
SPEEDS = (
    *(*FIRST, "simulations/s without limit", "1 Gbit/s: %; expected", "100 Mbit/s", "10 Mbit/s"),
    "jobs again",
)
BYTES = (
    *(*FIRST, "out: bytes of a simulation", "in", "out: kB of a round", "in"),
    *("out: link / metric", "in", "out: more on the link, bytes of a call", "in"),
    *("out: Mbit/s of a worker", "in", "simulations/s that fill 10 Mbit/s"),
)


def spread(values: list[float], form: str) -> str:
    """The median, and in brackets the range."""
    return f"{median(values):{form}} ({min(values):{form}}-{max(values):{form}})"


def counted(executor: RayExecutor) -> list[int]:
    """How much there has been: bytes out and in by the metric, then on the link of this host; calls."""
    workers = executor.workers
    folder = Path("/sys/class/net/eth0/statistics")
    link = [int((folder / f"{way}_bytes").read_text()) for way in ("tx", "rx")]
    moved = [sum(each.out_bytes for each in workers), sum(each.in_bytes for each in workers)]
    return [*moved, *link, executor.dispatcher.calls]


def run(executor: RayExecutor, request: SearchRequest) -> tuple[Run, str]:
    """One search, its preparation not counted; and its digest."""
    session = session_on(executor, request)
    before = counted(executor)
    result = session.run()
    out, into, link_out, link_in, calls = (b - a for a, b in zip(before, counted(executor), strict=True))
    rounds = session.coordinator.counters.jobs_done / session.search.context.lanes
    moved, link = (out, into), (link_out, link_in)
    found = Run(result.simulations, result.elapsed_s, rounds, calls, result.jobs_retried, moved, link)
    return found, result.digest


def works(folder: Path, strategies: list[str]) -> Iterator[tuple[Row, SearchRequest]]:
    """What is searched, without runs yet."""
    game = folder / "waiting.py"
    text = Path(waiting_compiled.__file__).read_text()
    game.write_text(text.replace("np.uint32(1000)", "np.uint32(10_000)").replace("= 930.0", "= 99.0"))
    for strategy in strategies:
        for workers in (2, len(HOSTS) - 1):
            request = SearchRequest(str(game), strategy=strategy, lanes=8, simulations=EACH * workers)
            yield Row("10 ms", strategy, workers), request
        request = SearchRequest("gomoku", strategy=strategy, lanes=8, simulations=COMPILED[strategy])
        yield Row("gomoku", strategy, 2), request


def compare(campaign: Campaign, executor: RayExecutor, network: Network, options: argparse.Namespace) -> None:
    """Measure all kinds of work with all limits, and print the tables."""
    rows = []
    for row, request in works(Path(options.inside[1]), options.strategy):
        executor.use(row.workers)
        network.limit(0)
        # Kernels are compiled.
        _, expected = run(executor, request)
        for _ in range(options.repeats):
            for limit, runs in row.runs.items():
                network.limit(limit)
                found, digest = run(executor, request)
                runs.append(found)
                campaign.expect(digest == expected, f"{row.work}, {row.strategy}, {limit}: another digest")
        rows.append(row)
        print(*row.speeds(), f"load average {os.getloadavg()[0]:.1f}", sep="; ", flush=True)
    print_table(SPEEDS, [row.speeds() for row in rows])
    print_table(BYTES, [row.bytes() for row in rows])


def print_table(head: tuple[str, ...], rows: list[list[str]]) -> None:
    for cells in (head, ["---"] * len(head), *rows):
        print("|", " | ".join(cells), "|")
    print(flush=True)


def prove(campaign: Campaign, options: argparse.Namespace) -> None:
    """Make the hosts, and measure on the first of them."""
    if not options.inside:
        arguments = [f"--strategy={each}" for each in options.strategy or COMPILED]
        arguments.append(f"--repeats={options.repeats}")
        run_inside(campaign, "tests.faults.links", HOSTS, arguments, {})
        return
    network = Network(options.inside[0], HOSTS)
    rays = Rays(campaign, network, Path(options.inside[1]), head_cpus=0)
    executor = rays.start_all(partial(make_executor, "ray", Workers(len(HOSTS) - 1), ADDRESS))
    before = counted(executor)
    time.sleep(IDLE_S)
    out, into = ((b - a) / IDLE_S / 1000 for a, b in zip(before[2:4], counted(executor)[2:4], strict=True))
    print(f"{os.cpu_count()} cores; without a search {out:.1f} kB/s out, {into:.1f} kB/s in", flush=True)
    compare(campaign, executor, network, options)


if __name__ == "__main__":
    parser = new_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--strategy", choices=tuple(COMPILED), action="append")
    parser.add_argument("--inside", nargs=2, metavar=("NETWORK", "FOLDER"), help=argparse.SUPPRESS)
    sys.exit(main(prove, parser))
