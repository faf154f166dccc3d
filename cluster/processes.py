"""Processes: those below this one, which may have to be ended from here, and how this one is ranked."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from pathlib import Path

RANK_S = 60.0
"""How long a process tries to be ranked, beside what it does: many may have been started at once."""
_PROC = Path("/proc")
_AUTOGROUP = _PROC / "self/autogroup"


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
    session that computes all the time makes its own server wait for any other. Elsewhere it does nothing.
    """
    if not _AUTOGROUP.exists():
        return
    with contextlib.suppress(OSError):
        if os.getpgrp() == os.getpid() != os.getsid(0):
            # Ray has made it the leader of a group, to whom a session of its own is not allowed.
            os.setpgid(0, os.getpgid(os.getppid()))
        if os.getsid(0) != os.getpid():
            os.setsid()
    # Not for whoever shares its session.
    if os.getsid(0) == os.getpid():
        threading.Thread(target=_rank_session, args=(os.nice(0),), daemon=True).start()


def _rank_session(niceness: int) -> None:
    """Of all processes that are not root's, Linux takes one such change in a tenth of a second."""
    until_s = time.monotonic() + RANK_S
    while time.monotonic() < until_s:
        try:
            _AUTOGROUP.write_text(str(niceness))
        except BlockingIOError:
            time.sleep(random.uniform(0.05, 0.2))
        except OSError:
            return
        else:
            return
