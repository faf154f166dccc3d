"""The machine on which figures were measured, and whether its other programs spoil them."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from cluster.system.processes import num_cores

GIB = 2**30
OTHERS_AT_MOST = 0.05
"""Largest accepted share of other programs in the time of all cores; kernel threads take below 0.01."""
OF_CEILING_AT_MOST = 1.05
"""Largest plausible share of the ceiling; a larger one means that the conditions have changed."""


def machine() -> str:
    """Processor, cores and memory, in one line."""
    cores = num_cores()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{_processor()}, {cores} core{'s' if cores != 1 else ''}, {memory / GIB:.0f} GiB"


def provenance() -> str:
    """Machine, date of today and version of banyan, in one line."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return f"{machine()}; {today}; banyan {version('banyan-mcts')}"


def _processor() -> str:
    """The processor's name, or a general one if the system does not tell it."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine()


def warn_of_others(shares: Sequence[float | None], what: str) -> str | None:
    """A warning line if other programs used too much of the cores; None if not, or if unknown.

    ``shares``: their shares of the time of all cores, one for each of ``what`` (a plural noun).
    """
    most = max((share for share in shares if share is not None), default=0.0)
    if most <= OTHERS_AT_MOST:
        return None
    return f"other programs used {most:.0%} of the cores during these {what}: figures are not to be trusted"


def warn_of_ceiling(shares: Sequence[float | None]) -> str | None:
    """A warning line if a share of the ceiling is higher than possible; None if not, or if unknown."""
    most = max((share for share in shares if share is not None), default=0.0)
    if most <= OF_CEILING_AT_MOST:
        return None
    return (
        f"{most:.0%} of the ceiling is more than is possible (the machine was slower while the ceiling was "
        "measured, twice, or workers ran elsewhere): its rates and shares are not to be trusted"
    )
