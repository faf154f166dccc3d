"""Throughput by the number of workers for a fixed amount of work, compared to the ceiling."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from statistics import fmean, median

from cluster.executors.choose import make_executor
from cluster.executors.threads import ThreadsExecutor
from cluster.lab.throughput.ceiling import Ceiling
from cluster.lab.throughput.losses import OTHERS, Losses
from cluster.report.trust import warn_of_ceiling, warn_of_others
from cluster.runtime.session import Session
from cluster.runtime.tasks import Executor
from cluster.system.processes import num_cores
from cluster.system.terminal import span
from games.errors import counted
from search.coordinator import Coordinator
from search.prepare import open_search
from search.request import MAX_SIMULATIONS, SearchRequest
from search.result import SearchResult

SECONDS = 120.0
"""Default time of a whole measurement."""
SECONDS_EACH = 2.0
"""Least time in seconds of a search on all workers: shorter runs consist mostly of start and end."""
REPEATS = 3
"""Number of runs of the smallest number of workers that simulations are chosen for, if time allows."""
CALIBRATION_S = 1.0
"""Length in seconds of a search that measures a rate, from which the number of simulations is chosen."""
LANES = 16
"""Default number of lanes for few workers."""
LANES_EACH = 4
"""Default lanes per worker for many workers: two bundles in flight with two jobs each."""


def ignore(_: object) -> None:
    """Do nothing."""


class DigestsDifferError(RuntimeError):
    """Two runs of one request gave different statistics, which must not depend on the workers."""


@dataclass(frozen=True)
class Row:
    """Results of one strategy on one number of workers. Rates are medians over the repeats."""

    game: str
    strategy: str
    lanes: int
    workers: int
    simulations: int
    simulations_per_s: float
    speedup: float
    """Speedup over one worker; the smallest measured number of workers is assumed to scale linearly."""
    efficiency: float
    """speedup / workers."""
    ceiling_simulations_per_s: float
    """Rate of the same number of independent processes with the recorded jobs, in this run."""
    of_ceiling: float
    """Median over the repeats of rate / ceiling."""
    digest: str
    repeats: int
    """Number of runs; if the time is limited, those of many workers are shorter and more."""
    spread: tuple[float, float]
    """The lowest and the highest rate."""
    ceiling_spread: tuple[float, float]
    of_ceiling_spread: tuple[float, float]
    spent: dict[str, float]
    """Share of each part (losses.py) in the time of all cores of this machine, median over the repeats; empty
    if other machines took part."""
    others: float | None
    """Share of other programs in the time of all cores, median over the repeats: the larger of that during
    searches and that during ceiling runs. None if other machines took part."""
    trusted: bool
    """Whether ``others`` is small enough and ``of_ceiling`` is plausible."""
    executor: str = "ray"
    """What the workers are: processes of Ray, or threads."""


@dataclass
class _Cell:
    """Measurements of one strategy on one number of workers, one entry per repeat."""

    rates: list[float] = field(default_factory=list)
    ceilings: list[float] = field(default_factory=list)
    spent: list[dict[str, float]] = field(default_factory=list)
    """Shares of the parts in the time of all cores during each search."""
    beside: list[float] = field(default_factory=list)
    """Share of other programs in the time of all cores during each ceiling run."""
    digest: str = ""

    def search(
        self,
        request: SearchRequest,
        executor: Executor,
        workers: int,
        local: bool,
        watch: Callable[[Session], None],
    ) -> None:
        """Run the search once; ``local``: on this machine only. Raises DigestsDifferError."""
        losses = Losses(executor.thread_ids if isinstance(executor, ThreadsExecutor) else ())
        result = _search(request, executor, workers, watch)
        spent = losses.shares()
        if self.digest and result.digest != self.digest:
            what = f"{request.strategy} on {counted(workers, 'worker')}"
            raise DigestsDifferError(f"{what}: {result.digest} after {self.digest}")
        self.digest = result.digest
        self.rates.append(result.simulations / result.elapsed_s)
        if local and spent:
            self.spent.append(spent)

    def measure_ceiling(self, ceiling: Ceiling, workers: int, local: bool) -> None:
        """Measure the ceiling once."""
        watch = Losses()
        self.ceilings.append(ceiling.measure(workers))
        if local and (others := watch.others()) is not None:
            self.beside.append(others)


_Key = tuple[str, int]
"""A strategy and a number of workers."""


@dataclass
class Schedule:
    """Chooses which cell runs next, and estimates the time that is left."""

    expected_s: dict[_Key, float]
    """Expected seconds of a run of each cell until it has run; NaN: not known."""
    repeats: int | None
    """Number of runs of each cell; None: all cells get about the same time until ``end_s``, and at least one
    run each."""
    end_s: float
    """By ``clock``."""
    clock: Callable[[], float] = time.monotonic
    took_s: dict[_Key, list[float]] = field(init=False)
    """Seconds of the runs of each cell."""

    def __post_init__(self) -> None:
        self.took_s = {cell: [] for cell in self.expected_s}

    def next(self) -> _Key | None:
        """The cell that runs next; None at the end."""
        if self.repeats is not None:
            cell = min(self.took_s, key=lambda cell: len(self.took_s[cell]))
            return cell if len(self.took_s[cell]) < self.repeats else None
        cell = min(self.took_s, key=lambda cell: sum(self.took_s[cell]))
        late = self.clock() + self._run_s(cell) / 2 > self.end_s
        return None if late and self.took_s[cell] else cell

    def left(self) -> str:
        """The time until the end in words, after a semicolon; empty if it is not known."""
        runs = {cell: max(0, (self.repeats or 1) - len(took)) for cell, took in self.took_s.items()}
        left_s = sum(number * self._run_s(cell) for cell, number in runs.items() if number)
        if self.repeats is None:
            left_s = max(left_s, self.end_s - self.clock())
        return "" if math.isnan(left_s) else f"; {in_minutes(left_s)} left"

    def _run_s(self, cell: _Key) -> float:
        return fmean(self.took_s[cell] or [self.expected_s[cell]])


def in_words(each: Sequence[object]) -> str:
    """A list as in a sentence."""
    return " and ".join(", ".join(map(str, each)).rsplit(", ", 1))


def in_minutes(seconds: float) -> str:
    """A time to wait in words: seconds, from one minute on in steps of ten."""
    if seconds < 60:
        return f"{max(0, round(seconds))} s"
    minutes, rest = divmod(10 * round(seconds / 10), 60)
    return f"{minutes} min" + (f" {rest} s" if rest else "")


def measure_speedup(
    request: SearchRequest,
    strategies: Sequence[str],
    workers: Sequence[int],
    repeats: int | None = None,
    address: str | None = None,
    report: Callable[[str], None] = print,
    executor_name: str = "ray",
    seconds: float = SECONDS,
    watch: Callable[[Session], None] = ignore,
    measured: Callable[[list[Row]], None] = ignore,
) -> list[Row]:
    """Measure each strategy on each number of workers, interleaved, in ``seconds``.

    Without a budget in simulations, each strategy gets one that fits into the time, and is not too small.
    Without ``repeats``, each cell is run until it has had its share of the time, at least once. With both,
    the time is not limited. Workers are processes of Ray, or with ``executor_name`` threads. ``report`` is
    called with lines of progress, ``watch`` with each search before it runs, ``measured`` with the rows so
    far, whenever one has changed. Raises DigestsDifferError if statistics depend on the workers.
    """
    begun_s = time.monotonic()
    workers = sorted(set(workers))
    requests = {strategy: replace(request, strategy=strategy) for strategy in strategies}
    cells = {(strategy, n): _Cell() for strategy in strategies for n in workers}
    fixed = request.simulations is not None and repeats is not None
    length = f"each run {repeats} times"
    if not fixed:
        most = math.inf if address is not None else num_cores()
        speeds = [min(n, most) / min(workers[0], most) for n in workers]
        least_s = len(strategies) * (repeats or 1) * SECONDS_EACH * speeds[-1] * _passes(speeds)
        length = f"in about {in_minutes(max(seconds, least_s))}"
        if least_s > seconds:
            length += f": {SECONDS_EACH:g} s of each of {counted(workers[-1], 'worker')} are the least"
    report(
        f"{in_words(strategies)} on {in_words(workers)} {'worker' if workers == [1] else 'workers'}, {length}"
    )

    def rows() -> list[Row]:
        base = workers[0]
        return [
            _row(requests[s], n, cell, base, cells[s, base], executor_name)
            for (s, n), cell in cells.items()
            if cell.ceilings
        ]

    with ExitStack() as stack:
        report(f"starting {counted(workers[-1], 'worker')}")
        executor = make_executor(executor_name, workers[-1], address)
        stack.callback(executor.close)
        expected_s = dict.fromkeys(cells, math.nan)
        end_s = begun_s + seconds
        if not fixed:
            report("a short search with each strategy, from which the simulations are chosen")
            rates = {s: _calibrate(requests[s], executor, workers) for s in strategies}
            # Kernels may have been compiled, or machines waited for.
            end_s = max(end_s, time.monotonic() + seconds / 2)
            share_s = (end_s - time.monotonic()) / len(strategies) / (repeats or REPEATS)
            for strategy, (one, most) in rates.items():
                speeds = [min(n / workers[0], most / one) for n in workers]
                if request.simulations is None:
                    work_s = max(share_s / _passes(speeds), SECONDS_EACH * most / one)
                    requests[strategy] = replace(
                        requests[strategy], simulations=rounded(work_s * one, request.lanes)
                    )
                run_s = 2 * (requests[strategy].simulations or 0) / one
                expected_s |= {(strategy, n): run_s / speed for n, speed in zip(workers, speeds, strict=True)}
        schedule = Schedule(expected_s, repeats, end_s)
        ceilings: dict[str, Ceiling] = {}
        for strategy, each in requests.items():
            work = counted(each.simulations or 0, "simulation")
            report(f"recording {strategy}, {work}, for the ceiling{schedule.left()}")
            ceilings[strategy] = Ceiling(each, workers[-1], executor)
            stack.callback(ceilings[strategy].close)
        while (key := schedule.next()) is not None:
            (strategy, n), cell = key, cells[key]
            run_begun_s = time.monotonic()
            cell.search(requests[strategy], executor, n, address is None, watch)
            cell.measure_ceiling(ceilings[strategy], n, address is None)
            schedule.took_s[key].append(time.monotonic() - run_begun_s)
            measured(rows())
            report(
                f"{strategy}, {counted(n, 'worker')}, run {len(cell.rates)}: "
                f"{cell.rates[-1]:,.0f} simulations/s, {cell.rates[-1] / cell.ceilings[-1]:.3f} of "
                f"the ceiling{schedule.left()}"
            )
    for strategy in strategies:
        digests = {cells[strategy, n].digest for n in workers}
        if len(digests) > 1:
            raise DigestsDifferError(f"{strategy} on {workers} workers: {sorted(digests)}")
    return rows()


def _passes(speeds: Sequence[float]) -> float:
    """Time of a search and a ceiling run on each number of workers, relative to a search on the first one."""
    return 2 * sum(1 / speed for speed in speeds)


def _search(
    request: SearchRequest, executor: Executor, workers: int, watch: Callable[[Session], None] = ignore
) -> SearchResult:
    """Run a search on this number of workers."""
    search = open_search(request)
    executor.use(workers)
    executor.open(search.context)
    session = Session(Coordinator(search, workers), executor)
    watch(session)
    return session.run()


def _calibrate(request: SearchRequest, executor: Executor, workers: Sequence[int]) -> tuple[float, float]:
    """Approximate simulations/s on the smallest and on the largest number of workers."""
    # The first search is not timed: kernels may be compiled.
    _search(replace(request, simulations=request.lanes), executor, workers[-1])
    timed = replace(request, simulations=None, seconds=CALIBRATION_S)
    results = [_search(timed, executor, n) for n in (workers[0], workers[-1])]
    one, most = (max(1, result.simulations) / result.elapsed_s for result in results)
    return one, max(one, most)


def rounded(simulations: float, least: int = 1) -> int:
    """A number of simulations with two digits that are not 0, at least ``least``."""
    digits = 10 ** max(0, math.floor(math.log10(max(1.0, simulations))) - 1)
    return int(min(MAX_SIMULATIONS, max(least, round(simulations / digits) * digits)))


def _row(
    request: SearchRequest, workers: int, cell: _Cell, base: int, base_cell: _Cell, executor: str
) -> Row:
    rate, ceiling = median(cell.rates), median(cell.ceilings)
    shares = [r / c for r, c in zip(cell.rates, cell.ceilings, strict=True)]
    speedup = base * rate / median(base_cell.rates)
    others = None
    if cell.spent and cell.beside:
        others = max(median(spent[OTHERS] for spent in cell.spent), median(cell.beside))
    assert request.simulations is not None
    return Row(
        game=request.game,
        strategy=request.strategy,
        lanes=request.lanes,
        workers=workers,
        simulations=request.simulations,
        simulations_per_s=round(rate, 1),
        speedup=round(speedup, 4),
        efficiency=round(speedup / workers, 4),
        ceiling_simulations_per_s=round(ceiling, 1),
        of_ceiling=round(median(shares), 4),
        digest=cell.digest,
        repeats=len(cell.rates),
        spread=(round(min(cell.rates), 1), round(max(cell.rates), 1)),
        ceiling_spread=(round(min(cell.ceilings), 1), round(max(cell.ceilings), 1)),
        of_ceiling_spread=(round(min(shares), 4), round(max(shares), 4)),
        spent={part: median(each[part] for each in cell.spent) for part in (cell.spent or [{}])[0]},
        others=others,
        trusted=not (warn_of_others([others], "runs") or warn_of_ceiling([median(shares)])),
        executor=executor,
    )


def amounts(rows: Sequence[Row]) -> str:
    """The simulations of each strategy, the lanes, and the number of runs of a cell, in words."""
    simulations = {row.strategy: f"{row.simulations:,}" for row in rows}
    work = counted(rows[0].simulations, "simulation")
    if len(set(simulations.values())) > 1:
        work = ", ".join(f"{strategy} {number}" for strategy, number in simulations.items()) + " simulations"
    repeats = [row.repeats for row in rows]
    runs = "one run" if max(repeats) == 1 else f"median and range of {span(repeats, 'run')}"
    return f"{work}, {counted(rows[0].lanes, 'lane')}, {runs}"


def warnings(rows: Sequence[Row]) -> list[str]:
    """Reasons to doubt the figures, one line each."""
    lines = (
        warn_of_others([row.others for row in rows], "runs"),
        warn_of_ceiling([r.of_ceiling for r in rows]),
    )
    return [line for line in lines if line]


def default_lanes(workers: int) -> int:
    """Default number of lanes, enough to keep ``workers`` workers busy."""
    return max(LANES, LANES_EACH * workers)
