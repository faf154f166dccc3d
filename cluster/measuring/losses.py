"""Where the time of all cores went while a search ran on this machine: read from /proc, so on Linux only.

What is not the workers' is lost, and so is what is idle; but for how fast the workers' CPU time is, which
the ceiling tells. Rates of a search never depend on what is read here.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from cluster.processes import descendants

WORKERS, COORDINATOR, RAYLET, GCS, AGENTS, OTHERS, IDLE = (
    "workers",
    "coordinator",
    "raylet",
    "GCS",
    "Ray's agents",
    "everything else",
    "idle",
)
PARTS = (WORKERS, COORDINATOR, RAYLET, GCS, AGENTS, OTHERS, IDLE)
"""Everything else is the rest of the machine: the kernel's own threads, and whoever else runs."""
_PROC = Path("/proc")
_IDLE_COLUMNS = (3, 4)
"""Of the machine's times in /proc/stat: idle, and waiting for a disk."""


class Losses:
    """Watches from when it is made."""

    def __init__(self) -> None:
        self._ticks = _ticks_by_process()
        self._machine = _machine()

    def shares(self) -> dict[str, float]:
        """The share of the time of all cores since then that each of PARTS took; empty without /proc."""
        total, idle = (now - then for now, then in zip(_machine(), self._machine, strict=True))
        if total <= 0:
            return {}
        spent = dict.fromkeys(PARTS, 0)
        for pid, (part, ticks) in _ticks_by_process().items():
            spent[part] += ticks - self._ticks.get(pid, (part, 0))[1]
        spent[IDLE] = idle
        spent[OTHERS] = max(0, total - sum(spent.values()))
        return {part: round(ticks / total, 4) for part, ticks in spent.items()}


def _machine() -> tuple[int, int]:
    """Clock ticks of all cores, and the idle ones among them."""
    try:
        times = [int(text) for text in (_PROC / "stat").read_text().partition("\n")[0].split()[1:9]]
    except (OSError, ValueError):
        return 0, 0
    return sum(times), sum(times[column] for column in _IDLE_COLUMNS)


def _ticks_by_process() -> dict[int, tuple[str, int]]:
    """For this process and all below it: which part it is, and its clock ticks."""
    own = os.getpid()
    found: dict[int, tuple[str, int]] = {}
    for pid in descendants() | {own}:
        # One that ends meanwhile is left out.
        with contextlib.suppress(OSError, ValueError):
            before, _, after = (_PROC / str(pid) / "stat").read_text().rpartition(")")
            fields = after.split()
            name = before.partition("(")[2]
            found[pid] = (COORDINATOR if pid == own else _part(name), int(fields[11]) + int(fields[12]))
    return found


def _part(name: str) -> str:
    if name.startswith("ray::_Actor"):
        return WORKERS
    return {"raylet": RAYLET, "gcs_server": GCS}.get(name, AGENTS)
