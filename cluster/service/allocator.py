"""How memory is handed out and collected in a server, which lives long and has many threads."""

from __future__ import annotations

import contextlib
import ctypes
import gc
from collections.abc import Hashable

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
MAPPED_BYTES = 2**20
"""What is at least so large, as trees and their snapshots are, is mapped, and given back when it is freed."""
ARENAS = 2
"""Heaps that all threads share: each keeps what it had once, and there are dozens of threads."""


def give_memory_back() -> None:
    """Have freed memory leave the process; glibc alone, elsewhere this does nothing.

    Left to itself glibc raises the threshold to the largest block that was ever freed, up to 32 MB, and
    puts all below it into a heap for each thread, where small blocks pin large holes.
    """
    with contextlib.suppress(AttributeError, OSError):
        mallopt = ctypes.CDLL(None).mallopt
        for option, value in (
            (_M_MMAP_THRESHOLD, MAPPED_BYTES),
            (_M_TRIM_THRESHOLD, MAPPED_BYTES),
            (_M_ARENA_MAX, ARENAS),
        ):
            mallopt(option, value)


class LongLived:
    """Hides from the garbage collector what stays to the end, which is most of what there is.

    Modules and loaded kernels are hundreds of thousands of objects. A full collection looks at each, in 0.1
    to 0.5 s in which no thread of the server runs; without them it takes milliseconds.
    """

    MOST = 256
    """Kinds that are told apart: what is garbage at the time is hidden, too, and never freed."""

    def __init__(self) -> None:
        gc.freeze()
        self._kinds: set[Hashable] = set()

    def loaded(self, kind: Hashable) -> None:
        """Something of this kind has just been made ready; the first time, it has brought what stays."""
        if kind not in self._kinds and len(self._kinds) < self.MOST:
            self._kinds.add(kind)
            gc.freeze()
