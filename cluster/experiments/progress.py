"""How a run of experiments goes, on standard error: a live line, or where there is no terminal now and then
a plain one."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from cluster import terminal
from cluster.experiments.run import Moment, Run

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

REDRAW_S = 0.25
LINE_S = 5.0
LINE_SHARE = 0.05
"""Lines become rarer as a run grows longer: hours are not to fill a log."""


class ExperimentProgress:
    """The observer to pass to `drive`, to be used as a context manager around it."""

    def __init__(self, console: Console, *, enabled: bool = True) -> None:
        self._console = console
        self._enabled = enabled
        self._live = enabled and console.is_terminal and not console.is_dumb_terminal
        self._status: Status | None = None
        self._due_s = 0.0 if self._live else LINE_S
        self._shown = -1
        self.doing = ""
        """The first table that is not done."""

    def __enter__(self) -> ExperimentProgress:
        if self._live:
            self._status = self._console.status("starting ...")
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def __call__(self, moment: Moment) -> None:
        """Show it if it is time to."""
        now = moment.elapsed_s
        if not self._enabled or now < self._due_s or moment.run.finished:
            return
        text = line(moment.run, self.doing, now)
        if self._status is not None:
            self._status.update(text)
            self._due_s = now + REDRAW_S
        elif moment.run.done != self._shown:
            self._shown = moment.run.done
            print(f"banyan: {text}", file=self._console.file, flush=True)
            self._due_s = now + max(LINE_S, LINE_SHARE * now)


def line(run: Run, doing: str, elapsed_s: float) -> str:
    """How it goes, as one plain line."""
    if not run.done:
        waiting = "nothing is done yet (kernels are compiled once on a machine)"
        return f"{doing}: {waiting}, {terminal.duration(elapsed_s)}"
    parts = [f"{doing}: {terminal.count(run.done)} of {terminal.count(len(run.units))} games and counts"]
    if run.retried:
        parts.append(f"{run.retried} run again")
    return ", ".join([*parts, terminal.duration(elapsed_s)])
