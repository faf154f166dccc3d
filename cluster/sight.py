"""What a view of a running search shows, wherever the search runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cluster import terminal
from cluster.figures import Figures, comings_and_goings
from cluster.session import Session
from games.game import Game, State
from search.request import SearchRequest
from search.result import Answer
from search.tree import bytes_per_node, is_hidden


@dataclass(frozen=True)
class WorkerSight:
    """One worker slot."""

    slot: int
    state: str
    alive: bool
    busy: float
    """The share of the last seconds that it spent in jobs."""
    restarts: int


@dataclass(frozen=True)
class Sight:
    """A search at one moment."""

    game: Game
    root_state: State
    strategy: str
    lanes: int
    place: str
    """The executor, or the server."""
    answer: Answer
    budget: str
    """In words; and the share of it that is used up."""
    budget_used: float
    simulations: int
    rate: float
    """Simulations a second, over the last seconds."""
    jobs: int
    jobs_in_flight: int
    jobs_retried: int
    results_waiting: int
    """For an earlier one: what the merge is behind the workers."""
    merges: int
    merge_s: float
    workers: Sequence[WorkerSight]
    comings: str | None = None
    """Of workers, in words, if there were any."""


def sight_of(session: Session, figures: Figures) -> Sight:
    """Of a search in this process."""
    coordinator, strategy = session.coordinator, session.search.strategy
    counters, durations = coordinator.counters, coordinator.counters.merge_durations
    budget, used = _budget(session)
    return Sight(
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
            WorkerSight(worker.slot, worker.state, worker.alive, busy, worker.restarts)
            for worker, busy in zip(session.executor.workers, figures.busy, strict=False)
        ],
        comings=comings_and_goings(figures) if figures.joined or figures.left else None,
    )


def budget_text(request: SearchRequest) -> str:
    """What ends a search, in words."""
    if request.simulations is not None:
        return f"of {terminal.count(request.simulations)} simulations"
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
    """How full the fullest of the trees is."""
    search = session.search
    node_bytes = bytes_per_node(is_hidden(search.strategy.tree))
    shared = session.coordinator.tree_bytes / (len(search.strategy.tree.visits) * node_bytes)
    slots = search.context.tree_slots
    lane = session.coordinator.counters.lane_tree_bytes / (slots * node_bytes) if slots else 0.0
    return max(shared, lane)
