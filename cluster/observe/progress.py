"""Samples of a running search: its figures, recent rates, and its answer so far."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from cluster.runtime.session import Session
from cluster.runtime.worker_state import WorkerState
from search.result import Answer, answer

ON_SERVER = "on the server"
RATE_S = 2.0
"""The interval of rates, in seconds."""


@dataclass(frozen=True)
class WorkerView:
    """The state of a worker slot."""

    slot: int
    state: WorkerState
    busy: float
    """Recent share of time spent in jobs, in [0, 1]."""
    jobs: int
    restarts: int


@dataclass(frozen=True)
class Figures:
    """The figures of a running search."""

    simulations: int
    playouts: int
    tree_nodes: int
    jobs: int
    jobs_in_flight: int
    jobs_retried: int
    results_waiting: int
    """Results that cannot be merged yet because the result of an earlier job is missing."""
    merges: int
    merge_s: float
    """Total time of merging, in seconds."""
    workers: Sequence[WorkerView]
    elapsed_s: float
    simulations_per_s: float
    """The recent rate."""
    budget_used: float
    """The used share of the budget, in [0, 1]; without a budget, of the memory."""
    recalled: int = 0
    """Positions that were not evaluated, because they had been before."""
    core: float = 1.0
    """The share of a core that workers have recently had while they ran jobs, in [0, 1]."""


@dataclass(frozen=True)
class Sample:
    """The state of a running search at one moment."""

    figures: Figures
    answer: Answer
    place: str
    """Where the search runs: the executor, or ON_SERVER."""
    changes: str = ""
    """Text about workers that have joined or left, such as ``2 joined, 1 left``; empty if there were none."""


class Sampler:
    """Takes samples of one session, with rates over the last RATE_S seconds."""

    def __init__(self) -> None:
        self._joined = self._left = 0
        """Workers that have joined and left since the search began, including replacements."""
        self._counted: tuple[int, int] | None = None
        """Processes that had joined and left at the last sample."""
        self._samples: deque[tuple[float, int, list[float], float]] = deque()
        """Elapsed seconds, simulations, seconds in jobs of each worker, and with a core of all of them."""
        self._core = 1.0
        """`Figures.core`, which stays while no job ends."""

    def sample(self, session: Session) -> Sample:
        """The present state of the session."""
        now_s, counters = session.elapsed_s, session.coordinator.counters
        workers = session.executor.workers
        self._count(sum(worker.joined for worker in workers), sum(worker.left for worker in workers))
        rate, busy = self._rates(session, now_s)
        figures = Figures(
            simulations=counters.simulations,
            playouts=counters.playouts,
            recalled=counters.recalled,
            tree_nodes=session.coordinator.tree_nodes,
            jobs=counters.jobs_done,
            jobs_in_flight=session.coordinator.jobs_in_flight,
            jobs_retried=counters.jobs_retried,
            results_waiting=session.coordinator.results_waiting,
            merges=sum(counters.merge_durations.counts),
            merge_s=round(counters.merge_durations.sum_s, 6),
            workers=[
                WorkerView(worker.slot, worker.state, round(share, 3), worker.jobs_done, worker.restarts)
                for worker, share in zip(workers, busy, strict=False)
            ],
            elapsed_s=round(session.elapsed_s, 6),
            simulations_per_s=round(rate, 1),
            budget_used=min(1.0, _budget_used(session)),
            core=round(self._core, 3),
        )
        changes = f"{self._joined} joined, {self._left} left" if self._joined or self._left else ""
        return Sample(figures, answer(session.search), session.executor.name, changes)

    def _count(self, joined: int, left: int) -> None:
        joined_before, left_before = self._counted or (joined, left)
        # The totals of a new executor begin at 0.
        self._joined += max(0, joined - joined_before)
        self._left += max(0, left - left_before)
        self._counted = joined, left

    def _rates(self, session: Session, now_s: float) -> tuple[float, list[float]]:
        """Recent simulations per second, and for each worker the recent share of time spent in jobs."""
        workers = session.executor.workers
        busy_s, cpu_s = [worker.busy_s for worker in workers], sum(worker.cpu_s for worker in workers)
        if not self._samples:
            # Workers of a service have been busy for other searches before.
            self._samples.append((session.elapsed_before_s, session.simulations_before, busy_s, cpu_s))
        self._samples.append((now_s, session.coordinator.counters.simulations, busy_s, cpu_s))
        while len(self._samples) > 2 and self._samples[1][0] <= now_s - RATE_S:
            self._samples.popleft()
        since_s, before, busy_before_s, cpu_before_s = self._samples[0]
        if (grown_s := sum(busy_s) - sum(busy_before_s)) > 0:
            self._core = min(1.0, max(0.0, (cpu_s - cpu_before_s) / grown_s))
        # Workers may have joined since the sample.
        busy_before_s = busy_before_s + [0.0] * (len(busy_s) - len(busy_before_s))
        window_s = max(now_s - since_s, 1e-9)
        shares = ((now - then) / window_s for now, then in zip(busy_s, busy_before_s, strict=False))
        rate = (session.coordinator.counters.simulations - before) / window_s
        return rate, [min(1.0, max(0.0, share)) for share in shares]


def _budget_used(session: Session) -> float:
    """The used share of the budget, or the largest share of its memory that one of the trees uses."""
    search, counters = session.search, session.coordinator.counters
    if search.request.simulations is not None:
        return counters.simulations / search.request.simulations
    if search.request.seconds is not None:
        return session.elapsed_s / search.request.seconds
    node_bytes = search.context.features.layout.bytes_per_node
    shared = session.coordinator.tree_bytes / (len(search.strategy.tree.visits) * node_bytes)
    slots = search.context.tree_slots
    return max(shared, counters.lane_tree_bytes / (slots * node_bytes) if slots else 0.0)
