"""Live progress of a search on standard error: a view on a terminal, otherwise plain lines.

The session calls the observer at every event, thousands of times per second; it returns at once if nothing
is due. The interval of drawing follows from the measured cost, so that progress takes a negligible share of
the time of a search in this process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from cluster.observe.progress_stats import ProgressStats, comings_and_goings
from cluster.observe.search_view import Figures, figures_of, search_view_of
from cluster.runtime.session import Session
from cluster.system import terminal
from games.errors import counted
from search.result import Answer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

REDRAW_S = 0.125
LINE_S = 1.0
DRAWING_SHARE = 0.03
"""Largest share of the time that drawing may take."""


class LiveArea:
    """Context manager for an area that is redrawn on a terminal; without a terminal, lines are written."""

    def __init__(self, console: Console, *, enabled: bool, drawable: bool = True) -> None:
        self._console = console
        on_terminal = console.is_terminal and not console.is_dumb_terminal
        self._live_wanted = enabled and on_terminal and drawable
        self._lines_wanted = enabled and not self._live_wanted
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._live_wanted:
            from rich.live import Live

            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


class Progress(LiveArea):
    """An observer for a session, and a context manager to be entered around its run."""

    def __init__(
        self,
        console: Console,
        *,
        enabled: bool = True,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """``clock`` measures the cost of drawing; when to draw is decided by the session's clock."""
        super().__init__(console, enabled=enabled)
        self._clock = clock
        self._figures = ProgressStats()
        self._due_s = 0.0 if self._live_wanted else LINE_S

    def __call__(self, session: Session) -> None:
        """Draw if it is due."""
        now = session.elapsed_s
        if now < self._due_s or session.finished_s is not None:
            return
        if self._live is not None:
            started = self._clock()
            self._figures.update(session)
            from cluster.observe.progress_view import view

            self._live.update(view(search_view_of(session, self._figures), self._console), refresh=True)
            cost_s = self._clock() - started
            self._due_s = session.elapsed_s + max(REDRAW_S, cost_s / DRAWING_SHARE)
        elif self._lines_wanted:
            self._figures.update(session)
            print(line(session, self._figures), file=self._console.file, flush=True)
            self._due_s = now + LINE_S


def line(session: Session, stats: ProgressStats) -> str:
    """The progress of a session as one line of text."""
    more = []
    if stats.joined or stats.left:
        alive = sum(worker.alive for worker in session.executor.workers)
        more = [f"{counted(alive, 'worker')} ({comings_and_goings(stats)})"]
    return line_of(figures_of(session, stats), stats.answer, more)


def line_of(figures: Figures, answer: Answer, more: Sequence[str] = ()) -> str:
    """Progress as one line of text; ``more`` are texts to append."""
    parts = [
        f"banyan: {terminal.duration(figures.elapsed_s)}",
        f"{counted(figures.simulations, 'simulation')}",
        terminal.rate(figures.simulations_per_s),
        f"{counted(figures.jobs, 'job')}",
    ]
    if figures.jobs_retried:
        parts.append(f"{terminal.count(figures.jobs_retried)} retried")
    parts += more
    if answer.best_move is not None:
        parts.append(f"best {answer.best_move} {terminal.value(answer.value, answer.is_share)}")
        parts.append(f"line {' '.join(answer.pv[:6])}")
    return ", ".join(parts)
