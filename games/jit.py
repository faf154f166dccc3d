"""Numba's ``njit`` with Banyan's options, typed so that a decorated function keeps its type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
Int: TypeAlias = int | np.signedinteger[Any] | np.unsignedinteger[Any]
"""An integer in code that runs compiled and as plain Python, where it may be a Python or a NumPy integer."""

JIT_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "forceinline": True,
    "_nrt": False,
    "no_cfunc_wrapper": True,
}
"""Options of every compiled function.

``error_model``: numpy omits the checks for division by zero. ``_nrt``: without Numba's runtime, functions do
not count references to their array arguments (a call and an atomic instruction each, together half of the
time of a simulation of tic-tac-toe), but they cannot allocate arrays. ``forceinline`` avoids the reference
counts that a user's functions may still do. ``no_cfunc_wrapper`` omits wrappers for calls from C, which
nothing uses and which take 5 % of the compile time."""

INNER_OPTIONS: dict[str, Any] = {**JIT_OPTIONS, "no_cpython_wrapper": True}
"""For functions that compiled code alone calls."""


def njit(function: F) -> F:
    """Compile a function of the rules, or a helper of one, on its first call.

    With NUMBA_DISABLE_JIT=1 the function is returned unchanged.
    """
    return cast(F, numba.njit(**JIT_OPTIONS)(function))


def inner_njit(function: F) -> F:
    """Compile a helper function that compiled code alone calls, on its first call.

    It has no wrapper through which Python could call it: for a function that takes a whole tree the wrapper
    is most of what there is to compile. `games.compile.specialise.callable_from_python` makes one.
    """
    return cast(F, numba.njit(**INNER_OPTIONS)(function))


def source_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The Python function of a compiled function; a function that is not compiled is returned unchanged."""
    return cast(Callable[..., Any], getattr(function, "py_func", function))
