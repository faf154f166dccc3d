"""Atomically written files of named arrays: NumPy archives (.npz) with a checksum.

Writing: the data are written to FILE.part, which is synced and renamed to FILE; then the folder is synced. If
the process is killed, FILE has its old content, and FILE.part is overwritten the next time.

Reading: the last bytes of the file, which are the archive's comment, contain the format and the SHA-256 of
all bytes before the digest. They are checked first, then the type and size of every array, and only then are
data read. Nothing is unpickled. ``numpy.load(FILE, allow_pickle=False)`` can read the file too.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from search.packing.arrays import Arrays, BadArchive, Npz, write_npz

FORMAT = 2
HEAD = "banyan"
"""The name of the first array, which holds the description as JSON text."""
MOST_TEXT = 16 * 2**20
"""Limit of the size of a description in bytes, at four bytes a character; it includes a game's source."""
_SEAL = "banyan checkpoint format {} sha256 "
_DIGEST = 64
_SEALED = re.compile(rb"banyan checkpoint format ([0-9]{1,9}) sha256 ([0-9a-f]{64})\Z")
_TAIL = 128


def write_archive(path: Path, description: Mapping[str, Any], arrays: Arrays) -> None:
    """Replace the file's content by description and arrays.

    Raises OSError; the file is unchanged in that case.
    """
    part = path.with_name(path.name + ".part")
    with _locked(part) as file:
        try:
            file.truncate(0)
            head = {HEAD: np.array(json.dumps(description))}
            write_npz(file, head | arrays, (_SEAL.format(FORMAT) + "0" * _DIGEST).encode())
            _seal(file)
            os.fsync(file.fileno())
            os.replace(part, path)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise
    _sync_folder(path.parent)


def read_description(path: Path) -> dict[str, Any]:
    """The description of an intact file. Raises BadArchive, OSError."""
    with path.open("rb") as file:
        archive = _opened(file)
        if archive.size(HEAD) > MOST_TEXT:
            raise BadArchive("a shorter description")
        head = archive.read(HEAD)
    try:
        description = json.loads(str(head)) if head.ndim == 0 and head.dtype.kind == "U" else None
    except (ValueError, RecursionError):
        description = None
    if not isinstance(description, dict):
        raise BadArchive("a description in JSON")
    return description


def read_arrays(path: Path) -> Arrays:
    """The arrays of an intact file. Raises BadArchive, OSError."""
    with path.open("rb") as file:
        archive = _opened(file)
        return {name: archive.read(name) for name in archive.names if name != HEAD}


def _opened(file: IO[bytes]) -> Npz:
    """The archive in a file; raises BadArchive if it is not an intact archive of this format."""
    _check_seal(file)
    archive = Npz(file)
    if archive.names[:1] != [HEAD]:
        raise BadArchive("a description as its first array")
    return archive


def _locked(part: Path) -> IO[bytes]:
    """Open the file for writing and lock it until it is closed."""
    while True:
        file = os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666), "r+b")
        try:
            with suppress(OSError):
                # Some network file systems have no locks; there, concurrent writers are not prevented.
                fcntl.flock(file, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                # Another process may have renamed the file while this one waited for the lock.
                if os.path.samestat(os.fstat(file.fileno()), part.stat()):
                    return file
        except BaseException:
            file.close()
            raise
        file.close()


def _seal(file: IO[bytes]) -> None:
    """Write the digest of all preceding bytes at the end of the file."""
    end = file.seek(0, os.SEEK_END) - _DIGEST
    digest = _digest(file, end)
    file.seek(end)
    file.write(digest.encode())
    file.flush()


def _digest(file: IO[bytes], length: int) -> str:
    file.seek(0)
    sha, left = hashlib.sha256(), length
    while left > 0 and (block := file.read(min(left, 2**20))):
        sha.update(block)
        left -= len(block)
    return sha.hexdigest()


def _check_seal(file: IO[bytes]) -> None:
    """Raise BadArchive for a file that is not a checkpoint, is damaged, or has another format."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL))
    found = _SEALED.search(file.read())
    if found is None:
        file.seek(0)
        ours = HEAD.encode() in file.read(_TAIL)
        what = "a complete checkpoint (this one is truncated)" if ours else "a checkpoint of Banyan"
        raise BadArchive(what)
    if int(found[1]) != FORMAT:
        raise BadArchive(f"a checkpoint of format {FORMAT} (this one is of format {int(found[1])})")
    if _digest(file, size - _DIGEST) != found[2].decode():
        raise BadArchive("an intact checkpoint (this one is damaged: its checksum is wrong)")


def _sync_folder(folder: Path) -> None:
    """Sync the folder, so that the new name is durable, if the system supports it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
