"""Files of one writer: locks, and a folder in which a measurement keeps results as lines of JSON."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Self, TypeVar

from cluster.system.files import append, replace_text
from games.errors import InvalidInput

T = TypeVar("T")


class Kept:
    """The locked folder of one measurement, or no folder: then nothing is kept.

    It must be closed, or used as a context manager.
    """

    def __init__(self, path: Path | None, file: str, identity: dict[str, Any], what: str) -> None:
        """``identity``: what results depend on, kept in ``file``; ``what``: the measurement in a word.

        Raises OSError, or InvalidInput (field ``out``) if the folder holds another measurement.
        """
        self._path, self._what = path, what
        self._lock: IO[str] | None = None
        self._begun: set[str] = set()
        if path is None:
            return
        path.mkdir(parents=True, exist_ok=True)
        try:
            self._lock = os.fdopen(locked(path / file), "a", encoding="utf-8")
        except BlockingIOError:
            raise InvalidInput("out", str(path), f"a folder that no other {what} is writing to") from None
        if not (path / file).stat().st_size:
            append(path / file, json.dumps(identity, indent=1) + "\n")
        try:
            there = json.loads((path / file).read_text(encoding="utf-8"))
        except ValueError:
            there = None
        for name, value in identity.items():
            has = there.get(name) if isinstance(there, dict) else there
            if has != value or there is None:
                self.close()
                raise InvalidInput(
                    "out", str(path), f"a folder for this {what} (in there {name} is {json.dumps(has)})"
                )

    def read(self, file: str, entry: Callable[[Any], T]) -> list[T]:
        """What ``entry`` makes of each line of a file, as JSON values.

        Raises InvalidInput (out) for a line that is not JSON or that ``entry`` refuses.
        """
        found = []
        try:
            for number, line in enumerate(whole_lines(self._path / file) if self._path else ()):
                accepted = f"a file that only this {self._what} has written to (not so line {number + 1})"
                found.append(entry(json.loads(line)))
        except UnicodeDecodeError:
            self.close()
            raise InvalidInput("out", str(self._path), f"a {file} of text in UTF-8") from None
        except (ValueError, TypeError, KeyError, AttributeError):
            self.close()
            raise InvalidInput("out", str(self._path and self._path / file), accepted) from None
        return found

    def add(self, file: str, value: Any) -> None:
        """Append ``value`` to a file, as a line of JSON."""
        if self._path is not None:
            if file not in self._begun:
                replace_text(self._path / file, "".join(whole_lines(self._path / file)))
                self._begun.add(file)
            append(self._path / file, json.dumps(value) + "\n")

    def replace(self, file: str, values: Iterable[Any]) -> None:
        """Replace all lines of a file, which must not be one that `add` appends to."""
        if self._path is not None:
            replace_text(self._path / file, "".join(f"{json.dumps(value)}\n" for value in values))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the folder."""
        if self._lock is not None:
            self._lock.close()


def whole_lines(path: Path) -> list[str]:
    """The lines of a file, without an incomplete last one, which a process that was killed may leave."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    return [line for line in lines if line.endswith("\n")]


@contextmanager
def held(path: Path, field: str) -> Iterator[None]:
    """Context manager that holds a lock on FILE.lock beside the file, which it creates and removes.

    The lock is released in any case when the process ends. Raises InvalidInput (``field``) if another
    process holds it.
    """
    path = Path(os.path.realpath(path))
    lock = path.with_name(f"{path.name or 'root'}.lock")
    descriptor = -1
    try:
        descriptor = locked(lock)
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


def locked(path: Path, *, wait: bool = False) -> int:
    """Open and lock a file, which is created if it is missing; returns its descriptor.

    The lock ends when that is closed, or with the process. Raises BlockingIOError if another process holds it
    and ``wait`` is not set. Some network file systems have no locks; there, other writers are not prevented.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise
            except OSError:
                pass
            # Another process may have removed or renamed the file meanwhile.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), path.stat()):
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
