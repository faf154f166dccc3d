"""Files that are written: whole or not at all, and with errors that name them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

KEPT = "what was written before is kept"


@contextmanager
def naming(file: Path) -> Iterator[None]:
    """Context manager in which an OSError gets the name of this file, and a note that old content is kept."""
    try:
        yield
    except OSError as error:
        error.filename = str(file)
        error.add_note(KEPT)
        raise


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Context manager that yields another path in the same folder, with the same suffix, to write to; at the
    end that file replaces ``path``. The target of a link is replaced, not the link.

    After an error, or if the process is killed meanwhile, the file at ``path`` stays. Raises OSError.
    """
    target = Path(os.path.realpath(path))
    beside = target.with_stem(f"{target.stem}.{os.getpid()}")
    with naming(path):
        try:
            yield beside
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)


def replace_text(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises OSError."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def append(path: Path, text: str) -> None:
    """Append a text to a file, all of it or nothing. Raises OSError."""
    with naming(path), path.open("ab", buffering=0) as file:
        end, left = file.tell(), text.encode()
        try:
            while left:
                left = left[file.write(left) :]
        except OSError:
            with suppress(OSError):
                file.truncate(end)
            raise
