"""A file of named arrays that is there whole or not at all: a NumPy archive (.npz), sealed with a checksum.

Writing: into FILE.part beside it, synced, renamed, and the folder synced. A process that is killed leaves the
file as it was before; what it leaves of FILE.part is written over by the next.

Reading: the last bytes of the file, the comment of the archive, say which format it has and the SHA-256 of
all bytes before the digest. That is looked at first; then every array's type and size; only then is
anything read. Nothing is unpickled. ``numpy.load(FILE, allow_pickle=False)`` reads such a file too.
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

from search.kept import Arrays
from search.npz import BadArchive, Npz, write_npz

FORMAT = 1
HEAD = "banyan"
"""The name of the first array, which is the description: text in JSON."""
MOST_TEXT = 16 * 2**20
"""Bytes of a description at most, four for each character; a game's source is in there."""
_SEAL = "banyan checkpoint format {} sha256 "
_DIGEST = 64
_SEALED = re.compile(rb"banyan checkpoint format ([0-9]{1,9}) sha256 ([0-9a-f]{64})\Z")
_TAIL = 128


def write_archive(path: Path, description: Mapping[str, Any], arrays: Arrays) -> None:
    """Put description and arrays into the file, in place of what it had.

    Raises OSError, and then the file is as it was.
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
    """The description in a file that is whole. Raises BadArchive, OSError."""
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
    """The arrays of a file that is whole. Raises BadArchive, OSError."""
    with path.open("rb") as file:
        archive = _opened(file)
        return {name: archive.read(name) for name in archive.names if name != HEAD}


def _opened(file: IO[bytes]) -> Npz:
    """The archive in a file, if that is one of ours and whole."""
    _check_seal(file)
    archive = Npz(file)
    if archive.names[:1] != [HEAD]:
        raise BadArchive("a description before all else")
    return archive


def _locked(part: Path) -> IO[bytes]:
    """The file opened for writing, and nobody else's until it is closed."""
    while True:
        file = os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666), "r+b")
        try:
            with suppress(OSError):
                # Not every network file system has locks: without, two writers are on their own.
                fcntl.flock(file, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                # Another may have renamed it while this one waited.
                if os.path.samestat(os.fstat(file.fileno()), part.stat()):
                    return file
        except BaseException:
            file.close()
            raise
        file.close()


def _seal(file: IO[bytes]) -> None:
    """Put the digest of all that stands before it in its place, at the end."""
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
    """Refuse a file that is not one of ours, not whole, or of another format."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL))
    found = _SEALED.search(file.read())
    if found is None:
        file.seek(0)
        ours = HEAD.encode() in file.read(_TAIL)
        what = "a whole checkpoint (this one is truncated)" if ours else "a checkpoint of Banyan"
        raise BadArchive(what)
    if int(found[1]) != FORMAT:
        raise BadArchive(f"a checkpoint of format {FORMAT} (this one is of format {int(found[1])})")
    if _digest(file, size - _DIGEST) != found[2].decode():
        raise BadArchive(
            "a whole checkpoint (in this one some bytes have changed: its checksum does not fit)"
        )


def _sync_folder(folder: Path) -> None:
    """Make the new name last, where folders can be synced."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
