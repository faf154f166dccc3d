"""Counting and drawing bits of 64, against Python's own numbers."""

from __future__ import annotations

import random

import numpy as np
import pytest

from games import bits


def _masks() -> list[int]:
    draw = random.Random(1)
    dense = [draw.getrandbits(64) for _ in range(20)]
    sparse = [1 << draw.randrange(64) | 1 << draw.randrange(64) for _ in range(20)]
    return [1, 1 << 63, 2**64 - 1, 0xFF << 56, *dense, *sparse]


@pytest.mark.parametrize("mask", _masks())
def test_bits_are_counted_and_found(mask: int) -> None:
    places = [place for place in range(64) if mask >> place & 1]
    assert int(bits.count(np.uint64(mask))) == len(places)
    for rank, place in enumerate(places):
        bit = bits.bit_of_rank(np.uint64(mask), np.uint64(rank))
        assert int(bit) == 1 << place
        assert bits.place_of(np.uint64(1 << place)) == place
        # The lowest 32 bits that give this rank.
        random_bits = -(-(rank << 32) // len(places))
        assert int(bits.random_bit(np.uint64(mask), np.uint64(random_bits))) == 1 << place


def test_no_bits() -> None:
    assert int(bits.count(np.uint64(0))) == 0
