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
    """The state of one worker slot."""

    slot: int
    state: WorkerState
    busy: float
    """The recent share of time spent in jobs."""
    restarts: int


@dataclass(frozen=True)
class SearchView:
    """The state of a search at one moment."""

    game: Game
    root_state: State
    strategy: str
    lanes: int
    place: str
    """Where the search runs: the executor, or ``on the server``."""
    answer: Answer
    budget: str
    """The budget in words."""
    budget_used: float
    """The used share of the budget, in [0, 1]."""
    simulations: int
    rate: float
    """Recent simulations/s."""
    jobs: int
    jobs_in_flight: int
    jobs_retried: int
    results_waiting: int
    """Results that cannot be merged yet because the result of an earlier job is missing."""
    merges: int
    merge_s: float
    workers: Sequence[WorkerSight]
    comings: str | None = None
    """Text about workers that have joined or left; None if there were none."""


def search_view_of(session: Session, figures: ProgressStats) -> SearchView:
    """The view of a search whose session is in this process."""
    coordinator, strategy = session.coordinator, session.search.strategy
    counters, durations = coordinator.counters, coordinator.counters.merge_durations
    budget, used = _budget(session)
    return SearchView(
        game=session.search.game,
        root_state=session.search.root_state,
        strategy=session.search.request.strategy,
        lanes=strategy.lanes,
        place=session.executor.name,
        answer=figures.answer,
        budget=budget,
        budget_used=min(1.0, used),
        simulations=counters.simulations,
        rate=figures.rate,
        jobs=counters.jobs_done,
        jobs_in_flight=coordinator.jobs_in_flight,
        jobs_retried=counters.jobs_retried,
        results_waiting=max(0, strategy.issued - strategy.absorbed - coordinator.jobs_in_flight),
        merges=sum(durations.counts),
        merge_s=durations.sum_s,
        workers=[
            WorkerSight(worker.slot, worker.state, busy, worker.restarts)
            for worker, busy in zip(session.executor.workers, figures.busy, strict=False)
        ],
        comings=comings_and_goings(figures) if figures.joined or figures.left else None,
    )


def budget_text(request: SearchRequest) -> str:
    """The budget of a request in words."""
    if request.simulations is not None:
        return f"of {counted(request.simulations, 'simulation')}"
    if request.seconds is not None:
        return f"of {terminal.duration(request.seconds)}"
    return f"of {terminal.count(request.memory_mb)} MB"


def _budget(session: Session) -> tuple[str, float]:
    request, counters = session.search.request, session.coordinator.counters
    if request.simulations is not None:
        used = counters.simulations / request.simulations
    elif request.seconds is not None:
        used = session.elapsed_s / request.seconds
    else:
        used = _memory_share(session)
    return budget_text(request), used


def _memory_share(session: Session) -> float:
    """The largest share of its memory that one of the trees uses."""
    search = session.search
    node_bytes = search.context.features.layout.bytes_per_node
    shared = session.coordinator.tree_bytes / (len(search.strategy.tree.visits) * node_bytes)
    slots = search.context.tree_slots
    lane = session.coordinator.counters.lane_tree_bytes / (slots * node_bytes) if slots else 0.0
    return max(shared, lane)
