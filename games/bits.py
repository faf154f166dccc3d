"""Bitboards of 64 bits for kernels: counting bits, and drawing one of them at random. All are ``uint64``.

Signed numbers are converted explicitly, because Numba makes ``float64`` of a ``uint64`` and an ``int64``.
"""

from __future__ import annotations

import numpy as np

from games.jit import Int, njit

ZERO, ONE = np.uint64(0), np.uint64(1)
_S2, _S3, _S4, _S8, _S32, _S56 = (np.uint64(shift) for shift in (2, 3, 4, 8, 32, 56))
_PAIRS, _NIBBLES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_BYTES, _LOW, _HIGH = (np.uint64(byte * 0x0101010101010101) for byte in (0x0F, 0x01, 0x80))
_BYTE = np.uint64(0xFF)


def _places() -> list[int]:
    """For each rank below 8 and each byte: the place of the byte's bit of that rank, 0 where it has none."""
    bits = [[place for place in range(8) if byte >> place & 1] for byte in range(256)]
    return [places[rank] if rank < len(places) else 0 for rank in range(8) for places in bits]


_PLACE = np.array(_places(), dtype=np.uint64)


@njit
def sums_of(mask: np.uint64) -> np.uint64:
    """In each byte, the number of bits of the mask in this byte and all lower ones."""
    sums = mask - ((mask >> ONE) & _PAIRS)
    sums = (sums & _NIBBLES) + ((sums >> _S2) & _NIBBLES)
    return ((sums + (sums >> _S4)) & _BYTES) * _LOW


@njit
def count(mask: np.uint64) -> np.uint64:
    """The number of set bits. LLVM recognises this form and compiles it to one instruction."""
    return sums_of(mask) >> _S56


@njit
def popcount(mask: Int) -> int:
    """The number of set bits of a signed number that is not negative."""
    return np.int64(count(np.uint64(mask)))  # type: ignore[return-value]


@njit
def place_of(bit: np.uint64) -> int:
    """The place, 0 to 63, of the only bit that is set."""
    return np.int64(count(bit - ONE))  # type: ignore[return-value]


@njit
def bit_of_rank(mask: np.uint64, rank: np.uint64) -> np.uint64:
    """The bit of the mask above exactly ``rank`` others, as a mask; ``rank`` is below the number of bits."""
    return ONE << place_of_rank(mask, sums_of(mask), rank)


@njit
def random_bit(mask: np.uint64, random: np.uint64) -> np.uint64:
    """One bit of a mask that is not empty, as a mask, drawn by 32 random bits."""
    sums = sums_of(mask)
    return ONE << place_of_rank(mask, sums, (random * (sums >> _S56)) >> _S32)


@njit
def place_of_rank(mask: np.uint64, sums: np.uint64, rank: np.uint64) -> np.uint64:
    """The place, 0 to 63, of the bit of a mask above exactly ``rank`` others; ``sums`` are its `sums_of`.

    First the byte is found whose sum exceeds the rank, then the bit in that byte by a table.

    Sebastiano Vigna, "Broadword implementation of rank/select queries", WEA 2008.
    """
    below = (((rank * _LOW) | _HIGH) - sums) & _HIGH
    start = count(below) << _S3
    rank -= ((sums << _S8) >> start) & _BYTE
    return start + _PLACE[(rank << _S8) | ((mask >> start) & _BYTE)]  # type: ignore[no-any-return]
