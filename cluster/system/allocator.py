"""Memory allocation and garbage collection in a long-lived process with many threads."""

from __future__ import annotations

import contextlib
import ctypes
import gc
from collections.abc import Hashable

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
MAPPED_BYTES = 2**20
"""Allocations of at least this size, such as trees and snapshots, are mapped and unmapped when freed."""
ARENAS = 2
"""Number of glibc heaps, shared by all threads: a heap never shrinks, and there are dozens of threads."""


def give_memory_back() -> None:
    """Configure glibc to return freed memory to the system. Does nothing with other C libraries.

    By default glibc raises the threshold for mapping to the largest block ever freed, up to 32 MB, and
    allocates smaller blocks in a heap for each thread, where small blocks in use keep large free areas from
    being returned.
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
    """Excludes long-lived objects from garbage collection.

    Modules and loaded kernels are hundreds of thousands of objects. A full collection visits each of them and
    stops all threads for 0.1 to 0.5 s; without them it takes milliseconds.
    """

    MOST = 256
    """Limit of the number of kinds: each exclusion also excludes present garbage, which is never freed."""

    def __init__(self) -> None:
        gc.freeze()
        self._kinds: set[Hashable] = set()

    def loaded(self, kind: Hashable) -> None:
        """Note that something of a kind has been loaded; the first time, exclude all present objects."""
        if kind not in self._kinds and len(self._kinds) < self.MOST:
            self._kinds.add(kind)
            gc.freeze()
