"""How a run of experiments goes, on standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cluster import terminal
from cluster.experiments.run import Moment, Run
from cluster.status_line import StatusLine

if TYPE_CHECKING:
    from rich.console import Console

LINE_S = 5.0


class ExperimentProgress(StatusLine):
    """The observer to pass to `drive`, to be used as a context manager around it."""

    def __init__(self, console: Console, *, enabled: bool = True) -> None:
        super().__init__(console, "starting ...", LINE_S, enabled=enabled)
        self.doing = ""
        """The first table that is not done."""

    def __call__(self, moment: Moment) -> None:
        """Show it if it is time to."""
        run = moment.run
        if not run.finished:
            self.show(run.done, lambda: moment.elapsed_s, lambda now: line(run, self.doing, now))


def line(run: Run, doing: str, elapsed_s: float) -> str:
    """How it goes, as one plain line."""
    if not run.done:
        waiting = "nothing is done yet (kernels are compiled once on a machine)"
        return f"{doing}: {waiting}, {terminal.duration(elapsed_s)}"
    parts = [f"{doing}: {terminal.count(run.done)} of {terminal.count(len(run.units))} games and counts"]
    if run.retried:
        parts.append(f"{run.retried} run again")
    return ", ".join([*parts, terminal.duration(elapsed_s)])
