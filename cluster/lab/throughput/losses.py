"""How the time of all cores was used during a search on this machine; read from /proc, so on Linux only.

Time that is idle or not used by workers is lost. How fast the workers compute is not visible here; the
ceiling shows it. Rates of a search do not depend on these figures.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from pathlib import Path

from cluster.system.processes import descendants

PARTS = ("workers", "coordinator", "raylet", "GCS", "Ray's agents", "everything else", "idle")
WORKERS, COORDINATOR, RAYLET, GCS, AGENTS, OTHERS, IDLE = PARTS
"""The parts that time is divided into. OTHERS: kernel threads and all programs not listed."""
_PROC = Path("/proc")
_IDLE_COLUMNS = (3, 4)
"""Columns of /proc/stat that count as idle: idle, and waiting for a disk."""


class Losses:
    """Measures the use of the cores from its creation on."""

    def __init__(self, threads: Collection[int] = ()) -> None:
        """``threads``: ids, in the operating system, of the threads of this process that are workers."""
        self._threads = threads
        self._ticks = self._last = _ticks(threads)
        self._machine = _machine()
        self._ended: list[tuple[str, int]] = []
        """Workers that have ended, each with its ticks when it was seen last."""

    def look(self) -> None:
        """Look at all processes. Ray's raylet forgets what its workers took when they end, so that what a
        worker took after the last look counts as that of other programs."""
        now = _ticks(self._threads)
        gone = (row for pid, row in self._last.items() if pid not in now)
        self._ended += (row for row in gone if row[0] == WORKERS)
        self._last = now

    def shares(self) -> dict[str, float]:
        """The share of each of PARTS in the time of all cores so far; empty without /proc."""
        total, idle = (now - then for now, then in zip(_machine(), self._machine, strict=True))
        if total <= 0:
            return {}
        self.look()
        spent = dict.fromkeys(PARTS, 0)
        for part, ticks in [*self._last.values(), *self._ended]:
            spent[part] += ticks
        # The ticks of a process that has ended are included in those of its parent, also the earlier ones.
        for part, ticks in self._ticks.values():
            spent[part] -= ticks
        spent[IDLE] = idle
        spent[OTHERS] = max(0, total - sum(spent.values()))
        # Ticks of a process that has gone may be missing.
        return {part: round(min(1.0, max(0, ticks) / total), 4) for part, ticks in spent.items()}

    def others(self) -> float | None:
        """The share of other programs in the time of all cores so far; None without /proc."""
        return self.shares().get(OTHERS)


def _machine() -> tuple[int, int]:
    """Clock ticks of all cores, and how many of them were idle."""
    try:
        times = [int(text) for text in (_PROC / "stat").read_text().partition("\n")[0].split()[1:9]]
    except (OSError, ValueError):
        return 0, 0
    return sum(times), sum(times[column] for column in _IDLE_COLUMNS)


def _ticks(threads: Collection[int]) -> dict[int, tuple[str, int]]:
    """The part and the clock ticks of this process, its descendants and these threads of it, by their ids.

    Ticks include those of descendants that have ended.
    """
    own = os.getpid()
    found: dict[int, tuple[str, int]] = {}
    for pid in descendants() | {own}:
        # A process that ends meanwhile is left out.
        with contextlib.suppress(OSError, ValueError):
            name, ticks = name_and_ticks(_PROC / str(pid))
            found[pid] = (COORDINATOR if pid == own else _part(name), ticks)
    for thread in threads:
        with contextlib.suppress(OSError, ValueError):
            # A thread's figure of descendants is that of its process.
            _, ticks = name_and_ticks(_PROC / str(own) / "task" / str(thread), descendants=False)
            found[thread] = (WORKERS, ticks)
            found[own] = (COORDINATOR, found[own][1] - ticks)
    return found


def name_and_ticks(folder: Path, *, descendants: bool = True) -> tuple[str, int]:
    """The name of a process or thread, and its clock ticks, with those of descendants that have ended."""
    before, _, after = (folder / "stat").read_text().rpartition(")")
    fields = after.split()
    return before.partition("(")[2], sum(map(int, fields[11 : 15 if descendants else 13]))


def _part(name: str) -> str:
    if name.startswith("ray::Banyan"):
        return WORKERS
    return {"raylet": RAYLET, "gcs_server": GCS, "banyan-ray": COORDINATOR}.get(name, AGENTS)
