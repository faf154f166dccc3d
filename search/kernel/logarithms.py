"""Logarithms and roots of counts, from IEEE-exact operations alone, never from a machine's math library, so
that a worker on another machine chooses the same child.

Small counts are looked up in `TABLE`, which comes to kernels among their parameters: as a constant, every
kernel would hold a copy of it.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from games.jit import Int, inner_njit

Table = npt.NDArray[np.float64]
_LN_2 = 0.6931471805599453
_SIZE = 65_536
"""Counts below this are looked up: half a megabyte a function, of which a search touches the front."""
_LARGEST = np.uint64(_SIZE)
_LOGS = np.uint64(2 * _SIZE)
_TWO = np.uint64(2)


def _exact_logs(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """ln n by 2 artanh((m - 1) / (m + 1)) + e ln 2, n = m 2**e, summed in a fixed order."""
    mantissas, exponents = np.frexp(counts.astype(np.float64))
    s = (mantissas - 1.0) / (mantissas + 1.0)
    z = s * s
    series = np.zeros_like(s)
    for k in range(41, 0, -2):
        series = series * z + 1.0 / k
    return 2.0 * s * series + exponents * _LN_2


def _table() -> Table:
    counts = np.arange(2, _SIZE)
    logs = np.concatenate(([0.0, 0.0], _exact_logs(counts)))
    return np.concatenate(([1.0, 1.0], 1.0 / np.sqrt(counts), np.sqrt(logs), logs))


TABLE = _table()
"""[3 * 65,536] for n from 0: 1 / sqrt(n), then sqrt(ln n), then ln n; 1, 0 and 0 for n = 0."""


@inner_njit
def natural_log(table: Table, n: Int) -> float:
    """ln n for n >= 1, to 1e-9 or better, from exact operations alone.

    ln n = ln m + k ln 4 + ln(1 + d), where m = n >> 2 k is small enough for the table.
    """
    m = np.uint64(n)
    shifted = np.uint64(0)
    while m >= _LARGEST:
        m >>= _TWO
        shifted += _TWO
    d = float(np.uint64(n) - (m << shifted)) / float(m << shifted)
    return table[_LOGS + m] + float(shifted) * _LN_2 + d * (1.0 - d * (0.5 - d * 0.3333333333333333))  # type: ignore[no-any-return]


@inner_njit
def sqrt_log(table: Table, n: Int) -> float:
    """sqrt(ln n) for n >= 1."""
    if n < _SIZE:
        return table[_LARGEST + np.uint64(n)]  # type: ignore[no-any-return]
    return math.sqrt(natural_log(table, n))


@inner_njit
def inverse_sqrt(table: Table, n: Int) -> float:
    """1 / sqrt(n) for n >= 1; 1 for n = 0."""
    if n < _SIZE:
        return table[np.uint64(n)]  # type: ignore[no-any-return]
    return 1.0 / math.sqrt(n)
