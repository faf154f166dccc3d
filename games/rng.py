"""Random streams for kernels: passed explicitly, cheap, and equal on every machine.

A stream is ``uint64[2]``: a counter and an odd increment. Each draw adds the increment to the counter
and mixes the sum (SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA
2014, section 4), so that a draw does not depend on the multiplications of the draw before it. Streams with
different identities have different increments and therefore different sequences. All arithmetic is
modulo 2**64.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.jit import njit

Stream = npt.NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2**64 divided by the golden ratio, rounded to an odd number; multiplying by it spreads the upper bits."""
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_GOLDEN, _ALL_BITS = int(GOLDEN), 0xFFFFFFFFFFFFFFFF
_S11 = np.uint64(11)
_S27 = np.uint64(27)
_S30 = np.uint64(30)
_S31 = np.uint64(31)
# With these the two halves of a draw of 64 bits are two draws of 32.
S32, LOW_32 = np.uint64(32), np.uint64(0xFFFFFFFF)


@njit
def mix(z: np.uint64) -> np.uint64:
    """A bijective mix of 64 bits in which every input bit affects every output bit."""
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
    """A random integer in [0, n), 0 < n < 2**32; ``stream`` is modified in place.

    By multiplication and shift (Lemire, "Fast random integer generation in an interval", 2019, section 4)
    without rejection: probabilities deviate by a factor of less than n / 2**32.
    """
    return np.int64(((next_uint64(stream) >> S32) * np.uint64(n)) >> S32)  # type: ignore[return-value]


@njit
def uniform(stream: Stream) -> float:
    """A random multiple of 2**-53 in [0, 1); ``stream`` is modified in place."""
    return np.float64(next_uint64(stream) >> _S11) * 1.1102230246251565e-16


def new_stream(*identity: int) -> Stream:
    """A new stream for an identity: a sequence of integers, such as seed, lane and round."""
    state = begin_stream(*identity)
    return np.array([_mixed(state), _mixed(state + _GOLDEN & _ALL_BITS) | 1], dtype=np.uint64)


def begin_stream(*identity: int) -> int:
    """A number below 2**64 from which all streams are made whose identities begin with these integers."""
    state = _GOLDEN
    for number in identity:
        state = _mixed(state ^ number & _ALL_BITS) + _GOLDEN & _ALL_BITS
    return state


def _mixed(z: int) -> int:
    """`mix` of a Python integer: a tenth of the time of NumPy's."""
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _ALL_BITS
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _ALL_BITS
    return z ^ z >> 31
