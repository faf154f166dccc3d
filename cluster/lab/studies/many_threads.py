"""How many threads strategy `subtree` keeps busy: the jobs of a real search, done by simulated threads.

    python -m cluster.lab.studies.many_threads gomoku:size=9 --simulations 4000000 --lanes 16,64

A thread has the tree's lock while it selects; one that has nothing to do waits for the lock, or for the job
that is ``lanes`` before the next one, in order. What a selection costs, and a simulation, is fitted to
searches in one thread with few and with many lanes, whose jobs differ most. Caches that threads share, and
memory, are not simulated: many threads are slower than this says. Rates on one thread and two are measured
beside.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
import numpy.typing as npt

from cluster.executors.inline import InlineExecutor
from cluster.executors.threads import ThreadsExecutor
from cluster.report import table as report
from cluster.runtime.coordinator import Coordinator
from cluster.runtime.session import Session
from games.errors import InvalidInput
from games.jit import njit
from search.kernel.subtrees import LEAST_SIMULATIONS
from search.prepare import open_search
from search.request import SUBTREE, SearchRequest
from search.strategies.subtree import GrowingTree, SubtreeStrategy

THREADS = (1, 2, 4, 8, 16, 32, 64)
FEW, MANY = 2, 64
"""Lanes of the searches to which costs are fitted."""
REPEATS = 3
PASS_S = 5e-8
"""Time of a job that passes without a selection, in seconds."""

Sizes = npt.NDArray[np.int16]
"""[J, 2] `search.kernel.subtrees.Jobs.sizes`."""
Times = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Costs:
    """Seconds of one thread."""

    selection_s: float
    simulation_s: float

    @classmethod
    def fitted(cls, searches: Sequence[tuple[Sizes, float]]) -> Costs:
        """Least squares over searches in one thread, each with its jobs and its time."""
        work = [[float(sizes[:, 1].sum()), float(sizes[:, 0].sum())] for sizes, _ in searches]
        found, *_ = np.linalg.lstsq(np.array(work), np.array([taken for _, taken in searches]), rcond=None)
        return cls(max(0.0, float(found[0])), max(0.0, float(found[1])))


@njit
def _play(sizes: Sizes, ready: Times, free: Times, selection_s: float, simulation_s: float) -> None:
    """``ready``: [lanes] when the last job of each place is done; ``free``: [threads] when each thread is."""
    lock = 0.0
    for job in range(len(sizes)):
        thread = np.argmin(free)
        lock = max(lock, free[thread], ready[job % len(ready)])
        lock += sizes[job, 1] * selection_s if sizes[job, 1] else PASS_S
        free[thread] = lock + sizes[job, 0] * simulation_s
        ready[job % len(ready)] = free[thread]


def duration_s(sizes: Sizes, lanes: int, threads: int, costs: Costs) -> float:
    """How long so many threads take for the jobs of a search with these lanes."""
    free = np.zeros(threads)
    _play(sizes, np.zeros(lanes), free, costs.selection_s, costs.simulation_s)
    return float(free.max())


def record(request: SearchRequest) -> tuple[Sizes, float]:
    """The jobs of a search in this thread, and how long it took."""
    strategy = open_search(request).strategy
    assert isinstance(strategy, SubtreeStrategy)
    lanes, simulations = request.lanes, request.simulations or 0
    # Jobs that pass are many, and a job has at least one simulation.
    shared = GrowingTree(strategy.setup, 1, 0, None, record=(2 + lanes) * simulations // LEAST_SIMULATIONS)
    goal = shared.goal(simulations)
    shared.begin_stretch()
    began = time.perf_counter()
    shared.take_turns(goal, 0)
    taken_s = time.perf_counter() - began
    if shared.next_job > len(shared.jobs.sizes):
        raise InvalidInput("lanes", lanes, "fewer lanes: too many jobs pass")
    return shared.jobs.sizes[: shared.next_job], taken_s


def rate(request: SearchRequest, threads: int) -> float:
    """Simulations/s of a search in so many threads; with 0 in this one."""
    executor = ThreadsExecutor(threads) if threads else InlineExecutor()
    try:
        opened = open_search(request)
        executor.open(opened.context)
        result = Session(Coordinator(opened, executor.num_workers), executor).run()
    finally:
        executor.close()
    return result.simulations / result.elapsed_s


def _request(game: str, lanes: int, simulations: int, seed: int) -> SearchRequest:
    return SearchRequest(game, strategy=SUBTREE, lanes=lanes, simulations=simulations, seed=seed)


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("--simulations", type=int, default=1_000_000, help="of each search (1,000,000)")
    parser.add_argument("--lanes", default="16,64", metavar="N,N,...", help="(16,64)")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    game, simulations, seed = given.game, given.simulations, given.seed
    try:
        wanted = [int(lanes) for lanes in given.lanes.split(",")]
        fits = [
            record(_request(game, lanes, simulations, seed)) for _ in range(REPEATS) for lanes in (FEW, MANY)
        ]
    except InvalidInput as error:
        sys.exit(f"many_threads: {error}")
    costs = Costs.fitted(fits)
    sequential = replace(_request(game, 1, simulations, seed), strategy="tree")
    base = median(rate(sequential, 0) for _ in range(REPEATS))
    print(
        f"{game}, {simulations:,} simulations: a selection takes {1e6 * costs.selection_s:.2f} us, "
        f"a simulation {1e6 * costs.simulation_s:.2f} us; one lane makes {base / 1e6:.3f} M/s\n"
    )
    headings = ("simulations a job", "1, measured", "2, measured", *map(str, THREADS))
    made = report.Table([*report.left("lanes"), *report.right(*headings)])
    for lanes in wanted:
        sizes, _ = record(_request(game, lanes, simulations, seed))
        measured = [
            median(rate(_request(game, lanes, simulations, seed), threads) for _ in range(REPEATS)) / base
            for threads in (1, 2)
        ]
        simulated = [simulations / duration_s(sizes, lanes, threads, costs) / base for threads in THREADS]
        mean = simulations / np.count_nonzero(sizes[:, 0])
        made.add(str(lanes), f"{mean:.1f}", *(f"{each:.2f}" for each in (*measured, *simulated)))
    print("\n".join(report.markdown(made)))


if __name__ == "__main__":
    main()
