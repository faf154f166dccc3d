"""Answers that wait for their turn, as arrays."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from search.ask_tell.leaf import Answer
from search.packing.arrays import Arrays, require, take, within
from search.tree.arena import MAX_CHILDREN


def pack_answers(answers: Mapping[int, Answer]) -> Arrays:
    """``ids`` [K], ``values`` [K], ``sizes`` [K], and ``priors``, joined."""
    priors = [answer.priors for answer in answers.values()]
    return {
        "ids": np.array([*answers], dtype=np.int64),
        "values": np.array([answer.value for answer in answers.values()], dtype=np.float64),
        "sizes": np.array([len(each) for each in priors], dtype=np.int32),
        "priors": np.concatenate([np.empty(0, dtype=np.float32), *priors]),
    }


def unpack_answers(arrays: Arrays) -> dict[int, Answer]:
    """The answers that were packed, by number; raises CorruptState for numbers that no answer has."""
    numbers = take(arrays, "ids", np.int64, None)
    values = take(arrays, "values", np.float64, len(numbers))
    sizes = take(arrays, "sizes", np.int32, len(numbers))
    within(sizes, 1, MAX_CHILDREN, "sizes")
    priors = take(arrays, "priors", np.float32, int(sizes.sum()))
    require((np.abs(values) <= 1.0).all(), "values are not from -1 to 1")
    require(((priors >= 0.0) & (priors <= 1.0)).all(), "priors are not from 0 to 1")
    parts = np.split(priors, np.cumsum(sizes)[:-1])
    return {
        number: Answer(value, part.copy())
        for number, value, part in zip(numbers.tolist(), values.tolist(), parts, strict=False)
    }
