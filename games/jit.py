"""Numba's ``njit`` with Banyan's options, typed so that functions keep their types; a place for its cache."""

from __future__ import annotations

import os
import pickle
import stat
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.runtime import rtsys
from numba.types import unliteral

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


class _InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a function that other compiled code alone calls: as it is, for its callers, which inline it
    and optimise all at once, and without machine code of its own.

    Numba would optimise it, and make machine code, for each of the functions it is inlined into.
    """

    def add_linking_library(self, library: Any) -> None:
        # Each caller links Numba's runtime.
        if library is not rtsys.library:
            super().add_linking_library(library)

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """No function has an address; the library is made ready for its callers."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> _InnerLibrary:
        """Asked for `set_env`."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """The environment has no place until a caller has one for it: see `_Kernels.save_overload`."""


class _InnerCompiler(Compiler):  # type: ignore[misc]
    """Compiles a function into an `_InnerLibrary`."""

    def define_pipelines(self) -> Any:
        state = self.state
        state.library = _InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()


def inner_njit(function: F) -> F:
    """Compile a helper function that compiled code alone calls, on its first call.

    It has no wrapper through which Python could call it: for a function that takes a whole tree the wrapper
    is most of what there is to compile. `games.compile.specialise.callable_from_python` makes one. Arguments
    that are constants have the type of other numbers: Numba would compile the function once more for each of
    them, to code that inlining makes anyway. It cannot call itself with a constant.
    """
    made: Any = numba.njit(**INNER_OPTIONS, pipeline_class=_InnerCompiler)(function)
    if made is not function:
        template = made.get_call_template
        made.get_call_template = lambda args, kws: template(
            [unliteral(each) for each in args], {name: unliteral(each) for name, each in kws.items()}
        )
    return cast(F, made)


def njit(function: F) -> F:
    """Compile a function of the rules, or a helper of one, on its first call.

    With NUMBA_DISABLE_JIT=1 the function is returned unchanged.
    """
    return cast(F, numba.njit(**JIT_OPTIONS)(function))


def called_njit(function: F) -> F:
    """`njit` for a large function with several callers: its machine code is called, not inlined in each."""
    return cast(F, numba.njit(**{**JIT_OPTIONS, "forceinline": False})(function))


def kept_njit(function: F, **options: Any) -> F:
    """Compile a function on its first call, with options of Numba, and keep its machine code on disk."""
    made: Any = numba.njit(**options)(function)
    if made is not function:
        made._cache = _Kernels(function)
    return cast(F, made)


class _Kernels(FunctionCache):  # type: ignore[misc]
    """Numba's cache, in which what is damaged counts as missing. Where there is no room, nothing is kept."""

    told = False
    """Whether this process has said so."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        # Numba's own first imports all that it can compile; machine code needs nothing but its runtime.
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        for environment in data._find_referenced_environments():
            data.library.codegen.set_env(environment.env_name, environment)
        try:
            super().save_overload(sig, data)
        except OSError as error:
            if not _Kernels.told:
                _Kernels.told = True
                _tell(f"compiled kernels are not kept: {self.cache_path}: {error.strerror}")


class _Files(IndexDataCacheFile):  # type: ignore[misc]
    """The files of a function's kernels, each with a digest at its end: code that is damaged may crash."""

    def _dump(self, value: object) -> bytes:
        data: bytes = super()._dump(value)
        return data + sha256(data).digest()

    def _load_index(self) -> Any:
        return super()._load_index() if self._is_whole(self._index_path) else {}

    def _load_data(self, name: str) -> Any:
        return super()._load_data(name) if self._is_whole(self._data_path(name)) else None

    def _is_whole(self, path: str) -> bool:
        """Whether a file can be read and is what this version of Numba has written."""
        with suppress(OSError):
            data = Path(path).read_bytes().removeprefix(pickle.dumps(self._version, protocol=-1))
            return sha256(data[:-32]).digest() == data[-32:]
        return False


def make_cacheable(file: str) -> None:
    """Make sure that Numba finds a folder for the kernels of a Python file.

    It tries NUMBA_CACHE_DIR, the file's folder, and the user's cache. If it can write to none of them,
    NUMBA_CACHE_DIR becomes a private temporary folder, also for the processes that this one starts, and a
    line on standard error says so.
    """
    beside = os.path.join(os.path.dirname(file), "__pycache__")
    folders = (numba.config.CACHE_DIR, beside, user_cache("numba"))
    if numba.config.DISABLE_JIT or any(map(_can_write, folders)):
        return
    folder = os.path.join(private_folder(), "kernels")
    os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = folder
    _tell(f"compiled kernels are kept in {folder}: no other folder for them can be written to")


def _tell(line: str) -> None:
    print(f"banyan: {line} (NUMBA_CACHE_DIR=FOLDER names one)", file=sys.stderr)


def user_cache(name: str) -> str:
    """A folder in the user's cache, which may be one that cannot be written to."""
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), name)


def writable_cache(name: str) -> Path:
    """A folder in the user's cache, or in a private temporary folder if that cannot be written to."""
    folder = user_cache(name)
    return Path(folder if _can_write(folder) else os.path.join(private_folder(), name))


def _can_write(folder: str) -> bool:
    # Without a home folder "~" stays as it is.
    if not os.path.isabs(folder):
        return False
    try:
        os.makedirs(folder, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


@cache
def private_folder() -> str:
    """A temporary folder of this user alone: the same in every process, unless another user has made it."""
    folder = os.path.join(tempfile.gettempdir(), f"banyan-{os.getuid()}")
    with suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        found = os.lstat(folder)
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
            return folder
    return tempfile.mkdtemp(prefix="banyan-")


make_cacheable(__file__)


def source_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The Python function of a compiled function; a function that is not compiled is returned unchanged."""
    return cast(Callable[..., Any], getattr(function, "py_func", function))
