"""What more workers buy in throughput: the same fixed work for each number of workers, beside the ceiling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from cluster.coordinator import Coordinator
from cluster.executor import Executor
from cluster.executors import make_executor
from cluster.measuring.ceiling import Ceiling
from cluster.measuring.losses import Losses
from cluster.session import Session
from search.opening import open_search
from search.request import SearchRequest

SECONDS = 15.0
"""The default work is what one core does in about this time..."""
SECONDS_EACH = 2.0
"""...and each of many workers in about this: shorter, a run is mostly its beginning and its end."""
LANES = 16
"""The default, for few workers..."""
LANES_EACH = 4
"""...and for each of many: of a bundle that runs, and of one that waits for it, two jobs each."""


class DigestsDifferError(RuntimeError):
    """Two runs of one request ended with different statistics: law 1 is broken."""


@dataclass(frozen=True)
class Row:
    """One strategy on one number of workers. Rates are medians over the repeats."""

    game: str
    strategy: str
    lanes: int
    workers: int
    simulations: int
    simulations_per_s: float
    speedup: float
    """Against the smallest number of workers that was measured, counted as linear up to there."""
    efficiency: float
    """speedup / workers."""
    ceiling_simulations_per_s: float
    """What as many independent processes do with the same jobs in the same run."""
    of_ceiling: float
    """Median over the repeats of rate / ceiling."""
    digest: str
    repeats: int
    spread: tuple[float, float]
    """The lowest and the highest rate."""
    ceiling_spread: tuple[float, float]
    of_ceiling_spread: tuple[float, float]
    spent: dict[str, float]
    """The share of the time of this machine's cores that each part took (measuring/losses.py), median
    over the repeats; empty if it is not this machine alone."""


@dataclass
class _Cell:
    rates: list[float]
    ceilings: list[float]
    spent: list[dict[str, float]]
    digest: str = ""


def measure_speedup(
    request: SearchRequest,
    strategies: Sequence[str],
    workers: Sequence[int],
    repeats: int,
    address: str | None = None,
    report: Callable[[str], None] = print,
) -> list[Row]:
    """Run everything ``repeats`` times, interleaved.

    Raises DigestsDifferError if an answer depends on the workers. ``report`` gets lines of progress.
    """
    if request.simulations is None:
        raise ValueError("a speedup is measured on a budget in simulations")
    workers = sorted(set(workers))
    requests = {strategy: replace(request, strategy=strategy) for strategy in strategies}
    cells = {(strategy, n): _Cell([], [], []) for strategy in strategies for n in workers}
    ceilings: dict[str, Ceiling] = {}
    executor: Executor | None = None
    try:
        report(f"starting {workers[-1]} workers")
        executor = make_executor("ray", workers[-1], address)
        for strategy in strategies:
            report(f"recording {strategy} for the ceiling")
            ceilings[strategy] = Ceiling(requests[strategy], workers[-1], executor)
        for repeat in range(repeats):
            for strategy in strategies:
                for n in workers:
                    cell = cells[strategy, n]
                    rate, digest, spent = _run(requests[strategy], executor, n)
                    if cell.digest and digest != cell.digest:
                        raise DigestsDifferError(f"{strategy} on {n} workers: {digest} after {cell.digest}")
                    cell.digest = digest
                    cell.rates.append(rate)
                    if address is None and spent:
                        cell.spent.append(spent)
                    cell.ceilings.append(ceilings[strategy].measure(n))
                    report(
                        f"repeat {repeat + 1} of {repeats}: {strategy}, {n} workers: "
                        f"{rate:,.0f} simulations/s, {rate / cell.ceilings[-1]:.3f} of the ceiling"
                    )
    finally:
        for ceiling in ceilings.values():
            ceiling.close()
        if executor is not None:
            executor.close()
    for strategy in strategies:
        digests = {cells[strategy, n].digest for n in workers}
        if len(digests) > 1:
            raise DigestsDifferError(f"{strategy} on {workers} workers: {sorted(digests)}")
    return [
        _row(requests[s], n, cells[s, n], workers[0], cells[s, workers[0]])
        for s in strategies
        for n in workers
    ]


def _run(request: SearchRequest, executor: Executor, workers: int) -> tuple[float, str, dict[str, float]]:
    """Simulations a second of one search, workers being ready; its digest; and where the time went."""
    search = open_search(request)
    executor.use(workers)
    executor.open(search.context)
    coordinator = Coordinator(search, workers)
    losses = Losses()
    result = Session(coordinator, executor).run()
    return result.simulations / result.elapsed_s, result.digest, losses.shares()


def _row(request: SearchRequest, workers: int, cell: _Cell, base: int, base_cell: _Cell) -> Row:
    rate, ceiling = median(cell.rates), median(cell.ceilings)
    shares = [r / c for r, c in zip(cell.rates, cell.ceilings, strict=True)]
    speedup = base * rate / median(base_cell.rates)
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
    )


def default_simulations(nominal_simulations_per_s: float, workers: int = 1) -> int:
    """SECONDS of one core, and SECONDS_EACH of each of ``workers``, to two digits."""
    work = nominal_simulations_per_s * max(SECONDS, SECONDS_EACH * workers)
    digits = 10 ** max(0, math.floor(math.log10(work)) - 1)
    return int(max(1, round(work / digits) * digits))


def default_lanes(workers: int) -> int:
    """Lanes that give ``workers`` enough to do: the same for every number of them that is measured."""
    return max(LANES, LANES_EACH * workers)
