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
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from search.kept import Arrays

FORMAT = 1
HEAD = "banyan"
"""The name of the first array, which is the description: text in JSON."""
MOST_TEXT = 16 * 2**20
"""Bytes of a description at most, four for each character; a game's source is in there."""
MOST_EXPANSION = 100
"""What is read may be so many times as large as the file, and..."""
ROOM = 16 * 2**20
"""...so many bytes larger."""
MOST_ARRAYS = 100
LEVEL = 1
"""Of compression: a ninth of the size for 0.3 s a million nodes. Level 6 saves a sixth more, in five times
as long."""
_SEAL = "banyan checkpoint format {} sha256 "
_DIGEST = 64
_SEALED = re.compile(rb"banyan checkpoint format ([0-9]{1,9}) sha256 ([0-9a-f]{64})\Z")
_TAIL = 128
_KINDS = "biufU"
"""The types of arrays that may be in a file: no objects."""


class BadArchive(ValueError):
    """The file cannot be used; the message says what would have been accepted."""


def write_archive(path: Path, description: Mapping[str, Any], arrays: Arrays) -> None:
    """Put description and arrays into the file, in place of what it had.

    Raises OSError, and then the file is as it was.
    """
    part = path.with_name(path.name + ".part")
    with _locked(part) as file:
        try:
            file.truncate(0)
            _write(file, {HEAD: np.array(json.dumps(description)), **arrays})
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
        _check_seal(file)
        with _opened(file) as archive:
            member = archive.infolist()[0]
            if member.file_size > MOST_TEXT:
                raise BadArchive("a checkpoint with a shorter description")
            head = _read_member(archive, member)
    try:
        description = json.loads(str(head)) if head.ndim == 0 and head.dtype.kind == "U" else None
    except (ValueError, RecursionError):
        description = None
    if not isinstance(description, dict):
        raise BadArchive("a checkpoint whose description is JSON")
    return description


def read_arrays(path: Path) -> Arrays:
    """The arrays of a file that is whole. Raises BadArchive, OSError."""
    with path.open("rb") as file:
        _check_seal(file)
        with _opened(file) as archive:
            members = archive.infolist()[1:]
            return {member.filename.removesuffix(".npy"): _read_member(archive, member) for member in members}


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


def _write(file: IO[bytes], arrays: Arrays) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
        for name, array in arrays.items():
            # A date of its own would make two files of the same arrays differ.
            member = zipfile.ZipInfo(name + ".npy")
            member.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(member, "w", force_zip64=True) as out:
                npy.write_array(out, np.asarray(array, order="C"), allow_pickle=False)
        archive.comment = (_SEAL.format(FORMAT) + "0" * _DIGEST).encode()


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


def _opened(file: IO[bytes]) -> zipfile.ZipFile:
    """The archive in a sealed file, if what it says of its sizes can be."""
    size = file.seek(0, os.SEEK_END)
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise BadArchive(f"a checkpoint that is a NumPy archive ({error})") from None
    members = archive.infolist()
    names = [member.filename for member in members]
    if not names or names[0] != f"{HEAD}.npy" or len(names) > MOST_ARRAYS or len(set(names)) < len(names):
        raise BadArchive("a checkpoint with a description and arrays")
    if sum(member.file_size for member in members) > MOST_EXPANSION * size + ROOM:
        raise BadArchive(f"a checkpoint that is not {MOST_EXPANSION} times as large when it is read")
    return archive


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """One array. Its header is looked at, and has to fit its size, before room is made for it."""
    try:
        with archive.open(member) as file:
            if npy.read_magic(file) != (1, 0):
                raise BadArchive("a checkpoint with arrays in version 1.0 of NumPy's format")
            shape, in_columns, dtype = npy.read_array_header_1_0(file)
            length = dtype.itemsize
            for extent in shape:
                length *= extent
            if (
                dtype.kind not in _KINDS
                or dtype.hasobject
                or in_columns
                or file.tell() + length != member.file_size
            ):
                raise BadArchive(f"a checkpoint with plain arrays ({member.filename} is none)")
            data = bytearray(file.read(length))
            if len(data) != length:
                raise BadArchive(f"a checkpoint with whole arrays ({member.filename} is none)")
            return np.frombuffer(data, dtype=dtype).reshape(shape)
    except (zipfile.BadZipFile, ValueError, zlib.error, EOFError, RuntimeError) as error:
        if isinstance(error, BadArchive):
            raise
        raise BadArchive(f"a checkpoint that can be read ({member.filename}: {error})") from None


def _sync_folder(folder: Path) -> None:
    """Make the new name last, where folders can be synced."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
