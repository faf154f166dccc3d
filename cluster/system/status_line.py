"""Progress of work on standard error: one live line on a terminal, otherwise an occasional plain line."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from games.compile.watch import notes

REDRAW_S = 0.25
DRAWING_SHARE = 0.03
"""Largest share of the time that drawing the live line may take."""
LINE_SHARE = 0.05
"""Interval of plain lines as a share of the elapsed time, so that long work does not fill a log."""


class StatusLine:
    """Context manager around the work, which calls `show` as often as it likes."""

    def __init__(self, console: Console, waiting: str, line_s: float, *, enabled: bool = True) -> None:
        """``waiting``: the text before the first `show`. ``line_s``: least seconds between plain lines."""
        self._console = console
        self._waiting = waiting
        self._line_s = line_s
        self._enabled = enabled
        self._live = enabled and console.is_terminal and not console.is_dumb_terminal
        self._status: Status | None = None
        self._due_s = 0.0 if self._live else line_s
        self._shown: tuple[int, list[str]] = -1, []

    def __enter__(self) -> Self:
        if self._live:
            self._status = self._console.status(self._waiting)
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def show(self, done: int, elapsed_s: Callable[[], float], text: Callable[[float], str]) -> None:
        """Show ``text(elapsed seconds)`` and a note of a worker if it is due.

        A plain line is printed only if ``done`` or the notes have changed.
        """
        now = elapsed_s()
        if not self._enabled or now < self._due_s:
            return
        found = notes()
        said = "; ".join([text(now), *found[:1]])
        if self._status is not None:
            self._status.update(escape(said))
            self._due_s = now + max(REDRAW_S, (elapsed_s() - now) / DRAWING_SHARE)
        elif (done, found) != self._shown:
            self._shown = done, found
            print(f"banyan: {said}", file=self._console.file, flush=True)
            self._due_s = now + max(self._line_s, LINE_SHARE * now)
