"""Files of arrays: there whole or not at all, and never half-read."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.checkpoint.checkpoint import FORMAT, read_arrays, read_description, write_archive
from search.packing.arrays import Arrays, BadArchive, compress, decompress, write_npz

DESCRIPTION = {"game": "tictactoe", "note": "Mühle \u2014 \x00 \U0001f333", "numbers": [1, 2.5, None]}
ARRAYS: Arrays = {
    "visits": np.arange(1000, dtype=np.int32),
    "tree.values": np.linspace(-1, 1, 77),
    "flags": np.array([True, False]),
    "none": np.zeros(0, dtype=np.uint16),
    "square": np.arange(12, dtype=np.uint8).reshape(3, 4),
    "strided": np.arange(20, dtype=np.int64)[::3],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.ckpt"
    write_archive(path, DESCRIPTION, ARRAYS)
    return path


def sealed(members: dict[str, bytes], number: int = FORMAT, **declared: int) -> bytes:
    """An archive of ours with these members, whatever is in them, under a seal that fits.

    ``declared`` are sizes that the archive's directory is to claim instead of the true ones.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        for info in archive.infolist():
            info.file_size = declared.get(info.filename.removesuffix(".npy"), info.file_size)
        archive.comment = f"banyan checkpoint format {number} sha256 {'0' * 64}".encode()
    body = buffer.getvalue()[:-64]
    return body + hashlib.sha256(body).hexdigest().encode()


