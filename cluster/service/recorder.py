"""Stores changes of searches in order, and announces each change once it is stored."""

from __future__ import annotations

import logging
import queue
import sqlite3
import threading
from collections.abc import Callable

AGAIN_S = 0.5
"""Seconds until a failed write is tried again."""
LOG = logging.getLogger("banyan.recorder")
Action = Callable[[], object]


class Recorder:
    """A thread that stores changes in the order in which they are submitted.

    A failed write is repeated until it succeeds; later changes wait meanwhile.
    """

    def __init__(self, again_s: float = AGAIN_S) -> None:
        self.trouble: str | None = None
        """Why the next change cannot be stored; None if no write has failed."""
        self._again_s = again_s
        self._entries: queue.SimpleQueue[tuple[Action, Action] | None] = queue.SimpleQueue()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="recorder", daemon=True)
        self._thread.start()

    def put(self, store: Action, tell: Action) -> None:
        """Call ``store`` until it raises no sqlite3.Error, then ``tell`` once, in the recorder's thread."""
        self._entries.put((store, tell))

    def close(self) -> None:
        """Try the remaining writes once more and end. Changes that cannot be stored are not announced."""
        self._ending.set()
        self._entries.put(None)
        self._thread.join()

    def _loop(self) -> None:
        while (entry := self._entries.get()) is not None:
            store, tell = entry
            try:
                if self._stored(store):
                    tell()
            except Exception:
                LOG.exception("a change of a search could not be stored or announced")

    def _stored(self, store: Action) -> bool:
        while True:
            try:
                store()
            except sqlite3.Error as error:
                if self.trouble is None:
                    LOG.error("nothing can be stored (%s); trying again every %g s", error, self._again_s)
                self.trouble = str(error)
                if self._ending.wait(self._again_s):
                    return False
                continue
            if self.trouble is not None:
                LOG.warning("records can be stored again")
                self.trouble = None
            return True
