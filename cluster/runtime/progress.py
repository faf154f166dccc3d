"""Live display of the progress of units on standard error."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cluster.runtime.jobset import Jobset
from cluster.system.status_line import StatusLine
from cluster.system.terminal import duration

if TYPE_CHECKING:
    from rich.console import Console

LINE_S = 2.0
"""Where there is no terminal: least seconds between two lines."""


class UnitsProgress(StatusLine):
    """An observer of a jobset, to be used as a context manager around `drive`."""

    def __init__(self, console: Console, parts: Callable[[Any], list[str]], *, enabled: bool = True) -> None:
        """``parts``: what is done, in words, of units that have ``done`` and ``retried``."""
        super().__init__(console, "starting ...", LINE_S, enabled=enabled)
        self._parts = parts

    def __call__(self, jobset: Jobset[Any]) -> None:
        """Show the progress if it is time to."""
        if not jobset.units.finished:
            self.show(jobset.units.done, lambda: jobset.elapsed_s, lambda now: self._text(jobset.units, now))

    def _text(self, units: Any, elapsed_s: float) -> str:
        again = [f"{units.retried} run again"] if units.retried else []
        return ", ".join([*self._parts(units), *again, duration(elapsed_s)])
