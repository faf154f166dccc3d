"""Throughput by the number of workers for a fixed amount of work, compared to the ceiling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from statistics import median

from cluster.executors.choose import make_executor
from cluster.executors.threads import ThreadsExecutor
from cluster.lab.throughput.ceiling import Ceiling
from cluster.lab.throughput.losses import OTHERS, Losses
from cluster.report.trust import warn_of_ceiling, warn_of_others
from cluster.runtime.session import Session
from cluster.runtime.tasks import Executor
from games.errors import counted
from search.coordinator import Coordinator
from search.prepare import open_search
from search.request import SearchRequest

SECONDS = 15.0
"""Default amount of work for few workers, in seconds of one core."""
SECONDS_EACH = 2.0
"""Smallest default work per worker, in seconds: shorter runs consist mostly of start and end."""
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
        search = open_search(request)
        executor.use(workers)
        executor.open(search.context)
        coordinator = Coordinator(search, workers)
        losses = Losses(executor.thread_ids if isinstance(executor, ThreadsExecutor) else ())
        session = Session(coordinator, executor)
        watch(session)
        result = session.run()
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


def measure_speedup(
    request: SearchRequest,
    strategies: Sequence[str],
    workers: Sequence[int],
    repeats: int,
    address: str | None = None,
    report: Callable[[str], None] = print,
    executor_name: str = "ray",
    watch: Callable[[Session], None] = ignore,
    measured: Callable[[list[Row]], None] = ignore,
) -> list[Row]:
    """Measure each strategy on each number of workers ``repeats`` times, interleaved.

    Workers are processes of Ray, or with ``executor_name`` threads. ``report`` is called with lines of
    progress, ``watch`` with each search before it runs, ``measured`` with the rows so far, whenever one has
    changed. Raises DigestsDifferError if statistics depend on the workers.
    """
    if request.simulations is None:
        raise ValueError("a speedup is measured on a budget in simulations")
    workers = sorted(set(workers))
    requests = {strategy: replace(request, strategy=strategy) for strategy in strategies}
    cells = {(strategy, n): _Cell() for strategy in strategies for n in workers}

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
        ceilings: dict[str, Ceiling] = {}
        for strategy in strategies:
            report(f"recording {strategy} for the ceiling")
            ceilings[strategy] = Ceiling(requests[strategy], workers[-1], executor)
            stack.callback(ceilings[strategy].close)
        for repeat in range(repeats):
            for (strategy, n), cell in cells.items():
                cell.search(requests[strategy], executor, n, address is None, watch)
                cell.measure_ceiling(ceilings[strategy], n, address is None)
                measured(rows())
                report(
                    f"repeat {repeat + 1} of {repeats}: {strategy}, {counted(n, 'worker')}: "
                    f"{cell.rates[-1]:,.0f} simulations/s, {cell.rates[-1] / cell.ceilings[-1]:.3f} of "
                    "the ceiling"
                )
    for strategy in strategies:
        digests = {cells[strategy, n].digest for n in workers}
        if len(digests) > 1:
            raise DigestsDifferError(f"{strategy} on {workers} workers: {sorted(digests)}")
    return rows()


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


def warnings(rows: Sequence[Row]) -> list[str]:
    """Reasons to doubt the figures, one line each."""
    lines = (
        warn_of_others([row.others for row in rows], "runs"),
        warn_of_ceiling([r.of_ceiling for r in rows]),
    )
    return [line for line in lines if line]


def default_simulations(nominal_simulations_per_s: float, workers: int = 1) -> int:
    """Default number of simulations: SECONDS of one core, at least SECONDS_EACH per worker; two digits."""
    work = nominal_simulations_per_s * max(SECONDS, SECONDS_EACH * workers)
    digits = 10 ** max(0, math.floor(math.log10(work)) - 1)
    return int(max(1, round(work / digits) * digits))


def default_lanes(workers: int) -> int:
    """Default number of lanes, enough to keep ``workers`` workers busy."""
    return max(LANES, LANES_EACH * workers)
