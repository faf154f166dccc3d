"""What this process compiles: said on standard error if it takes longer than a second.

Numba announces each compilation, and none of what it loads from the cache.

Processes that a command starts leave their messages as notes in the folder that NOTES names: each process has
one, the latest. The command shows them in its progress.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from numba.core import event

NOTES = "BANYAN_NOTES"
"""The environment variable with the folder of the notes."""
SAID_AFTER_S, SAID_AGAIN_S, QUIET_S, TICK_S = 1.0, 5.0, 1.0, 0.25
LONGER_S = 5.0
USUALLY = "usually 5 to 20 s of a core, once on this machine"
_OF_GAME = re.compile(r".*\.(?:inner_)?(\w+)_[0-9a-f]{16}")
_local = threading.local()


def compile_for(purpose: str) -> None:
    """State what this thread compiles from now on, such as ``gomoku, strategy tree``."""
    _local.purpose = purpose


@contextmanager
def keeping_notes(enabled: bool) -> Iterator[None]:
    """Collect notes of the processes started meanwhile; without ``enabled``, print no messages."""
    with TemporaryDirectory(prefix="banyan-notes-", ignore_cleanup_errors=True) as folder:
        before, WATCH.prints = WATCH.prints, enabled
        os.environ[NOTES] = folder
        try:
            yield
        finally:
            WATCH.prints = before
            os.environ.pop(NOTES, None)


@contextmanager
def said_if_longer(text: str) -> Iterator[None]:
    """Say what this process does if the block takes longer than LONGER_S."""
    timer = threading.Timer(LONGER_S, lambda: WATCH.prints and WATCH.say(text))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def note(text: str) -> None:
    """Leave a note for the command that started this process; an empty text removes it."""
    if folder := os.environ.get(NOTES):
        path = Path(folder, str(os.getpid()))
        with suppress(OSError):
            if text:
                path.with_suffix(".new").write_text(text, encoding="utf-8")
                path.with_suffix(".new").replace(path)
            else:
                path.unlink(missing_ok=True)


def notes() -> list[str]:
    """The notes of the processes of this command."""
    with suppress(OSError, KeyError):
        return [path.read_text("utf-8") for path in sorted(Path(os.environ[NOTES]).glob("*[0-9]"))]
    return []


class Watch(event.Listener):  # type: ignore[misc]
    """Listens to Numba, which holds a lock while it compiles; a thread of its own gives the messages
    meanwhile."""

    def __init__(self) -> None:
        self.prints = NOTES not in os.environ
        """Whether messages are printed; a process that a command started leaves notes."""
        self.say: Callable[[str], object] = lambda text: print(f"banyan: {text}", file=sys.stderr, flush=True)
        """Prints a message; a server logs it instead."""
        self._seconds: dict[str, float] = {}
        """By purpose, of this process."""
        self._purpose, self._depth, self._began, self._ended = "", 0, 0.0, 0.0
        self._changed = threading.Lock()
        self._speaks = False
        self._is_of_command = NOTES in os.environ

    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        found = _OF_GAME.fullmatch(event.data["dispatcher"].py_func.__qualname__)
        other = f"the rules of {found[1]}" if found else "a part of what all games share"
        with self._changed:
            self._purpose, self._began = getattr(_local, "purpose", other), time.monotonic()
            if not self._speaks:
                self._speaks = True
                threading.Thread(target=self._speak, name="banyan compiling", daemon=True).start()

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            with self._changed:
                self._ended = time.monotonic()
                spent = self._ended - self._began
                self._seconds[self._purpose] = self._seconds.get(self._purpose, 0.0) + spent

    def _speak(self) -> None:
        due: dict[str, float] = {}
        while True:
            time.sleep(TICK_S)
            with self._changed:
                purpose, now, compiles = self._purpose, time.monotonic(), self._depth > 0
                spent = self._seconds.get(purpose, 0.0) + (now - self._began) * compiles
                if not compiles and now - self._ended > QUIET_S:
                    self._speaks = False
                    break
            if compiles and spent >= due.get(purpose, SAID_AFTER_S):
                due[purpose] = max(SAID_AGAIN_S, 2 * spent)
                text = f"compiling {purpose}: {spent:.0f} s so far ({USUALLY})"
                if self.prints:
                    with suppress(OSError, ValueError):
                        self.say(text)
                elif self._is_of_command:
                    note(text)
        if self._is_of_command:
            note("")


WATCH = Watch()
event.register("numba:compile", WATCH)
