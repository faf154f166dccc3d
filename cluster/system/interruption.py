"""Ctrl-C, SIGTERM, SIGHUP: the first asks a search to end with its result so far, the second exits at once.

Python runs signal handlers between two byte code instructions of the main thread. Compiled code that does not
return, such as an endless rule of a user's game, would delay them forever. So a thread receives the signals
too, and ends the process if nothing else does in time.
"""

from __future__ import annotations

import _thread
import os
import select
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NoReturn, Protocol, TypeVar

from cluster.system.processes import descendants, kill
from cluster.system.terminal import results

FAILED, INTERRUPTED = 1, 130
"""Exit status after an error, and after an interruption: by convention 128 + SIGINT. Also used after SIGTERM
and SIGHUP."""
PATIENCE_S = 1.5
"""Seconds that a search may take to notice a signal, and that executors may take to close."""
LOOK_EVERY_S = 0.1
_AGAIN = signal.SIGURG
"""Sent by the guard to the main thread, to raise what was postponed; by default this signal is ignored."""
_SHOW_CURSOR = b"\x1b[?25h\n"
T = TypeVar("T")
_unit_runs = False
"""Whether the main thread runs a unit of work that may be given up."""


class _GivenUp(KeyboardInterrupt):
    """Raised in a unit by the signal handler; foreign code seldom catches it."""


class Abandoned(RuntimeError):
    """A unit of work ended by a signal, without a result."""


def until_signal(unit: Callable[..., T], *arguments: object) -> T:
    """Run a unit of work and return its result; a signal that cancels the watched work breaks the unit off.

    Raises Abandoned if that happens, which it does in the main thread only. The unit must not change anything
    that is used after it.
    """
    global _unit_runs
    try:
        try:
            _unit_runs = threading.current_thread() is threading.main_thread()
            return unit(*arguments)
        finally:
            _unit_runs = False
    except _GivenUp:
        raise Abandoned from None


def ending_signals() -> list[signal.Signals]:
    """The signals that end a command: SIGINT, SIGTERM, and that of a closed terminal, SIGHUP.

    A SIGHUP that is ignored, as `nohup` does it, stays ignored.
    """
    closed = [] if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else [signal.SIGHUP]
    return [signal.SIGINT, signal.SIGTERM, *closed]


class Cancellable(Protocol):
    def cancel(self) -> None: ...

    @property
    def cancel_noted(self) -> bool:
        """Whether the work ends by itself after `cancel`: then the process must not be ended before that."""


class Interruption:
    """Handles these signals while a search is prepared, runs, and releases its resources.

    Create, install and uninstall it in the main thread. A later instance replaces an earlier one until it is
    uninstalled.
    """

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self.signalled = False
        self._closing = False
        self._postponed = False
        self._search: Cancellable | None = None
        self._signals = ending_signals()
        self._before = {number: signal.getsignal(number) for number in (*self._signals, _AGAIN)}
        self._patience_s = patience_s
        self._guarded = False

    def install(self) -> None:
        """Install the signal handlers. Call it again after Ray has started, which replaces SIGTERM's."""
        for number in self._signals:
            signal.signal(number, self._handle)
        signal.signal(_AGAIN, self._raise)
        if not self._guarded:
            self._guard()

    def watch(self, search: Cancellable) -> None:
        """Let the first signal cancel ``search``; before this call it raises KeyboardInterrupt."""
        self._search = search
        if self.signalled:
            # The exception was discarded where it was raised.
            raise KeyboardInterrupt

    def begin_closing(self) -> None:
        """Note that all results have been shown and only executors are being closed."""
        with suppress(OSError):
            results().flush()
        self._closing = True

    def uninstall(self) -> None:
        """Restore the earlier signal handlers."""
        if self._guarded:
            self._guarded = False
            signal.set_wakeup_fd(self._before_fd, warn_on_full_buffer=False)
            os.close(self._quit)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def unheard(self) -> bool:
        """Whether a signal came before there was a search that it could cancel.

        The exception that it raised may have been discarded by a callback of the compiler, which fails later
        for want of what it was about to make: such an error is the interruption.
        """
        return self.signalled and self._search is None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.signalled:
            self.leave()
        self.signalled = True
        if self._search is not None:
            self._search.cancel()
        self._raise(number, frame)

    def _raise(self, _number: int, frame: FrameType | None) -> None:
        self._postponed = _discards(frame)
        if self._postponed:
            return
        if self._search is None:
            raise KeyboardInterrupt
        if _unit_runs:
            raise _GivenUp

    @staticmethod
    def leave() -> NoReturn:
        """End this process and its descendants at once; only the folder of their notes is removed."""
        # Most of Ray's processes end with this one, but not its agents: each waits for the end of a pipe that
        # the others keep open.
        kill(descendants())
        # Its name is in games.compile.watch, which takes a second to import.
        if folder := os.environ.get("BANYAN_NOTES"):
            shutil.rmtree(folder, ignore_errors=True)
        if sys.stderr.isatty():
            os.write(sys.stderr.fileno(), _SHOW_CURSOR)
        os._exit(INTERRUPTED)

    def _guard(self) -> None:
        """Start the thread that ends the process when a signal arrives and the main thread does not react.

        The C signal handler, which runs at once in any state of Python, writes the signal's number into a
        pipe that the thread reads.
        """
        self._guarded = True
        signals, write_end = os.pipe()
        os.set_blocking(write_end, False)
        self._before_fd = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        # Closing this pipe ends the thread.
        quit_end, self._quit = os.pipe()
        threading.Thread(target=self._listen, args=(signals, quit_end, write_end), daemon=True).start()

    def _listen(self, signals: int, quit_end: int, write_end: int) -> None:
        poll = select.poll()
        for end in (signals, quit_end):
            poll.register(end, select.POLLIN)
        heard, until_s = 0, 0.0
        while quit_end not in (ready := dict(poll.poll(1000 * LOOK_EVERY_S if heard else None))):
            number = os.read(signals, 1)[0] if signals in ready else 0
            # Another handler may have been installed meanwhile.
            if number in self._signals and signal.getsignal(number) == self._handle:
                heard += 1
                until_s = time.monotonic() + self._patience_s
            elif self._postponed:
                _thread.interrupt_main(_AGAIN)
            elif heard and time.monotonic() > until_s:
                self._look(heard)
        for end in (signals, write_end, quit_end):
            os.close(end)

    def _look(self, heard: int) -> None:
        """End the process after the patience has run out, unless the search is ending by itself."""
        noted = self.signalled and self._search is not None and self._search.cancel_noted
        # A second signal exits at once, if Python can handle it.
        if heard > 1 or not noted:
            self._end("ended without a result")
        if self._closing:
            self._end("ended what still ran")

    def _end(self, how: str) -> NoReturn:
        # Not through sys.stderr, whose lock the main thread may hold.
        line = f"banyan: interrupted; after {self._patience_s:g} s {how}\n"
        os.write(2, line.encode())
        self.leave()


def _discards(frame: FrameType | None) -> bool:
    """Whether an exception would be discarded: by a finalizer, or by a callback of the compiler (a crash)."""
    while frame is not None:
        if frame.f_code.co_name.startswith(("_raw_object_cache", "__del__")):
            return True
        frame = frame.f_back
    return False
