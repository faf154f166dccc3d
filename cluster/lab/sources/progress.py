"""The progress line of a run of experiments on standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cluster.lab.sources.run import Run
from cluster.runtime.jobset import Jobset
from cluster.system import terminal
from cluster.system.status_line import StatusLine
from games.errors import counted

if TYPE_CHECKING:
    from rich.console import Console

LINE_S = 5.0


class ExperimentProgress(StatusLine):
    """An observer of a run, to be used as a context manager around `drive`."""

    def __init__(self, console: Console, *, enabled: bool = True) -> None:
        super().__init__(console, "starting ...", LINE_S, enabled=enabled)
        self.doing = ""
        """Name of the first unfinished table."""

    def __call__(self, jobset: Jobset[Run]) -> None:
        """Update the line, if it is due."""
        run = jobset.units
        if not run.finished:
            self.show(run.done, lambda: jobset.elapsed_s, lambda now: line(run, self.doing, now))


def line(run: Run, doing: str, elapsed_s: float) -> str:
    """The progress of a run in one plain line."""
    if not run.done:
        return f"{doing}: nothing is done yet, {terminal.duration(elapsed_s)}"
    of = counted(run.units, "game or count", "games and counts")
    parts = [f"{doing}: {terminal.count(run.done)} of {of}"]
    if run.retried:
        parts.append(f"{run.retried} run again")
    return ", ".join([*parts, terminal.duration(elapsed_s)])
