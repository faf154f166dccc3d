"""Live standing of a match, on standard error: one line on a terminal, now and then a plain one elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Generic

from cluster.matches.session import G, MatchSession

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

REDRAW_S = 0.25
DRAWING_SHARE = 0.03
"""The most of the time that the standing may take."""
LINE_S = 2.0
LINE_SHARE = 0.05
"""Lines become rarer as a match grows longer: a match of hours is not to fill a log."""


class MatchProgress(Generic[G]):
    """The observer to pass to a session, to be used as a context manager around it."""

    def __init__(self, console: Console, line: Callable[[G, float], str], *, enabled: bool = True) -> None:
        """``line``: the standing as one line of text, after so many seconds."""
        self._line = line
        self._console = console
        self._enabled = enabled
        self._live = enabled and console.is_terminal and not console.is_dumb_terminal
        self._status: Status | None = None
        self._due_s = 0.0 if self._live else LINE_S
        self._shown = -1

    def __enter__(self) -> MatchProgress[G]:
        if self._live:
            self._status = self._console.status("playing ...")
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def __call__(self, session: MatchSession[G]) -> None:
        """Show the standing if it is time to."""
        now = session.elapsed_s
        if not self._enabled or now < self._due_s or session.match.finished:
            return
        if self._status is not None:
            self._status.update(self._line(session.match, now))
            self._due_s = now + max(REDRAW_S, (session.elapsed_s - now) / DRAWING_SHARE)
        elif session.match.done != self._shown:
            self._shown = session.match.done
            print(f"banyan: {self._line(session.match, now)}", file=self._console.file, flush=True)
            self._due_s = now + max(LINE_S, LINE_SHARE * now)
