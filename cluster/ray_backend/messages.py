"""What the host process (host.py) and the process that started it send each other."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MARK = "BANYAN_RAY_PROCESS"
"""The environment variable that marks all processes of an embedded Ray."""


class RayEnded(ConnectionError):
    """The host process has ended, and with it all its actors."""


class WorkerLost(Exception):
    """A call has no answer: its worker has died or cannot be reached."""


class TokenRefused(Exception):
    """The cluster requires a token, or a different one."""


class Remote(Exception):
    """An exception in a worker whose type is not known in this process."""


@dataclass(frozen=True)
class Part:
    """A reference, in a message to the host process, to an argument that was put before."""

    key: int
    by_value: bool
    """Whether its bytes are sent with the call instead of through the object store."""


class Handle:
    """A reference to bytes that were put before, used as an argument; they are dropped with it."""

    def __init__(self, key: int, dropped: deque[int]) -> None:
        self.key = key
        self._dropped = dropped

    def __del__(self) -> None:
        # May run at any time in any thread, so the host process is told with the next message.
        self._dropped.append(self.key)


def pack_answer(work: Callable[[], Any]) -> bytes:
    """What ``work`` returns or raises, as bytes for `answer_of`."""
    try:
        return pickle.dumps((True, work()), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        try:
            known = pickle.dumps(error)
            pickle.loads(known)
        except Exception:
            known = pickle.dumps(None)
        return pickle.dumps((False, (text, known)))


def answer_of(data: bytes) -> Any:
    """The value that a method of an actor returned; raises its exception, or `Remote` for an unknown type."""
    fine, value = pickle.loads(data)
    if fine:
        return value
    text, known = value
    error = pickle.loads(known)
    raise error if isinstance(error, Exception) else Remote(text)
