"""One process at a time for a file that is replaced as a whole: a lock on a file beside it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from games.errors import InvalidInput


@contextmanager
def held(path: Path, field: str) -> Iterator[None]:
    """Hold FILE.lock, which is there as long as this is; it is free again when its process ends, however.

    Raises InvalidInput (field) if another process holds it.
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
        # What is wrong with the path is found out by whoever reads or writes there.
        pass
    try:
        yield
    finally:
        if descriptor >= 0:
            # While it is still held: who has opened it in the meantime finds that it is no longer the file.
            lock.unlink(missing_ok=True)
            os.close(descriptor)


def _open(lock: Path) -> int:
    """The locked file. Raises BlockingIOError if another process has it."""
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
