"""What figures were measured on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

GIB = 2**30


def describe() -> str:
    """Processor, cores, memory, and the versions that speed depends on, in one line."""
    cores = os.cpu_count() or 1
    parts = [f"{_processor()}, {cores} core{'s' if cores != 1 else ''}"]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    if memory:
        parts.append(f"{memory / GIB:.0f} GiB")
    versions = ", ".join(f"{name} {version(name)}" for name in ("ray", "numba", "numpy"))
    return f"{', '.join(parts)}; {platform.system()}, Python {platform.python_version()}, {versions}"


def _processor() -> str:
    """Its name, where the system tells."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine()
