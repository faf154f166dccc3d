"""Progress of a running search, sampled several times a second."""

from __future__ import annotations

from dataclasses import dataclass

from cluster.observe.progress_stats import ProgressStats
from cluster.observe.search_view import figures_of
from cluster.runtime.session import Session
from games.errors import counted
from search.result import Answer, AnswerView, answer


@dataclass(frozen=True, repr=False)
class SearchProgress(AnswerView):
    """The state of a search at one moment: its answer so far and its progress.

    Besides its fields it has ``move``, ``value``, ``pv`` and ``children``, like a result. A notebook shows it
    as a board with visits.
    """

    game: str
    moves: tuple[str, ...]
    position: str | None
    to_move: str
    answer: Answer
    simulations: int
    simulations_per_s: float
    """Simulations per second over the last two seconds."""
    elapsed_s: float
    share: float
    """Used share of the budget, in [0, 1]; without a budget, of the memory."""
    tree_nodes: int
    workers: int
    executor: str
    """Where jobs run now: ``inline`` is one thread of this process, ``threads`` are several, ``ray`` are
    workers."""

    def __repr__(self) -> str:
        return f"<SearchProgress {self}>"

    def __str__(self) -> str:
        rate = f"{counted(self.simulations, 'simulation')}, {self.simulations_per_s:,.0f}/s"
        best = f", best {self.move} {self.value:+.3f}, line {' '.join(self.pv)}" if self.move else ""
        return f"{self.elapsed_s:.1f} s, {rate}{best}"

    def facts(self) -> list[tuple[str, str]]:
        """Facts about answer and search as pairs of name and text."""
        done = f"{self.simulations:,} in {self.elapsed_s:.1f} s ({100 * self.share:.0f} % of the budget)"
        return [
            *super().facts(),
            ("simulations", done),
            ("rate", f"{self.simulations_per_s:,.0f} simulations/s"),
            ("runs on", f"{counted(self.workers, 'worker')}, {self.executor}"),
        ]


def progress_of(session: Session, stats: ProgressStats) -> SearchProgress:
    """The progress of a session, which ``stats`` has just sampled."""
    figures, search = figures_of(session, stats), session.search
    return SearchProgress(
        game=search.game.spec,
        moves=search.request.moves,
        position=search.request.position,
        to_move=search.game.name_of(int(search.game.calls.current_player(search.root_state))),
        answer=answer(search),
        simulations=figures.simulations,
        simulations_per_s=stats.rate,
        elapsed_s=session.elapsed_s,
        share=figures.budget_used,
        tree_nodes=figures.tree_nodes,
        workers=session.executor.num_workers,
        executor=session.executor.name,
    )
