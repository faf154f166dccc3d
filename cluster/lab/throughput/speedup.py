"""Throughput by the number of workers for a fixed amount of work, compared to the ceiling."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from statistics import fmean, median
from typing import Any

from cluster.lab.throughput.ceiling import Ceiling
from cluster.lab.throughput.losses import OTHERS, Losses
from cluster.report.machine import warn_of_ceiling, warn_of_others
from cluster.runtime.session import Session, session_on
from cluster.system.terminal import in_minutes, span
from cluster.workers.choose import make_executor
from cluster.workers.threads import ThreadsExecutor
from games.errors import counted, in_words
from search.coordinator import RoundCosts
from search.prepare import open_search
from search.request import DEFAULT_LANES, MAX_SIMULATIONS, SearchRequest
from search.strategies import strategy_of

SECONDS = 120.0
"""Default time of a whole measurement."""
SECONDS_EACH = 2.0
"""Least time in seconds of a search on all workers: shorter runs consist mostly of start and end."""
REPEATS = 3
"""Number of runs on the fewest workers for which the budget in simulations is chosen, if time allows."""
CALIBRATION_S = 1.0
"""Length in seconds of a search that measures a rate, from which the number of simulations is chosen."""
MORE_CORES = (4, 16, 64)
"""Numbers of cores whose use is computed from the costs of rounds."""
LANES_EACH = 4
"""Default lanes per worker for many workers: two bundles in flight with two jobs each."""


def ignore(_: object) -> None:
    """Do nothing."""


class DigestsDifferError(RuntimeError):
    """Two runs of one request gave different statistics, which must not depend on the workers."""


@dataclass(frozen=True)
class SpeedupRow:
    """Results of one strategy on one number of workers. Rates are medians over the repeats.

    Figures of the ceiling are None if it was not measured.
    """

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
    ceiling_simulations_per_s: float | None
    """Rate of the same number of independent processes with the recorded jobs, in this run."""
    of_ceiling: float | None
    """Median over the repeats of rate / ceiling."""
    digest: str
    repeats: int
    """Number of runs; if the time is limited, runs on many workers are shorter, so there are more of them."""
    spread: tuple[float, float]
    """The lowest and the highest rate."""
    ceiling_spread: tuple[float, float] | None
    of_ceiling_spread: tuple[float, float] | None
    spent: dict[str, float]
    """Share of each part (losses.py) in the time of all cores of this machine, median over the repeats; empty
    if it is not known, as when other machines took part."""
    others: float | None
    """Share of other programs in the time of all cores, median over the repeats: the larger of that during
    the search and that during the ceiling run. None if other machines took part."""
    trusted: bool
    """Whether there is no warning, ``others`` is small enough, and ``of_ceiling`` is plausible."""
    executor: str = "ray"
    """What the workers are: processes of Ray, or threads."""
    warnings: Sequence[str] = ()
    """What happened during the runs that is a reason to doubt the figures."""
    round_costs: RoundCosts = field(default_factory=RoundCosts)
    """Costs of the rounds of the run with the middle rate; all 0 where there are no rounds."""
    used: dict[int, float | None] = field(default_factory=dict)
    """By number of cores, up to one for each lane: the share of the cores' time that jobs would have by
    ``round_costs`` (`RoundCosts.efficiency`)."""


@dataclass(frozen=True)
class MeasuredRun:
    """One run of a search, and of its ceiling if there is one; see `SpeedupRow`."""

    simulations_per_s: float
    digest: str
    others: float | None
    spent: dict[str, float] = field(default_factory=dict)
    ceiling: float | None = None
    warnings: Collection[str] = ()
    round_costs: RoundCosts = field(default_factory=RoundCosts)


class SpeedupRunner:
    """Runs the searches of a measurement on the first n of several workers, without a ceiling."""

    executor = "ray"
    has_ceiling = False
    least_s = 0.0
    """Least time in seconds of a search on all workers."""
    most_simulations = MAX_SIMULATIONS
    end_s = 0.0
    """About when the measurement ends, by the monotonic clock; set by `measure_speedup`."""

    def record(self, request: SearchRequest) -> None:
        """Prepare the ceiling of a strategy: from now on it is measured after each of its searches."""

    def search(self, request: SearchRequest, workers: int) -> MeasuredRun:
        """Run a search on this number of workers."""
        raise NotImplementedError

    def close(self) -> None:
        """End what was started."""


class OwnWorkers(SpeedupRunner):
    """Workers of this process, for one measurement, and independent processes for the ceiling."""

    has_ceiling = True
    least_s = SECONDS_EACH

    def __init__(
        self,
        workers: int,
        executor: str = "ray",
        address: str | None = None,
        watch: Callable[[Session], None] = ignore,
    ) -> None:
        """Start the workers: processes of Ray (on the cluster at ``address``, if one is given) or threads.
        ``watch`` is called with the session of each search before it runs."""
        self.executor = executor
        self.here = address is None
        """Whether the workers are all on this machine."""
        self._workers, self._watch = workers, watch
        self._ceilings: dict[str, Ceiling] = {}
        self.workers = make_executor(executor, workers, address)

    def record(self, request: SearchRequest) -> None:
        self._ceilings[request.strategy] = Ceiling(request, self._workers, self.workers)

    def search(self, request: SearchRequest, workers: int) -> MeasuredRun:
        executor = self.workers
        session = session_on(executor, open_search(request), workers)
        # Another kind of search may have begun with other processes.
        losses = Losses(executor.thread_ids if isinstance(executor, ThreadsExecutor) else ())
        self._watch(session)
        result = session.run()
        spent = losses.shares() if self.here else {}
        others = spent.get(OTHERS)
        rate, costs = result.simulations / result.elapsed_s, session.coordinator.counters.round_costs
        ceiling = None
        if request.strategy in self._ceilings:
            beside = Losses()
            ceiling = self._ceilings[request.strategy].measure(workers)
            if warn_of_ceiling([rate / ceiling]):
                # The machine may have been busy for a moment.
                ceiling = max(ceiling, self._ceilings[request.strategy].measure(workers))
            others = None if others is None else max(others, beside.others() or 0.0)
        return MeasuredRun(rate, result.digest, others, spent, ceiling, round_costs=costs)

    def close(self) -> None:
        for ceiling in self._ceilings.values():
            ceiling.close()
        self.workers.close()


_Key = tuple[str, int]
"""A strategy and a number of workers."""


@dataclass
class Schedule:
    """Chooses which cell (a strategy on a number of workers) runs next, and estimates the time left."""

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


def measure_speedup(
    request: SearchRequest,
    strategies: Sequence[str],
    workers: Sequence[int],
    runner: SpeedupRunner,
    repeats: int | None = None,
    seconds: float = SECONDS,
    report: Callable[[str], None] = print,
    so_far: list[SpeedupRow] | None = None,
) -> list[SpeedupRow]:
    """Measure each strategy on each number of workers, interleaved, in ``seconds``; closes the runner.

    Without a budget in simulations, each strategy gets one that fits into the time, and is not too small.
    Without ``repeats``, each cell is run until it has had its share of the time, at least once. With both,
    the time is not limited. ``report`` is called with lines of progress. ``so_far``: a list that gets the
    rows as they are measured, and is returned. Raises DigestsDifferError if statistics depend on the workers.
    """
    runner.end_s = time.monotonic() + seconds
    workers = sorted(set(workers))
    requests = {strategy: replace(request, strategy=strategy) for strategy in strategies}
    cells: dict[_Key, list[MeasuredRun]] = {(strategy, n): [] for strategy in strategies for n in workers}
    fixed = request.simulations is not None and repeats is not None
    length = f"each run {repeats} times"
    if not fixed:
        length = f"in about {in_minutes(seconds)}; a search on all takes at least {runner.least_s:g} s"
    report(f"{in_words(strategies)} on {in_words(workers)} worker{'s' * (workers != [1])}, {length}")
    rows = [] if so_far is None else so_far
    with closing(runner):
        expected_s = dict.fromkeys(cells, math.nan)
        if not fixed:
            report("a short search with each strategy, from which the simulations are chosen")
            rates = {s: _calibrate(requests[s], runner, workers) for s in strategies}
            # Kernels may have been compiled, or machines waited for.
            runner.end_s = max(runner.end_s, time.monotonic() + seconds / 2)
            ways = 2 if runner.has_ceiling else 1
            share_s = (runner.end_s - time.monotonic()) / len(strategies) / (repeats or REPEATS)
            for strategy, (one, most) in rates.items():
                speeds = [min(n / workers[0], most / one) for n in workers]
                if request.simulations is None:
                    passes = ways * sum(1 / speed for speed in speeds)
                    work_s = max(share_s / passes, runner.least_s * most / one)
                    number = min(rounded(work_s * one, request.most_lanes), runner.most_simulations)
                    requests[strategy] = replace(requests[strategy], simulations=number)
                run_s = ways * (requests[strategy].simulations or 0) / one
                expected_s |= {(strategy, n): run_s / speed for n, speed in zip(workers, speeds, strict=True)}
        schedule = Schedule(expected_s, repeats, runner.end_s)
        for strategy, each in requests.items() if runner.has_ceiling else ():
            work = counted(each.simulations or 0, "simulation")
            report(f"recording {strategy}, {work}, for the ceiling{schedule.left()}")
            runner.record(each)
        digests: dict[str, str] = {}
        while (key := schedule.next()) is not None:
            (strategy, n), samples = key, cells[key]
            begun_s = time.monotonic()
            sample = runner.search(requests[strategy], n)
            what = f"{strategy}, {counted(n, 'worker')}, run {len(samples) + 1}"
            if sample.digest != digests.setdefault(strategy, sample.digest):
                raise DigestsDifferError(f"{what}: digest {sample.digest} after {digests[strategy]}")
            samples.append(sample)
            schedule.took_s[key].append(time.monotonic() - begun_s)
            rows[:] = [
                _row(requests[s], n, samples, cells[s, workers[0]], workers[0], runner.executor)
                for (s, n), samples in cells.items()
                if samples
            ]
            share = ""
            if sample.ceiling is not None:
                share = f", {sample.simulations_per_s / sample.ceiling:.3f} of the ceiling"
            report(f"{what}: {sample.simulations_per_s:,.0f} simulations/s{share}{schedule.left()}")
    return rows


def _calibrate(request: SearchRequest, runner: SpeedupRunner, workers: Sequence[int]) -> tuple[float, float]:
    """Approximate simulations/s on the smallest and on the largest number of workers."""
    # The first search is not timed: kernels may be compiled.
    runner.search(replace(request, simulations=request.most_lanes), workers[-1])
    timed = replace(request, simulations=None, seconds=CALIBRATION_S)
    one, most = (max(1.0, runner.search(timed, n).simulations_per_s) for n in (workers[0], workers[-1]))
    return one, max(one, most)


def rounded(simulations: float, least: int = 1) -> int:
    """A number of simulations with two digits that are not 0, at least ``least``."""
    digits = 10 ** max(0, math.floor(math.log10(max(1.0, simulations))) - 1)
    return int(min(MAX_SIMULATIONS, max(least, round(simulations / digits) * digits)))


def _row(
    request: SearchRequest,
    workers: int,
    samples: Sequence[MeasuredRun],
    base: Sequence[MeasuredRun],
    base_workers: int,
    executor: str,
) -> SpeedupRow:
    """``base``: those of the smallest number of workers."""
    rates = [each.simulations_per_s for each in samples]
    speedup = base_workers * median(rates) / median(each.simulations_per_s for each in base)
    ceilings = [each.ceiling for each in samples if each.ceiling is not None]
    shares = [each.simulations_per_s / each.ceiling for each in samples if each.ceiling is not None]
    others = _middle([each.others for each in samples if each.others is not None], 4)
    of_ceiling = _middle(shares, 4)
    spent = [each.spent for each in samples if each.spent]
    reasons = sorted({reason for each in samples for reason in each.warnings})
    middle = sorted(samples, key=lambda each: each.simulations_per_s)[len(samples) // 2].round_costs
    lanes, by_rounds = request.most_lanes, strategy_of(request.strategy).by_rounds
    used = {cores: middle.efficiency(cores, lanes, by_rounds) for cores in MORE_CORES if cores <= lanes}
    assert request.simulations is not None
    return SpeedupRow(
        game=request.game,
        strategy=request.strategy,
        lanes=lanes,
        workers=workers,
        simulations=request.simulations,
        simulations_per_s=round(median(rates), 1),
        speedup=round(speedup, 4),
        efficiency=round(speedup / workers, 4),
        ceiling_simulations_per_s=_middle(ceilings, 1),
        of_ceiling=of_ceiling,
        digest=samples[0].digest,
        repeats=len(rates),
        spread=(round(min(rates), 1), round(max(rates), 1)),
        ceiling_spread=_range(ceilings, 1),
        of_ceiling_spread=_range(shares, 4),
        spent={part: median(each[part] for each in spent) for part in (spent or [{}])[0]},
        others=others,
        trusted=not (reasons or warn_of_others([others], "runs") or warn_of_ceiling([of_ceiling])),
        executor=executor,
        warnings=reasons,
        round_costs=middle,
        used=used,
    )


def _middle(values: Sequence[float], digits: int) -> float | None:
    return round(median(values), digits) if values else None


def _range(values: Sequence[float], digits: int) -> tuple[float, float] | None:
    return (round(min(values), digits), round(max(values), digits)) if values else None


def amounts(rows: Sequence[Any]) -> str:
    """In words: the simulations of each strategy. ``rows``: of a strategy and a number of simulations."""
    simulations = {row.strategy: f"{row.simulations:,}" for row in rows}
    work = counted(rows[0].simulations, "simulation")
    if len(set(simulations.values())) > 1:
        work = ", ".join(f"{strategy} {number}" for strategy, number in simulations.items()) + " simulations"
    return work


def settings(rows: Sequence[SpeedupRow]) -> str:
    """In words: the lanes, how long searches took, and the number of runs of a cell, with what their figures
    are (median and range)."""
    repeats = [row.repeats for row in rows]
    runs = "one run" if max(repeats) == 1 else f"median and range of {span(repeats, 'run')}"
    took_s = [row.simulations / row.simulations_per_s for row in rows]
    length = f"searches of {' to '.join(dict.fromkeys(f'{end:.2g}' for end in (min(took_s), max(took_s))))} s"
    return f"{counted(rows[0].lanes, 'lane')}, {length}, {runs}"


def warnings(rows: Sequence[SpeedupRow]) -> list[str]:
    """Reasons to doubt the figures, one line each."""
    lines = (
        *sorted({line for row in rows for line in row.warnings}),
        warn_of_others([row.others for row in rows], "runs"),
        warn_of_ceiling([r.of_ceiling for r in rows]),
    )
    return [line for line in lines if line]


def default_lanes(workers: int) -> int:
    """Default number of lanes, enough to keep ``workers`` workers busy."""
    return max(DEFAULT_LANES, LANES_EACH * workers)
