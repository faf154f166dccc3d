"""The data that the view of a running search shows, for local and remote searches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cluster.observe.progress_stats import ProgressStats, comings_and_goings
from cluster.runtime.session import Session
from cluster.runtime.worker_state import WorkerState
from cluster.system import terminal
from games.errors import counted
from games.game import Game, State
from search.request import SearchRequest
from search.result import Answer


@dataclass(frozen=True)
class WorkerSight:
    """The state of one worker slot, in the fields of the API."""

    slot: int
    state: WorkerState
    busy: float
    """The recent share of time spent in jobs."""
    jobs: int
    restarts: int


@dataclass(frozen=True)
class Figures:
    """The figures of a running search, in the fields of the API's `Progress`."""

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
    workers: Sequence[WorkerSight]
    elapsed_s: float
    simulations_per_s: float
    """The recent rate."""
    budget_used: float
    """The used share of the budget, in [0, 1]; without a budget, of the memory."""


@dataclass(frozen=True)
class SearchView:
    """The state of a search at one moment."""

    game: Game
    root_state: State
    request: SearchRequest
    place: str
    """Where the search runs: the executor, or ``on the server``."""
    answer: Answer
    figures: Figures
    comings: str | None = None
    """Text about workers that have joined or left; None if there were none."""


def search_view_of(session: Session, stats: ProgressStats) -> SearchView:
    """The view of a search whose session is in this process, as ``stats`` has sampled it last."""
    search = session.search
    return SearchView(
        game=search.game,
        root_state=search.root_state,
        request=search.request,
        place=session.executor.name,
        answer=stats.answer,
        figures=figures_of(session, stats),
        comings=comings_and_goings(stats) if stats.joined or stats.left else None,
    )


def figures_of(session: Session, stats: ProgressStats) -> Figures:
    """The figures of a session, as ``stats`` has sampled it last."""
    coordinator, counters = session.coordinator, session.coordinator.counters
    return Figures(
        simulations=counters.simulations,
        playouts=counters.playouts,
        tree_nodes=coordinator.tree_nodes,
        jobs=counters.jobs_done,
        jobs_in_flight=coordinator.jobs_in_flight,
        jobs_retried=counters.jobs_retried,
        results_waiting=coordinator.results_waiting,
        merges=sum(counters.merge_durations.counts),
        merge_s=round(counters.merge_durations.sum_s, 6),
        workers=[
            WorkerSight(worker.slot, worker.state, round(busy, 3), worker.jobs_done, worker.restarts)
            for worker, busy in zip(session.executor.workers, stats.busy, strict=False)
        ],
        elapsed_s=round(session.elapsed_s, 6),
        simulations_per_s=round(stats.rate, 1),
        budget_used=min(1.0, _budget_used(session)),
    )


def budget_text(request: SearchRequest) -> str:
    """The budget of a request in words."""
    if request.simulations is not None:
        return f"of {counted(request.simulations, 'simulation')}"
    if request.seconds is not None:
        return f"of {terminal.duration(request.seconds)}"
    return f"of {terminal.count(request.memory_mb)} MB"


def _budget_used(session: Session) -> float:
    request = session.search.request
    if request.simulations is not None:
        return session.coordinator.counters.simulations / request.simulations
    return _memory_share(session) if request.seconds is None else session.elapsed_s / request.seconds


def _memory_share(session: Session) -> float:
    """The largest share of its memory that one of the trees uses."""
    search = session.search
    node_bytes = search.context.features.layout.bytes_per_node
    shared = session.coordinator.tree_bytes / (len(search.strategy.tree.visits) * node_bytes)
    slots = search.context.tree_slots
    lane = session.coordinator.counters.lane_tree_bytes / (slots * node_bytes) if slots else 0.0
    return max(shared, lane)
