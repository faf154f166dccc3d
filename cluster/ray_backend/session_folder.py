"""The session folder of an embedded Ray (some 100 KB of logs): where it is made, and its removal.

The folder of a killed process remains, until the next process that starts a Ray removes it. Only folders that
contain our note are removed: other Rays may still be running.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

NOTE = "banyan-owner"
"""Name of the note in the folder: it identifies the process that started Ray."""
MOST_BYTES = 30
"""Longest path of the folder that contains Ray's. Sockets, whose paths have 71 more, may have 107."""
_SELF = Path("/proc/self")


def base() -> Path:
    """The folder in which Ray makes its own: RAY_TMPDIR or TMPDIR, if paths below it suit sockets, or /tmp.

    Raises ConnectionError if none of them can be used.
    """
    named = [os.environ.get("RAY_TMPDIR"), os.environ.get("TMPDIR")]
    for folder in (*named, "/tmp", "/var/tmp"):
        if folder and re.fullmatch(rf"/[!-~]{{0,{MOST_BYTES - 1}}}", folder):
            with contextlib.suppress(OSError):
                os.makedirs(folder, exist_ok=True)
                tempfile.TemporaryFile(dir=folder).close()
                return Path(folder)
    accepted = f"a folder to write to, with a path of at most {MOST_BYTES} ASCII characters (RAY_TMPDIR=/tmp)"
    raise ConnectionError(f"Ray needs {accepted}")


def own(folder: Path) -> None:
    """Write the note of this process into the folder."""
    with contextlib.suppress(OSError):
        (folder / NOTE).write_text(_who(os.getpid()))


def remove(folder: Path | None) -> None:
    """Remove the folder after its Ray has ended; None: nothing to do."""
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def remove_of(pid: int, base: Path) -> None:
    """Remove the folder, below ``base``, of a Ray whose starting process ``pid`` has ended."""
    for folder in (base / "ray").glob(f"session_*_{pid}"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == os.getuid():
                remove(folder)


def remove_left(parent: Path) -> None:
    """Remove the folders in ``parent`` whose processes have ended."""
    for note in parent.glob(f"session_*/{NOTE}"):
        with contextlib.suppress(OSError, ValueError):
            pid, _, place = note.read_text().split()
            # Processes of other users may be invisible, and process ids differ between containers.
            ours = note.stat().st_uid == os.getuid() and place == _place()
            if ours and note.read_text() != _who(int(pid)):
                remove(note.parent)


def _who(pid: int) -> str:
    """An identification of a process, unique over time; empty if it has ended. OSError: it is invisible."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return f"{pid} {fields[19]} {_place()}"


def _place() -> str:
    """Identifies the machine and container in which process ids are valid."""
    try:
        return os.readlink(_SELF / "ns/pid") + Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
