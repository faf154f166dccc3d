"""The processes below this one: what has to end when Ray cannot be asked to end them itself."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

_PROC = Path("/proc")


def descendants(pid: int | None = None) -> set[int]:
    """Process ids of the children of a process (of this one), their children, and so on.

    Empty where there is no /proc.
    """
    children: dict[int, list[int]] = {}
    for entry in _PROC.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            # The name of the program stands in parentheses and may itself hold any character.
            fields = entry.read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found: set[int] = set()
    left = [os.getpid() if pid is None else pid]
    while left:
        new = [pid for pid in children.get(left.pop(), []) if pid not in found]
        found.update(new)
        left += new
    return found


def kill(pids: set[int]) -> None:
    """End these processes, whether they listen or not."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
