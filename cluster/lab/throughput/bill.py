"""The bill of determinism: what strategy tree pays for an answer that depends on nothing but the request.

Banyan takes results in the order of their jobs, and a round begins when the one before is over. `AsTheyCome`
is the same search without this order: a result is merged at once, and its lane gets the next job from the
tree of that moment; snapshots are taken as often as with rounds. It exists to be measured, not to be used:
its answer differs from run to run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from importlib import import_module
from statistics import mean, median, stdev
from typing import Any

import numpy as np
import typer

import games
from cluster.lab.strength.moves import SharpPosition, sharp_positions
from cluster.runtime.drive import TICK_S, drive
from cluster.runtime.session import session_on, task_of
from cluster.runtime.tasks import OPENED, Event, Executor, JobDone, Task, TaskWorker
from cluster.runtime.workers import exactly
from cluster.workers.ray_executor import RayExecutor
from cluster.workers.threads import ThreadsExecutor
from games.analysis.table import judge_of
from search.job import Context, Job, JobResult, LaneJob, Snapshot
from search.players import player_of
from search.prepare import Search, open_search
from search.request import SearchRequest
from search.result import answer
from search.strategies.tree import TreeStrategy
from search.tree.merge import all_rows, merge, snapshot
from search.worker import Worker


class Alone:
    """A worker whose jobs run one by one: they are never joined."""

    def __init__(self) -> None:
        self._worker = Worker()

    def prepare(self, context: Context) -> None:
        """Compile, or load, the kernels."""
        self._worker.prepare(context)

    def run(self, context: Context, job: Job) -> JobResult:
        """The job's increments."""
        return self._worker.run(context, job)


class AsTheyCome:
    """A search with a budget in simulations, as a machine of `drive`: each result is taken when it comes."""

    patience_s = TICK_S

    def __init__(self, search: Search) -> None:
        strategy = search.strategy
        assert isinstance(strategy, TreeStrategy)
        assert strategy.planner is not None
        self.search, self._tree, self._planner = search, strategy.tree, strategy.planner
        self._snapshot_rows, self._least = strategy.snapshot_rows, search.request.share_visits
        self._issued = 0
        self._out: dict[int, Task] = {}

    @property
    def contexts(self) -> Mapping[int, Any]:
        """The context of all jobs."""
        return {OPENED: self.search.context}

    @property
    def finished(self) -> bool:
        """Whether the results of all jobs are in the tree."""
        return self._issued == self.search.plan.jobs and not self._out

    def begin(self) -> list[Task]:
        """A job for each lane."""
        return [task for lane in range(self.search.plan.lanes) for task in self._next(lane)]

    def again(self) -> Sequence[Task]:
        """The jobs without a result."""
        return [*self._out.values()]

    def take(self, event: Event) -> Sequence[Task]:
        """Take a result; returns the next job of its lane. Raises RuntimeError for a failed or lost job."""
        if not isinstance(event, JobDone):
            raise RuntimeError(f"a job has failed: {event}")
        lane = self._out.pop(event.result.index).job.lane
        added, parts = event.result.added, event.result.portion_rows
        assert added is not None
        merge(self._tree, added, all_rows(len(added.visits)) if parts is None else parts)
        return self._next(lane)

    def check(self) -> None:
        """Do nothing: the search ends only when its budget is used up."""

    def _next(self, lane: int) -> list[Task]:
        index, plan = self._issued, self.search.plan
        if index == plan.jobs:
            return []
        self._issued += 1
        # For all lanes, so that this one stays out of the way of the others.
        sizes = np.full(plan.lanes, plan.size(index), dtype=np.int64)
        portions = self._planner.plan(sizes, index)[lane]
        if index % plan.lanes == 0:
            # As often as with rounds.
            statistics, self._least = snapshot(self._tree, self._least, self._snapshot_rows)
            self._snapshot = Snapshot(index, statistics)
        job = LaneJob(index, lane, index, plan.size(index), self._snapshot, portions)
        self._out[index] = task_of(job)
        return [self._out[index]]


def ordered(executor: Executor, request: SearchRequest) -> tuple[float, str | None]:
    """Simulations/s, and the move, of a search as Banyan makes it."""
    found = session_on(executor, open_search(request), executor.num_workers).run()
    return found.simulations / found.elapsed_s, found.move


def as_they_come(executor: Executor, request: SearchRequest) -> tuple[float, str | None]:
    """Simulations/s, and the move, of a search whose results are taken as they come."""
    search = open_search(request)
    executor.open(search.context)
    began_s = time.perf_counter()
    drive(AsTheyCome(search), executor)
    took_s = time.perf_counter() - began_s
    return search.plan.expected_simulations / took_s, answer(search).best_move


WAYS: dict[
    str, tuple[Callable[[Executor, SearchRequest], tuple[float, str | None]], Callable[[], TaskWorker]]
] = {
    "in order": (ordered, Worker),
    "as they come": (as_they_come, Alone),
}


def bill(
    request: SearchRequest, workers: int, executor: str, repeats: int, positions: Sequence[SharpPosition] = ()
) -> dict[str, tuple[list[float], list[int]]]:
    """Measure both WAYS in turn. Returns, by way, the simulations/s of each run in the position of the
    request, and what the moves lose in each of ``positions``: 0, 1 or 2, where 1 is a draw instead of a win.

    ``request``: of strategy tree, with several lanes and a budget in simulations. ``executor``: threads or
    ray.
    """
    found: dict[str, tuple[list[float], list[int]]] = {way: ([], []) for way in WAYS}
    for repeat in range(repeats):
        for way, (search, worker) in WAYS.items():
            made: Executor = (
                ThreadsExecutor(workers, worker)
                if executor == "threads"
                else RayExecutor(exactly(workers), make_worker=worker)
            )
            rates, losses = found[way]
            with closing(made):
                # The first compiles kernels, or loads them.
                search(made, replace(request, simulations=request.most_lanes))
                rates.append(search(made, request)[0])
                for place, position in enumerate(positions):
                    own = replace(request, position=position.text, seed=repeat * len(positions) + place)
                    losses.append(position.loss(str(search(made, own)[1])))
    return found


def main(
    game: str = "gomoku",
    simulations: int = 4_000_000,
    lanes: int = 4,
    rounds: int = 64,
    workers: int = 2,
    executor: str = "threads",
    repeats: int = 5,
    positions: int = 0,
) -> None:
    """Print rates, and what moves lose in positions that a search with 1,000 simulations finds hard."""
    loaded = games.load(game)
    request = SearchRequest(game=loaded.spec, simulations=simulations, lanes=lanes, rounds=rounds)
    hard: list[SharpPosition] = []
    if positions:
        short = player_of("uct:simulations=1000", loaded)
        hard = sharp_positions(loaded, judge_of(loaded), positions, 1, short_search=short)
    for way, (rates, losses) in bill(request, workers, executor, repeats, hard).items():
        print(f"{way}: {median(rates):,.0f} simulations/s ({min(rates):,.0f} to {max(rates):,.0f})")
        if losses:
            half = 1.96 * stdev(losses) / len(losses) ** 0.5
            print(f"{way}: moves lose {1000 * mean(losses):.0f} ± {1000 * half:.0f} thousandths of a draw")


if __name__ == "__main__":
    # Workers of Ray import what they unpickle by the name of this module.
    typer.run(import_module("cluster.lab.throughput.bill").main)