def npy(array: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def with_array(data: bytes, **declared: int) -> bytes:
    """An archive of ours whose array `a` is kept in these bytes."""
    return sealed(HEAD | {"a.npy": data}, **declared)


def header(shape: str, descr: str = "'<i4'", data: bytes = b"") -> bytes:
    """A .npy file that claims this shape and type."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


HEAD = {"banyan.npy": npy(np.array("{}"))}


def test_what_was_written_is_read(file: Path) -> None:
    assert read_description(file) == DESCRIPTION
    arrays = read_arrays(file)
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert np.array_equal(arrays[name], array)
        assert arrays[name].flags.writeable
    assert [path.name for path in file.parent.iterdir()] == ["a.ckpt"]


def test_numpy_reads_it_too_without_pickle(file: Path) -> None:
    with np.load(file, allow_pickle=False) as archive:
        assert json.loads(str(archive["banyan"])) == DESCRIPTION
        assert np.array_equal(archive["tree.values"], ARRAYS["tree.values"])


def test_a_full_disk_is_an_error() -> None:
    with pytest.raises(OSError, match=r"No space left"), open("/dev/full", "r+b", buffering=0) as full:
        write_npz(full, {"visits": np.arange(10)})


def test_arrays_are_squeezed_into_bytes() -> None:
    zeros = {"visits": np.zeros(100_000, dtype=np.int32), "flags": np.arange(9, dtype=np.uint8)}
    data = compress(zeros)
    assert len(data) < 4000
    assert all(np.array_equal(zeros[name], array) for name, array in decompress(data).items())
    with pytest.raises(BadArchive):
        decompress(data[:-1])


def test_many_writers_of_one_file_never_make_a_torn_one(tmp_path: Path) -> None:
    path = tmp_path / "a.ckpt"
    sizes = range(1, 4000, 400)

    def write(size: int) -> None:
        for _ in range(8):
            write_archive(path, {"size": size}, {"data": np.full(size, size)})

    seen = 0
    with ThreadPoolExecutor(len(sizes)) as pool:
        writers = [pool.submit(write, size) for size in sizes]
        while not all(writer.done() for writer in writers):
            if path.exists():
                (data,) = read_arrays(path).values()
                assert len(data) in sizes
                assert (data == len(data)).all()
                seen += 1
    assert seen > 0
    assert [file.name for file in tmp_path.iterdir()] == ["a.ckpt"]


@pytest.mark.slow
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(max_examples=200, deadline=None)
def test_each_changed_bit_is_found_out(
    place: float, bit: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "changed.ckpt"
    write_archive(path, DESCRIPTION, ARRAYS)
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 1 << bit
    path.write_bytes(data)
    with pytest.raises(BadArchive, match=r"(complete|intact) checkpoint|a checkpoint of Banyan|of format 2"):
        read_description(path)
    with pytest.raises(BadArchive):
        read_arrays(path)


def test_a_truncated_file_is_refused_at_every_length(file: Path) -> None:
    data = file.read_bytes()
    for length in (*range(60, len(data), 37), len(data) - 1):
        file.write_bytes(data[:length])
        with pytest.raises(BadArchive, match=r"a complete checkpoint \(this one is truncated\)"):
            read_description(file)
    for more in (b"\n", data):
        file.write_bytes(data + more)
        with pytest.raises(BadArchive, match=r"(complete|intact) checkpoint"):
            read_description(file)


NOISE = random.Random(0).randbytes(2_500_000).hex()
NO_ARCHIVE = b"banyan checkpoint format 2 sha256 "
REFUSED: dict[str, tuple[bytes, str]] = {
    "an empty file": (b"", "a checkpoint of Banyan"),
    "some text": (b"banana" * 100, "a checkpoint of Banyan"),
    "another archive of NumPy": (npy(np.arange(5)), "a checkpoint of Banyan"),
    "an older format": (sealed(HEAD, 1), r"of format 2 \(this one is of format 1\)"),
    "a newer format": (sealed(HEAD, 3), r"of format 2 \(this one is of format 3\)"),
    "nothing in it": (sealed({}), "description as its first"),
    "another array first": (sealed({"a.npy": npy(np.arange(5))} | HEAD), "description as its first"),
    "too many arrays": (sealed(HEAD | {f"{k}.npy": npy(np.arange(2)) for k in range(200)}), "100 arr"),
    "no archive": (NO_ARCHIVE + hashlib.sha256(NO_ARCHIVE).hexdigest().encode(), "NumPy"),
    "a description that is a number": (sealed({"banyan.npy": npy(np.array(5))}), "description in JSON"),
    "a description that is a list": (sealed({"banyan.npy": npy(np.array("[1]"))}), "description in JSON"),
    "a description that is not JSON": (sealed({"banyan.npy": npy(np.array("{"))}), "description in JSON"),
    "a description without end": (sealed({"banyan.npy": npy(np.array("[" * 99_999))}), "description in JSON"),
    "a description of bytes": (sealed({"banyan.npy": b"{}"}), "can be read"),
    "a long description": (sealed({"banyan.npy": npy(np.array(NOISE))}), "shorter description"),
    "a description of objects": (
        sealed({"banyan.npy": npy(np.array([{}], dtype=object), allow_pickle=True)}),
        "plain arrays",
    ),
}  # fmt: skip


CLAIM = header("(1000,)")
HOSTILE: dict[str, tuple[bytes, str]] = {
    "objects": (with_array(npy(np.array([{}]), allow_pickle=True)), "plain arrays"),
    "a record": (with_array(npy(np.zeros(2, dtype=[("x", "i4")]))), "plain arrays"),
    "columns first": (with_array(npy(np.asfortranarray(np.ones((3, 2))))), "plain arrays"),
    "more claimed than there is": (with_array(header("(250000000000,)")), "plain arrays"),
    "a negative length": (with_array(header("(-1, -4)", data=b"\0" * 16)), "read"),
    "no numbers": (with_array(header("('a',)")), "read"),
    "code for a header": (with_array(header("__import__('os').abort()")), "read"),
    "an unknown type": (with_array(header("(2,)", "'no type'")), "read"),
    "a header that is too long": (with_array(header("(" + "1," * 20_000 + ")")), "read"),
    "another version": (with_array(b"\x93NUMPY\x03\x00" + b"\0" * 100), "version 1.0"),
    "half a header": (with_array(b"\x93NUM"), "read"),
    "nothing": (with_array(b""), "read"),
    "a size that is not true": (with_array(CLAIM + b"\0" * 40, a=len(CLAIM) + 4000), "read|whole"),
    "a bomb": (with_array(npy(np.zeros(50_000_000, dtype=np.uint8))), "times as large"),
    "a bomb that claims more": (with_array(header("(4,)"), a=2**40), "times as large"),
}


@pytest.mark.parametrize("what", [*REFUSED, *HOSTILE])
def test_a_file_is_refused_by_what_is_wrong_with_it(what: str, tmp_path: Path) -> None:
    """Arrays are looked at before they are read."""
    data, reason = (REFUSED | HOSTILE)[what]
    path = tmp_path / "a.ckpt"
    path.write_bytes(data)
    if what in HOSTILE and "bomb" not in what:
        assert read_description(path) == {}
    with pytest.raises(BadArchive, match=reason):
        (read_description if what in REFUSED else read_arrays)(path)


def test_a_damaged_stream_under_a_seal_that_fits_is_refused(tmp_path: Path) -> None:
    data = bytearray(sealed(HEAD | {"a.npy": npy(np.arange(1000))})[:-64])
    start = data.index(b"a.npy") + 5
    path = tmp_path / "a.ckpt"
    for place in range(start, start + 200, 7):
        torn = bytes(data[:place]) + bytes([data[place] ^ 0xFF]) + bytes(data[place + 1 :])
        path.write_bytes(torn + hashlib.sha256(torn).hexdigest().encode())
        with pytest.raises(BadArchive):
            read_arrays(path)


def test_a_file_that_cannot_be_opened_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_description(tmp_path / "none.ckpt")
    with pytest.raises(IsADirectoryError):
        read_arrays(tmp_path)
    if os.geteuid() != 0:
        tmp_path.chmod(0o500)
        with pytest.raises(PermissionError):
            write_archive(tmp_path / "a.ckpt", {}, {})
