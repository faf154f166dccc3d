"""Arrays by name, the form in which a search is kept; archives of them (NumPy's .npz); checks of both.

Arrays from a file or the network may be damaged or forged, and compiled code reads out of bounds without an
error. So every array is checked before it is used, and CorruptState is raised for one that does not fit.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

Arrays = dict[str, npt.NDArray[Any]]


class CorruptState(ValueError):
    """Arrays that cannot be the state of a search; the message says why."""


def take(arrays: Arrays, name: str, dtype: npt.DTypeLike, *shape: int | None) -> npt.NDArray[Any]:
    """The array of that name; raises CorruptState unless it has this type and shape (None: any length)."""
    array = arrays.get(name)
    if array is None:
        raise CorruptState(f"there is no {name}")
    fits = array.ndim == len(shape) and all(
        wanted is None or wanted == found for wanted, found in zip(shape, array.shape, strict=True)
    )
    if array.dtype != np.dtype(dtype) or not fits:
        raise CorruptState(f"{name} is {array.dtype} {array.shape}, and not {np.dtype(dtype)} {shape}")
    return array


def require(condition: object, reason: str) -> None:
    """Raise CorruptState for that reason unless the condition holds."""
    if not condition:
        raise CorruptState(reason)


def within(array: npt.NDArray[Any], low: int, high: int, name: str) -> None:
    """Raise CorruptState unless all numbers are from low to high."""
    if len(array) and not (array.min() >= low and array.max() <= high):
        raise CorruptState(f"{name} has numbers outside {low} to {high}")


def joined(parts: Iterable[npt.NDArray[Any]], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Columns of this type, one after the other; empty if there are none."""
    return np.concatenate([np.empty(0, dtype=dtype), *parts])


def parts_of(column: npt.NDArray[Any], sizes: Sequence[int] | npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Copies of the parts, of these sizes, that were `joined`."""
    ends = np.cumsum(sizes, dtype=np.int64)
    return [column[end - size : end].copy() for size, end in zip(sizes, ends, strict=True)]


def prefixed(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays, with a prefix before each name."""
    return {prefix + name: array for name, array in arrays.items()}


def without_prefix(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays whose name begins with the prefix, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


LEVEL, UNCOMPRESSED = 1, 0
"""Compression level: a ninth of the size for 0.3 s per million nodes. Level 6 saves a sixth more, and takes
five times as long."""
MOST_EXPANSION = 100
"""Most bytes of the arrays for each byte of their archive; ROOM is allowed in addition."""
ROOM = 16 * 2**20
"""Bytes that the arrays may take however small the archive is."""
MOST_ARRAYS = 100
"""Most arrays in an archive."""
_SUFFIX = ".npy"
_KINDS = "biufU"
"""The kinds of array types that may be in an archive: numbers and text, no objects."""


class BadArchive(ValueError):
    """The archive cannot be used; the message says what would have been accepted."""


def write_npz(file: IO[bytes], arrays: Arrays, comment: bytes = b"", level: int = LEVEL) -> None:
    """Write an archive, whose last bytes are the comment. Bytes (uint8) are not compressed again.

    ``level``: of zlib, 0 to 9.
    """
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, array in arrays.items():
            # What has a ZipInfo of its own is not compressed. Neither kind of member has a date, which
            # would make two archives of the same arrays differ.
            member = zipfile.ZipInfo(name + _SUFFIX) if array.dtype == np.uint8 else name + _SUFFIX
            with archive.open(member, "w", force_zip64=True) as out:
                npy.write_array(out, np.asarray(array, order="C"), allow_pickle=False)
        archive.comment = comment


class Npz:
    """An archive that is open for reading; raises BadArchive if it claims to be unreasonably large."""

    def __init__(self, file: IO[bytes]) -> None:
        size = file.seek(0, io.SEEK_END)
        try:
            self._archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise BadArchive(f"a NumPy archive ({error})") from None
        members = self._archive.infolist()
        self._members = {member.filename.removesuffix(_SUFFIX): member for member in members}
        if len(members) > MOST_ARRAYS or len(self._members) < len(members):
            raise BadArchive(f"an archive of at most {MOST_ARRAYS} arrays, each with a name of its own")
        if sum(member.file_size for member in members) > MOST_EXPANSION * size + ROOM:
            raise BadArchive(f"an archive that is not {MOST_EXPANSION} times as large when it is read")

    @property
    def names(self) -> list[str]:
        """The arrays' names, in their order."""
        return list(self._members)

    def size(self, name: str) -> int:
        """How many bytes the array claims to take."""
        return self._members[name].file_size

    def read(self, name: str) -> npt.NDArray[Any]:
        """One array; its header is checked against its size before memory is taken. Raises BadArchive."""
        member = self._members[name]
        try:
            with self._archive.open(member) as file:
                if npy.read_magic(file) != (1, 0):
                    raise BadArchive("arrays in version 1.0 of NumPy's format")
                shape, in_columns, dtype = npy.read_array_header_1_0(file)
                length = dtype.itemsize
                for extent in shape:
                    length *= extent
                fits = file.tell() + length == member.file_size
                if dtype.kind not in _KINDS or dtype.hasobject or in_columns or not fits:
                    raise BadArchive(f"plain arrays ({name} is none)")
                data = bytearray(file.read(length))
                if len(data) != length:
                    raise BadArchive(f"whole arrays ({name} is none)")
                return np.frombuffer(data, dtype=dtype).reshape(shape)
        except BadArchive:
            raise
        except (zipfile.BadZipFile, ValueError, zlib.error, EOFError, RuntimeError) as error:
            # Of RuntimeError is NotImplementedError as well.
            raise BadArchive(f"arrays that can be read ({name}: {error})") from None


def compress(arrays: Arrays, level: int = LEVEL) -> bytes:
    """The arrays as the bytes of an archive; ``level`` as in `write_npz`."""
    file = io.BytesIO()
    write_npz(file, arrays, level=level)
    return file.getvalue()


def decompress(data: bytes) -> Arrays:
    """The arrays in the bytes of an archive; raises BadArchive."""
    archive = Npz(io.BytesIO(data))
    return {name: archive.read(name) for name in archive.names}
