"""Live progress of a search: a view on a terminal, plain lines elsewhere. Always on standard error.

The session calls the observer at every event, thousands of times a second; it returns at once
while nothing is due. What it costs to draw decides how often it draws, so that watching takes
next to nothing of a search that runs in the same process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from cluster import terminal
from cluster.figures import Figures, comings_and_goings
from cluster.session import Session
from search.request import SearchRequest
from search.result import Answer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

REDRAW_S = 0.125
LINE_S = 1.0
DRAWING_SHARE = 0.03
"""The most of the time that drawing may take."""


class LiveArea:
    """A context manager around what is drawn again and again on a terminal, or told in lines elsewhere."""

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
    """The observer to pass to a session, to be used as a context manager around it."""

    def __init__(
        self,
        console: Console,
        request: SearchRequest,
        *,
        enabled: bool = True,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """``clock`` measures what drawing costs; when to draw goes by the session's clock."""
        super().__init__(console, enabled=enabled)
        self._request = request
        self._clock = clock
        self._figures = Figures()
        self._due_s = 0.0 if self._live_wanted else LINE_S

    def __call__(self, session: Session) -> None:
        """Draw if it is time to."""
        now = session.elapsed_s
        if now < self._due_s or session.finished_s is not None:
            return
        if self._live is not None:
            started = self._clock()
            self._figures.update(session)
            from cluster.progress_view import view
            from cluster.sight import sight_of

            self._live.update(view(sight_of(session, self._figures), self._console), refresh=True)
            cost_s = self._clock() - started
            self._due_s = session.elapsed_s + max(REDRAW_S, cost_s / DRAWING_SHARE)
        elif self._lines_wanted:
            self._figures.update(session)
            print(line(session, self._figures), file=self._console.file, flush=True)
            self._due_s = now + LINE_S


def line(session: Session, figures: Figures) -> str:
    """Progress as one plain line."""
    counters, more = session.coordinator.counters, []
    if figures.joined or figures.left:
        alive = sum(worker.alive for worker in session.executor.workers)
        more = [f"{alive} workers ({comings_and_goings(figures)})"]
    return line_of(
        session.elapsed_s,
        counters.simulations,
        figures.rate,
        counters.jobs_done,
        counters.jobs_retried,
        figures.answer,
        more,
    )


def line_of(
    elapsed_s: float,
    simulations: int,
    rate: float,
    jobs: int,
    jobs_retried: int,
    answer: Answer,
    more: Sequence[str] = (),
) -> str:
    """The same from what is known of a search; ``rate`` is in simulations a second."""
    parts = [
        f"banyan: {terminal.duration(elapsed_s)}",
        f"{terminal.count(simulations)} simulations",
        terminal.rate(rate),
        f"{terminal.count(jobs)} jobs",
    ]
    if jobs_retried:
        parts.append(f"{terminal.count(jobs_retried)} retried")
    parts += more
    if answer.best_move is not None:
        parts.append(f"best {answer.best_move} {terminal.value(answer.value)}")
        parts.append(f"line {' '.join(answer.pv[:6])}")
    return ", ".join(parts)
