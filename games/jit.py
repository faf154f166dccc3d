"""Numba's ``njit`` with the types of what it decorates kept, and its options set in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
Int: TypeAlias = int | np.signedinteger[Any] | np.unsignedinteger[Any]
"""A whole number in compiled code: of one machine type there, of several in plain Python."""

JIT_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "forceinline": True,
    "_nrt": False,
    "no_cfunc_wrapper": True,
}
"""``numpy`` errors leave out Python's division-by-zero checks. Without Numba's runtime (``_nrt``) no
function counts references to the arrays it is given: each count is a call and an atomic instruction,
half of a simulation's time in tic-tac-toe. The price: such a function cannot make an array. Inlining
is forced for the same reason where a game's own functions still count. Nobody calls them from C, and
wrappers for it are a twentieth of the time of compiling."""


def njit(function: F) -> F:
    """Compile a rules or helper function on its first call.

    Under NUMBA_DISABLE_JIT=1 the function comes back as it is.
    """
    return cast(F, numba.njit(**JIT_OPTIONS)(function))


def source_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The plain Python function behind a compiled one (or the function itself)."""
    return cast(Callable[..., Any], getattr(function, "py_func", function))
