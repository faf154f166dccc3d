"""Processes as /proc shows them, and waiting until something has come true."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

from cluster.system.processes import descendants

PATIENCE_S = 60.0
"""For what takes a moment on a machine that does nothing else."""


def comes_true(condition: Callable[[], object], within_s: float = PATIENCE_S, every_s: float = 0.05) -> bool:
    """Wait for a condition; False if it does not hold in time."""
    limit_s = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > limit_s:
            return False
        time.sleep(every_s)
    return True


def eventually(
    condition: Callable[[], object], what: object = "it does not come true", within_s: float = PATIENCE_S
) -> None:
    """Wait until it holds; fails with ``what`` if it does not."""
    assert comes_true(condition, within_s), what


def command_of(pid: int) -> bytes:
    """The command line of a process, its words separated by zero bytes; empty if it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def named(name: str, below: int | None = None) -> list[int]:
    """The processes below this one (or that one) that have this in their command."""
    return [pid for pid in sorted(descendants(below)) if name.encode() in command_of(pid)]


def state_of(pid: int) -> str:
    """R, S, T (stopped) and so on; empty if it has ended, also where the kernel still lists it."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0].replace("Z", "")
    return ""
