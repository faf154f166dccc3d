"""Descriptions of the machine on which figures were measured."""

from __future__ import annotations

import datetime
import os
import platform
from importlib.metadata import version
from pathlib import Path

GIB = 2**30


def machine() -> str:
    """Processor, cores and memory, in one line."""
    cores = os.cpu_count() or 1
    parts = [f"{_processor()}, {cores} core{'s' if cores != 1 else ''}"]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    if memory:
        parts.append(f"{memory / GIB:.0f} GiB")
    return ", ".join(parts)


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
