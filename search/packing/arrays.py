"""Arrays by name, the form in which a search is kept, and the checks of arrays that are read back.

Arrays from a file or the network may be damaged or forged, and compiled code reads out of bounds without an
error. So every array is checked before it is used, and CorruptState is raised for one that does not fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

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


def prefixed(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays, with a prefix before each name."""
    return {prefix + name: array for name, array in arrays.items()}


def without_prefix(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays whose name begins with the prefix, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
