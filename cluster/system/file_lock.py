"""Locks: exclusive access to a folder, or to a file that is replaced atomically."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from games.errors import InvalidInput


def lock_in(folder: Path, name: str, accepted: str) -> IO[str]:
    """Open and lock a file of the folder; the lock ends when it is closed, or with the process.

    Raises InvalidInput (out) with what is ``accepted`` if another process holds the lock.
    """
    file = (folder / name).open("a", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise InvalidInput("out", str(folder), accepted) from None
    return file


@contextmanager
def held(path: Path, field: str) -> Iterator[None]:
    """Context manager that holds a lock on FILE.lock beside the file, which it creates and removes.

    The lock is released in any case when the process ends. Raises InvalidInput (``field``) if another
    process holds it.
    """
    path = path.resolve()
    lock = path.with_name(f"{path.name or 'root'}.lock")
    descriptor = -1
    try:
        descriptor = _open(lock)
        os.truncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()}\n".encode())
    except BlockingIOError:
        accepted = f"a file that no other process keeps a search in ({_holder(lock)} does)"
        raise InvalidInput(field, str(path), accepted) from None
    except OSError:
        # Errors of the path are reported by the code that reads or writes the file.
        pass
    try:
        yield
    finally:
        if descriptor >= 0:
            # Removed while still locked: a process that has opened it meanwhile sees that the name is gone.
            lock.unlink(missing_ok=True)
            os.close(descriptor)


def _open(lock: Path) -> int:
    """Open and lock the file; returns its descriptor. Raises BlockingIOError if another process holds it."""
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if lock.exists() and os.path.samestat(os.fstat(descriptor), lock.stat()):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _holder(lock: Path) -> str:
    try:
        return lock.read_text().strip() or "one"
    except OSError:
        return "one"
