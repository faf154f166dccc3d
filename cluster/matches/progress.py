"""Live display of the standing of a match on standard error."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cluster.matches.tournament import Tournament
from cluster.runtime.jobset import Jobset
from cluster.system.status_line import StatusLine

if TYPE_CHECKING:
    from rich.console import Console

LINE_S = 2.0
"""Where there is no terminal: seconds between two lines."""


class MatchProgress(StatusLine):
    """An observer of the games of a tournament, to be used as a context manager around `drive`."""

    def __init__(
        self, console: Console, line: Callable[[Tournament, float], str], *, enabled: bool = True
    ) -> None:
        """``line``: the standing as one line of text, after so many seconds."""
        super().__init__(console, "playing ...", LINE_S, enabled=enabled)
        self._line = line

    def __call__(self, jobset: Jobset[Tournament]) -> None:
        """Show the standing if it is time to."""
        tournament = jobset.units
        if not tournament.finished:
            self.show(tournament.done, lambda: jobset.elapsed_s, lambda now: self._line(tournament, now))
