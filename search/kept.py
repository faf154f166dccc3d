"""Arrays by name: the form in which a search is kept, and how what was kept is looked at before it is used.

Whoever reads kept arrays must assume nothing of them: compiled code reads out of bounds without a word.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[Any]]


class Unsound(ValueError):
    """What was kept cannot be the state of a search; the message says why."""


def take(arrays: Arrays, name: str, dtype: npt.DTypeLike, *shape: int | None) -> npt.NDArray[Any]:
    """The array of that name, which must have this type and shape (None: any length).

    Raises Unsound.
    """
    array = arrays.get(name)
    if array is None:
        raise Unsound(f"there is no {name}")
    fits = array.ndim == len(shape) and all(
        wanted is None or wanted == found for wanted, found in zip(shape, array.shape, strict=True)
    )
    if array.dtype != np.dtype(dtype) or not fits:
        raise Unsound(f"{name} is {array.dtype} {array.shape}, and not {np.dtype(dtype)} {shape}")
    return array


def require(condition: object, reason: str) -> None:
    """Raise Unsound for that reason unless the condition holds."""
    if not condition:
        raise Unsound(reason)


def within(array: npt.NDArray[Any], low: int, high: int, name: str) -> None:
    """Raise Unsound unless all numbers are from low to high."""
    if len(array) and not (array.min() >= low and array.max() <= high):
        raise Unsound(f"{name} has numbers outside {low} to {high}")


def prefixed(prefix: str, arrays: Arrays) -> Arrays:
    """The same arrays, with a prefix before each name."""
    return {prefix + name: array for name, array in arrays.items()}


def without_prefix(prefix: str, arrays: Arrays) -> Arrays:
    """Those whose name begins with the prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
