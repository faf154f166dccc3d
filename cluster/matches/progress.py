"""Live standing of a match, on standard error."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic

from cluster.matches.session import G, MatchSession
from cluster.status_line import StatusLine

if TYPE_CHECKING:
    from rich.console import Console

LINE_S = 2.0


class MatchProgress(StatusLine, Generic[G]):
    """The observer to pass to a session, to be used as a context manager around it."""

    def __init__(self, console: Console, line: Callable[[G, float], str], *, enabled: bool = True) -> None:
        """``line``: the standing as one line of text, after so many seconds."""
        super().__init__(console, "playing ...", LINE_S, enabled=enabled)
        self._line = line

    def __call__(self, session: MatchSession[G]) -> None:
        """Show the standing if it is time to."""
        match = session.match
        if not match.finished:
            self.show(match.done, lambda: session.elapsed_s, lambda now: self._line(match, now))
