"""A time limit for single calls of a user's Python code.

Python code is stopped between two byte code instructions. Compiled code and blocking system calls are not
interrupted: the limit takes effect once they return.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")
_current: ContextVar[TimeLimit | None] = ContextVar("time_limit", default=None)


class DidNotEnd(BaseException):
    """Raised within a call that takes too long. A BaseException, so that ``except Exception`` in the called
    code does not catch it."""

    seconds = 0.0
    """The limit that was exceeded."""


class TimeLimit:
    """Context manager within which every `call` in this thread may take ``seconds`` seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._since_s: float | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._caller = threading.get_ident()

    def __enter__(self) -> TimeLimit:
        self._token = _current.set(self)
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._watcher.join()
        _current.reset(self._token)

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call the function and return its answer; raises DidNotEnd if it takes too long."""
        try:
            self._since_s = time.monotonic()
            try:
                return function(*arguments)
            finally:
                with self._lock:
                    self._since_s = None
        except DidNotEnd as error:
            # The exception may arrive just as the function returns, before _since_s is reset.
            self._since_s = None
            error.seconds = self.seconds
            raise

    def _watch(self) -> None:
        # Repeated, because the called code may catch every exception.
        while not self._over.wait(min(0.1, self.seconds / 4)):
            with self._lock:
                if self._since_s is not None and time.monotonic() - self._since_s > self.seconds:
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(self._caller), ctypes.py_object(DidNotEnd)
                    )


def current() -> TimeLimit | None:
    """The limit that is active in this thread; None if there is none."""
    return _current.get()
