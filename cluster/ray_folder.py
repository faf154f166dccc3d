"""The folder of an embedded Ray, some hundred kilobytes of logs: it goes with the search. Of a process that
was killed it is left; the next one that starts a Ray removes it.

Only folders with a note of ours in them are touched: a Ray that somebody else started may outlive whoever
did.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

NOTE = "banyan-owner"
"""In the folder: who began it."""
_SELF = Path("/proc/self")


def own(folder: Path) -> None:
    """Note that it is this process's."""
    with contextlib.suppress(OSError):
        (folder / NOTE).write_text(_who(os.getpid()))


def remove(folder: Path | None) -> None:
    """When its Ray has ended; None is none."""
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def remove_left(parent: Path) -> None:
    """Remove the folders in ``parent`` whose processes are gone."""
    for note in parent.glob(f"session_*/{NOTE}"):
        with contextlib.suppress(OSError, ValueError):
            pid, _, place = note.read_text().split()
            # Of others processes may not be seen; other containers may have other numbers for theirs.
            ours = note.stat().st_uid == os.getuid() and place == _place()
            if ours and note.read_text() != _who(int(pid)):
                remove(note.parent)


def _who(pid: int) -> str:
    """A process, told apart from all others; nothing for one that is gone. OSError: it cannot be seen."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return f"{pid} {fields[19]} {_place()}"


def _place() -> str:
    """Where process numbers mean the same."""
    try:
        return os.readlink(_SELF / "ns/pid") + Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
