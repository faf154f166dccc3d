"""The session folder of an embedded Ray (some 100 KB of logs): where it is made, and its removal.

The folder of a killed process remains, until the next process that starts a Ray removes it. Only folders that
contain our lock file are removed, and only if no process holds the lock: other Rays may still be running.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from pathlib import Path

LOCK = "banyan-lock"
"""Name of a file in the session folder, which the process that started Ray keeps locked."""
MOST_BYTES = 30
"""Longest path, in bytes, of the folder in which Ray makes its own. Paths of sockets, which have 71 bytes
more, may have 107."""


def base() -> Path:
    """The folder in which Ray makes its own: the first of RAY_TMPDIR, TMPDIR, /tmp and /var/tmp that can be
    written to and has a path short enough for sockets.

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
    """Lock the folder for as long as this process lives."""
    new = folder / f"{LOCK}.new"
    with contextlib.suppress(OSError):
        # Under its own name it is always locked.
        fcntl.flock(os.open(new, os.O_CREAT | os.O_RDWR, 0o600), fcntl.LOCK_EX)
        new.rename(folder / LOCK)


def remove_of(pid: int, base: Path) -> None:
    """Remove the folder, below ``base``, of a Ray whose starting process ``pid`` has ended."""
    for folder in (base / "ray").glob(f"session_*_{pid}"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == os.getuid():
                shutil.rmtree(folder, ignore_errors=True)


def remove_left(parent: Path) -> None:
    """Remove the folders in ``parent`` whose processes have ended."""
    for lock in parent.glob(f"session_*/{LOCK}"):
        with contextlib.suppress(OSError), lock.open("r+") as file:
            if lock.stat().st_uid == os.getuid():
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)
