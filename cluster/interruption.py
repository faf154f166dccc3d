"""Ctrl-C and SIGTERM: the first asks a search to end with what it has, the second leaves at once."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn, Protocol

from cluster.processes import descendants, kill

INTERRUPTED = 130
"""The exit status, by custom 128 + SIGINT; also after SIGTERM, since the answer is the same."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = b"\x1b[?25h\n"


class Cancellable(Protocol):
    def cancel(self) -> None: ...


class Interruption:
    """Watches for the two signals while a search is made ready, runs, and is put away."""

    def __init__(self) -> None:
        self.signalled = False
        self._search: Cancellable | None = None
        self._before = {number: signal.getsignal(number) for number in _SIGNALS}

    def install(self) -> None:
        """Take the signals over; once more after Ray has started, which takes SIGTERM for itself."""
        for number in _SIGNALS:
            signal.signal(number, self._handle)

    def watch(self, search: Cancellable) -> None:
        """From now on the first signal cancels this search; before, it raised KeyboardInterrupt."""
        self._search = search
        if self.signalled:
            # The exception was lost on its way, in a callback that may not raise.
            raise KeyboardInterrupt

    def uninstall(self) -> None:
        """Leave the signals to whoever had them before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.signalled:
            self.leave()
        self.signalled = True
        if self._search is None:
            raise KeyboardInterrupt
        self._search.cancel()

    @staticmethod
    def leave() -> NoReturn:
        """End this process and all below it now, with nothing put away."""
        # Most of Ray's processes die with this one, but not its agents: they watch a pipe that they
        # hold open for each other.
        kill(descendants())
        if sys.stderr.isatty():
            os.write(sys.stderr.fileno(), _SHOW_CURSOR)
        os._exit(INTERRUPTED)
