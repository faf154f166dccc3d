"""Broadcast: values that are sent once for many tasks (contexts, and parts that the jobs of a round share).

A common value is published once, and each worker process gets it with the first call that needs it. Jobs are
pickled without it: a reference stands in its place.

"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from cluster.runtime.tasks import Common, Task

MAX_PUBLISHED, MAX_PUBLISHED_BYTES = 64, 64 * 2**20
"""Limits of published values, in number and bytes: enough for the last few snapshots of several searches."""


class Published:
    """A cache of references to the values that were used most recently."""

    def __init__(self, put: Callable[[Any], Any]) -> None:
        """``put`` publishes a value and returns a reference to it."""
        self._put = put
        self._kept: dict[Hashable, tuple[Any, int]] = {}
        """Reference and size in bytes by key, in order of use (most recent last)."""

    def reference(self, key: Hashable, value: Any, nbytes: int = 0) -> Any:
        """The reference to the value with this key; publishes the value if it is not in the cache."""
        # Older snapshots are needed only by jobs that were lost; they are published again then.
        kept = self._kept.pop(key, None) or (self._put(value), nbytes)
        self._kept[key] = kept
        while len(self._kept) > 1 and (
            len(self._kept) > MAX_PUBLISHED
            or sum(size for _, size in self._kept.values()) > MAX_PUBLISHED_BYTES
        ):
            del self._kept[next(iter(self._kept))]
        return kept[0]

    def forget(self, key: Hashable) -> None:
        """Remove the value with this key."""
        self._kept.pop(key, None)

    def clear(self) -> None:
        """Remove all values."""
        self._kept.clear()


@dataclass(frozen=True)
class Call:
    """What a call to a worker process contains besides its jobs."""

    brings: tuple[int, ...] = ()
    """Keys of the contexts that are sent with the call; they are the first of its values."""
    brings_common: bool = False
    """Whether the common part of the jobs is sent too; it is the last of the call's values."""
    live: tuple[int, ...] = ()
    """Keys of all contexts in use; the process forgets all others."""
    states: tuple[tuple[int, int, Any], ...] = ()
    """States of lanes that move to the process: tuples (context, lane, state)."""


def pack_call(call: Call, tasks: list[Task]) -> bytes:
    """A call and its jobs as bytes, without the common part, which must be one object for all tasks."""
    buffer = BytesIO()
    pickle.dump(call, buffer, pickle.HIGHEST_PROTOCOL)
    jobs = [(task.context, task.index, task.job) for task in tasks]
    common = tasks[0].common if tasks else None
    if common is None:
        pickle.dump(jobs, buffer, pickle.HIGHEST_PROTOCOL)
    else:
        _LeavingOut(buffer, common).dump(jobs)
    return buffer.getvalue()


def unpack_call(
    packed: bytes, common_value: Callable[[Call], Any]
) -> tuple[Call, list[tuple[int, int, Any]]]:
    """The call, and a tuple (context, index, job) per task. ``common_value`` returns the jobs' common
    part."""
    buffer = BytesIO(packed)
    call = pickle.load(buffer)
    return call, _PuttingBack(buffer, common_value(call)).load()


class _LeavingOut(pickle.Pickler):
    """Pickles a reference in place of the common value."""

    def __init__(self, buffer: BytesIO, common: Common) -> None:
        super().__init__(buffer, pickle.HIGHEST_PROTOCOL)
        self._value = common.value

    def persistent_id(self, obj: Any) -> Any:
        return True if obj is self._value else None


class _PuttingBack(pickle.Unpickler):
    """Replaces references by the common value."""

    def __init__(self, buffer: BytesIO, value: Any) -> None:
        super().__init__(buffer)
        self._value = value

    def persistent_load(self, pid: Any) -> Any:
        return self._value
