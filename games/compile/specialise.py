"""Bind generic functions to one game's rules and compile them with a cache on disk.

A generic function is an ordinary function that calls rules by their `Rules` field names, as globals
that its module imports from `games.compile.rule_stubs` or only declares. For each game, a new function
is made from the code of the generic one, with those globals bound to the game's rules. Numba's cache
identifies a function by its qualified name, and that name includes a hash of all code and constants that
the function uses. So an edit of any of them gives a new cache entry and a stale kernel is never loaded;
and games with equal rules (such as gomoku of any size) share one entry.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numba
import numpy as np

import games.compile.watch  # noqa: F401 - says what is compiled
from games.compile.rule_stubs import DEFAULTS, PLAIN_DEFAULTS
from games.jit import JIT_OPTIONS, inner_njit, kept_njit, source_of
from games.rules import HasRules, Rules

F = TypeVar("F", bound=Callable[..., Any])
_Specialised = dict[str, Callable[..., Any]]
_done: dict[object, tuple[_Specialised, object]] = {}

_LIBRARIES = frozenset({"numba", "numpy", "math", "builtins"})
"""Libraries whose code enters the hash as a version number instead of its content."""


def specialise(
    functions: Sequence[Callable[..., Any]],
    game: HasRules,
    extra_globals: Mapping[str, Any] | None = None,
    *,
    inner: bool = False,
    compiled: bool | None = None,
) -> _Specialised:
    """The generic functions bound to the game and ready to call, by name.

    In the given order, so that later functions can call earlier ones. ``extra_globals`` are bound
    too. Optional rules are bound to the game's own, or to their defaults. Compiled on the first call, with
    a cache on disk beside each function's file; plain Python if the rules are. The same arguments give the
    same functions again. A compiled function's ``stats`` says whether the cache was hit. With ``inner``,
    compiled functions can be called by other compiled ones only, and not from Python, which saves their
    wrappers (games/jit.py). ``compiled``: True for functions that use no rules, which are compiled even if
    these are plain Python.
    """
    extra = dict(extra_globals or {})
    values = tuple((name, id(value)) for name, value in extra.items())
    key = (game.name, game.rules, tuple(_form(game).items()), tuple(functions), values, inner, compiled)
    found = _done.get(key)
    if found is None:
        # The values are kept along with the answer: an id means nothing once its object is gone.
        found = _done.setdefault(key, (_specialise(functions, game, extra, inner, compiled), extra))
    return found[0]


def _form(game: HasRules) -> dict[str, Any]:
    """The constants of `games.compile.rule_stubs`; other objects than games have those of two players."""
    return {
        "HIDDEN": game.rules.determinize is not None,
        "CHANCES": game.rules.chance is not None,
        "REWARDS": getattr(game, "rewards", False),
        "DISCOUNT": float(getattr(game, "discount", 1.0)),
        "PLAYERS": getattr(game, "num_players", 2),
    }


def is_compiled(rules: Rules) -> bool:
    """Whether all rules are jitted; otherwise kernels run as plain Python."""
    return all(hasattr(function, "py_func") for function in rules if function is not None)


def _specialise(
    functions: Sequence[Callable[..., Any]],
    game: HasRules,
    extra: dict[str, Any],
    inner: bool,
    compiled: bool | None,
) -> _Specialised:
    rules_compiled = is_compiled(game.rules)
    compiled = rules_compiled if compiled is None else compiled
    bound: dict[str, Any] = _form(game)
    bound |= {name: rule for name, rule in game.rules._asdict().items() if rule is not None} | extra
    defaults = DEFAULTS if rules_compiled else DEFAULTS | PLAIN_DEFAULTS
    for name, default in defaults.items():
        if name not in bound:
            bound[name] = _bind(default, game.name, bound, rules_compiled)
    answer: _Specialised = {}
    for function in functions:
        name = function.__name__
        bound[name] = answer[name] = _bind(function, game.name, bound, compiled, inner)
    return answer


def _bind(
    function: Callable[..., Any],
    game_name: str,
    bound: Mapping[str, Any],
    compiled: bool,
    inner: bool = False,
) -> Callable[..., Any]:
    generic = source_of(function)
    if not isinstance(generic, FunctionType) or generic.__closure__:
        raise TypeError(f"{function!r} cannot be specialised; expected a function without a closure")
    copy = _copy(generic, bound)
    if not compiled:
        for name in _names(copy.__code__) & copy.__globals__.keys():
            if hasattr(copy.__globals__[name], "py_func"):
                copy.__globals__[name] = callable_from_python(copy.__globals__[name])
        return copy
    kind = "inner_" if inner else ""
    copy.__qualname__ = f"{generic.__name__}.{kind}{game_name}_{fingerprint(copy)}"
    jitted: Callable[..., Any] = inner_njit(copy) if inner else kept_njit(copy, **JIT_OPTIONS)
    return jitted


def _copy(generic: FunctionType, bound: Mapping[str, Any]) -> FunctionType:
    """A copy of a function, with these values for globals."""
    values = {**generic.__globals__, **bound}
    copy = FunctionType(generic.__code__, values, generic.__name__, generic.__defaults__)
    copy.__kwdefaults__ = generic.__kwdefaults__
    copy.__module__, copy.__doc__ = generic.__module__, generic.__doc__
    return copy


@cache
def callable_from_python(function: Any) -> Any:
    """For a function of `inner_njit`, a compiled one that Python can call, cached on disk; else the function.

    Kernels that run as plain Python call some twenty of them, which take seconds to compile.
    """
    if not getattr(function, "targetoptions", {}).get("no_cpython_wrapper"):
        return function
    copy = _copy(function.py_func, {})
    copy.__qualname__ = f"{copy.__name__}.from_python_{fingerprint(function)}"
    return kept_njit(copy, **JIT_OPTIONS)


def rule(*arguments: Any) -> Any:
    """Stands for the rule that a wrapper calls."""
    raise NotImplementedError


def call_1(state: Any) -> Any:
    """Call a rule of one argument."""
    return rule(state)


def call_2(state: Any, other: Any) -> Any:
    """Call a rule of two arguments."""
    return rule(state, other)


def call_3(state: Any, other: Any, stream: Any) -> Any:
    """Call a rule of three arguments."""
    return rule(state, other, stream)


def call_4(state: Any, moves: Any, scratch: Any, kept: Any) -> Any:
    """Call a rule of four arguments."""
    return rule(state, moves, scratch, kept)


def _wrapper(name: str, wrapper: Any) -> Callable[..., Any]:
    """A wrapper of the rule of this name: one of those above, in whose code another global is called."""
    return FunctionType(wrapper.__code__.replace(co_names=(name,)), globals(), name)


_CALLS: tuple[Callable[..., Any], ...] = tuple(
    _wrapper(name, wrapper)
    for wrapper, names in (
        (call_1, ("current_player", "is_terminal", "returns", "evaluate", "pack")),
        (call_2, ("legal_moves", "play", "priority", "score", "unpack", "priorities")),
        (call_3, ("greedy_move", "determinize", "chance")),
        (call_4, ("decisive_moves",)),
    )
    for name in names
)


def calls_of(game: HasRules) -> Rules:
    """The game's rules for callers in Python, cached on disk; rules that only kernels call are None.

    A direct call of a jitted rule from Python would compile it in every process. ``pack`` and ``unpack`` can
    be called if the game has them.
    """
    return Rules(**specialise(_CALLS, game))


def entry_of(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """The machine code of a compiled function for arguments of these types; anything else as it is.

    For a function that is called very often with arguments of these very types, which the machine code does
    not check: the look-up of the types of 60 arrays takes 15 us, the call itself 1 us. An array that the
    function only reads may be read-only. The function is called once with ``arguments``.
    """
    function(*arguments)
    compiled: Any = function
    if not hasattr(compiled, "overloads"):
        return function
    signature = tuple(compiled.typeof_pyval(argument) for argument in arguments)
    return cast(Callable[..., Any], compiled.overloads[signature].entry_point)


def cached_njit(function: F) -> F:
    """Compile a function that belongs to no game, with a cache entry that an edit of its code invalidates.

    For functions that are called from Python. They may allocate arrays. Functions that they call must be
    defined above them.
    """
    function.__qualname__ = f"{function.__name__}.{fingerprint(function)}"
    return kept_njit(function, **{**JIT_OPTIONS, "_nrt": True})


def fingerprint(function: Callable[..., Any]) -> str:
    """A hash, 16 hex digits, of everything that the compiled code of ``function`` depends on.

    The hash covers byte code, constants and the values of the globals that it uses, recursively (with the
    module's name) for every function among these, and the versions of Python, NumPy and Numba. Byte code is
    used instead of source text because that is what is compiled, even if the file was edited after
    its import. Raises TypeError for a global of a type that cannot be hashed reliably.
    """
    walk = _Walk()
    walk.add(f"{sys.version} {np.__version__} {numba.__version__}")
    walk.value(function, "")
    return walk.digest.hexdigest()[:16]


class _Walk:
    """Feeds values into a hash, each function once so that recursion terminates."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self._functions: dict[CodeType, int] = {}

    def add(self, text: str) -> None:
        self.digest.update(text.encode() + b"\n")

    def value(self, value: Any, path: str) -> None:
        source = source_of(getattr(value, "_defn", value))
        if isinstance(source, FunctionType) and not _of_library(source.__module__):
            self._function(source, getattr(value, "targetoptions", None), path)
        elif value is None or isinstance(value, bool | int | float | complex | str | bytes):
            self.add(f"{type(value).__name__} {value!r}")
        elif isinstance(value, np.ndarray | np.generic):
            self.add(f"{value.dtype.descr} {value.shape}")
            self.digest.update(value.tobytes())
        elif isinstance(value, tuple | list | frozenset):
            items = sorted(value, key=repr) if isinstance(value, frozenset) else value
            self.add(f"{type(value).__name__} {len(items)}")
            for item in items:
                self.value(item, path)
        elif isinstance(value, CodeType):
            self._code(value, path)
        elif isinstance(value, type):
            fields = {name: str(hint) for name, hint in getattr(value, "__annotations__", {}).items()}
            self.add(f"{value.__module__}.{value.__qualname__} {fields}")
        elif (
            isinstance(value, FunctionType | BuiltinFunctionType | ModuleType | np.ufunc)
            or _of_library(type(value).__module__)
            or value is Ellipsis
        ):
            self.add(f"{getattr(value, '__module__', '')}.{getattr(value, '__name__', repr(value))}")
        else:
            raise TypeError(
                f"{path}: a {type(value).__name__} cannot be used in compiled code; "
                "expected functions, numbers, text, tuples, or NumPy arrays"
            )

    def _function(self, function: FunctionType, options: object, path: str) -> None:
        if function.__code__ in self._functions:
            self.add(f"function {self._functions[function.__code__]}")
            return
        self._functions[function.__code__] = len(self._functions)
        path = f"{path}{function.__name__}"
        # The module's name matters: a cached kernel imports the modules of its callees when it is loaded.
        self.add(function.__module__)
        self.add(repr(sorted(options.items()) if isinstance(options, dict) else options))
        self._code(function.__code__, path)
        self.value(function.__defaults__, path)
        for cell in function.__closure__ or ():
            self.value(cell.cell_contents, path)
        names = _names(function.__code__)
        # A cached kernel also imports the modules of its arguments' types, which the annotations name.
        types = {name for name in map(str, function.__annotations__.values()) if name.isidentifier()}
        for name in sorted((names | types) & function.__globals__.keys()):
            self.add(name)
            found = function.__globals__[name]
            if name not in names and not isinstance(found, type):
                continue
            self.value(found, f"{path} > {name}")
            if isinstance(found, ModuleType) and not _of_library(found.__name__):
                for attribute in sorted(names & vars(found).keys()):
                    self.value(vars(found)[attribute], f"{path} > {name}.{attribute}")

    def _code(self, code: CodeType, path: str) -> None:
        self.digest.update(code.co_code)
        self.add(f"{code.co_names} {code.co_varnames} {code.co_freevars} {code.co_argcount}")
        self.value(code.co_consts, path)


def _names(code: CodeType) -> set[str]:
    """The global and attribute names that a code object and the code objects nested in it use."""
    nested = (const for const in code.co_consts if isinstance(const, CodeType))
    return set(code.co_names).union(*(_names(inner) for inner in nested))


def _of_library(module: str | None) -> bool:
    return (module or "").partition(".")[0] in _LIBRARIES
