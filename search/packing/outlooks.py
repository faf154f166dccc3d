"""What searches beyond two players find beside statistics (`search.job.Outlook`) as arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from search.job import Outlook
from search.packing.arrays import Arrays, require, take, within
from search.request import MAX_PLIES


def pack_outlooks(outlooks: Sequence[Outlook]) -> Arrays:
    """``lengths`` [K] of lines, ``lines`` joined, ``values`` [K] of them, ``totals`` of players joined."""
    lines = [np.array(outlook.line, dtype=np.uint16) for outlook in outlooks]
    totals = [np.array(outlook.totals, dtype=np.float64) for outlook in outlooks]
    return {
        "lengths": np.array([len(line) for line in lines], dtype=np.int64),
        "lines": np.concatenate([np.empty(0, dtype=np.uint16), *lines]),
        "values": np.array([outlook.value for outlook in outlooks], dtype=np.float64),
        "totals": np.concatenate([np.empty(0), *totals]),
    }


def unpack_outlooks(arrays: Arrays, count: int, players: int) -> list[Outlook]:
    """The ``count`` outlooks that were packed, with totals of so many players; raises CorruptState."""
    lengths = take(arrays, "lengths", np.int64, count)
    within(lengths, 0, MAX_PLIES, "lengths")
    lines = take(arrays, "lines", np.uint16, int(lengths.sum()))
    values = take(arrays, "values", np.float64, count).tolist()
    totals = take(arrays, "totals", np.float64, count * players)
    require(np.isfinite(totals).all(), "totals are no numbers")
    require(all(value < math.inf for value in values), "values are no numbers")
    outlooks, start = [], 0
    for k, length in enumerate(lengths.tolist()):
        line = tuple(lines[start : start + length].tolist())
        outlooks.append(Outlook(line, values[k], tuple(totals[k * players : (k + 1) * players].tolist())))
        start += length
    return outlooks
