"""Random streams for kernels: passed explicitly, cheap, and the same on every machine.

A stream is ``uint64[2]``: a counter and an odd increment of its own. Each draw adds the
increment and mixes the sum (SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom
number generators", OOPSLA 2014, section 4), so that draws do not wait for each other's
multiplications. Two streams with different identities have different increments, so they
do not run into each other. All arithmetic is modulo 2**64.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.jit import njit, source_of

Stream = npt.NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2**64 over the golden ratio, odd: what is multiplied with it is spread over the upper bits."""
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_ONE = np.uint64(1)
_S11 = np.uint64(11)
_S27 = np.uint64(27)
_S30 = np.uint64(30)
_S31 = np.uint64(31)
_S32 = np.uint64(32)


@njit
def mix(z: np.uint64) -> np.uint64:
    """Mix 64 bits so that each of them moves all of the answer."""
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@njit
def next_uint64(stream: Stream) -> np.uint64:
    """The next 64 random bits; ``stream`` is modified in place."""
    stream[0] += stream[1]
    return mix(stream[0])


@njit
def below(stream: Stream, n: int) -> int:
    """A whole number in [0, n), 0 < n < 2**32; ``stream`` is modified in place.

    Multiply and shift (Lemire 2019), uneven by less than n / 2**32.
    """
    return np.int64(((next_uint64(stream) >> _S32) * np.uint64(n)) >> _S32)  # type: ignore[return-value]


@njit
def uniform(stream: Stream) -> float:
    """A multiple of 2**-53 in [0, 1); ``stream`` is modified in place."""
    return np.float64(next_uint64(stream) >> _S11) * 1.1102230246251565e-16


def new_stream(*identity: int) -> Stream:
    """The stream with this identity (whole numbers, such as seed, lane, round), at its start."""
    plain_mix = source_of(mix)
    with np.errstate(over="ignore"):
        state = GOLDEN
        for number in identity:
            state = plain_mix(state ^ np.uint64(number & 0xFFFFFFFFFFFFFFFF)) + GOLDEN
        return np.array([plain_mix(state), plain_mix(state + GOLDEN) | _ONE], dtype=np.uint64)
