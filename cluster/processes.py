"""Processes: those below this one, which may have to be ended from here, and how this one is ranked."""

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


def give_way() -> None:
    """Have the niceness of this process count against all others of the machine.

    Where Linux groups processes by session (sched_autogroup), niceness counts within a session only, and a
    session that computes all the time makes its own server wait for any other.
    """
    with contextlib.suppress(OSError):
        # A session of its own; Ray has made it the leader of a group, to whom that is not allowed.
        os.setpgid(0, os.getpgid(os.getppid()))
        os.setsid()
        (_PROC / "self/autogroup").write_text(str(os.nice(0)))
