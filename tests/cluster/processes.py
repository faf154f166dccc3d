"""Processes as /proc shows them."""

from __future__ import annotations

import contextlib
from pathlib import Path

from cluster.system.processes import descendants


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
