"""Generators of random numbers: where they lie in an environment, their states, and other draws of theirs."""

from __future__ import annotations

import copy
import copyreg
import gc
import pickle
import random
import sys
import threading
import types
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.random import BitGenerator, Generator, RandomState, default_rng

from games.gym.environment import owners_of

GENERATORS = (Generator, RandomState, random.Random, BitGenerator)
"""Types of objects that draw random numbers."""
SHARED = random._inst, np.random.mtrand._rand
"""The generators that `random` and NumPy share with the whole process."""
TABLE = "P"
"""The attribute with the transitions of an environment of toy_text, which never change."""
ATOMIC = frozenset(
    {
        *(type(None), bool, int, float, complex, str, bytes, range, type, types.ModuleType),
        *(types.FunctionType, types.BuiltinFunctionType),
        *(np.bool_, np.float32, np.float64, np.str_),
        *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    }
)
"""Types of objects that never change."""
_TOGETHER = frozenset(
    {"multinomial", "dirichlet", "multivariate_normal", "multivariate_hypergeometric", "permuted", "choice"}
)
"""Methods of generators whose numbers, if they draw several, may depend on each other in their own ways."""
OTHERS = {*sys.stdlib_module_names, "gymnasium", "numpy", "games", "search", "cluster", "banyan"}
"""Packages that keep nothing for an environment."""
INSTALLED = {"site-packages", "dist-packages"}
"""Folders whose modules do not belong together."""
_MAKERS = *GENERATORS[:-1], *BitGenerator.__subclasses__()
BEGUN = "begun"
"""Stands among the names of methods for a generator that was made or seeded."""
_STATES = {"getstate", "setstate", "get_state", "set_state"}
_METHODS = types.MethodType | types.BuiltinMethodType


def state_of(generator: Any) -> Any:
    """The state of a generator."""
    bits = getattr(generator, "bit_generator", generator)
    if isinstance(bits, BitGenerator):
        return bits.state
    return generator.get_state() if isinstance(generator, RandomState) else generator.getstate()


def set_state(generator: Any, state: Any) -> None:
    """Make a generator go on from a state."""
    bits = getattr(generator, "bit_generator", generator)
    if isinstance(bits, BitGenerator):
        bits.state = state
    elif isinstance(generator, RandomState):
        generator.set_state(state)
    else:
        generator.setstate(state)


def seed_in_place(generator: Any, seed: int, number: int) -> None:
    """Seed a generator in place, because others may hold it too; ``number`` tells generators apart."""
    drawn = blake2b(b"%d %d" % (seed, number), digest_size=32).digest()
    high, low = int.from_bytes(drawn[:16], "little"), int.from_bytes(drawn[16:], "little")
    bits = getattr(generator, "bit_generator", generator)
    if not isinstance(bits, BitGenerator):
        generator.seed(low % 2**32)
    elif isinstance(bits, np.random.PCG64):
        # As good as a new generator, in a fraction of the time.
        bits.state = {
            "bit_generator": "PCG64",
            "state": {"state": high, "inc": low | 1},
            "has_uint32": 0,
            "uinteger": 0,
        }
    else:
        bits.state = type(bits)(high).state


def walk(env: Any) -> Iterator[Any]:
    """Everything that lies in an environment and its wrappers, in containers and in attributes of objects,
    once each, without its table of transitions."""
    attributes = [vars(owner) for owner in owners_of(env)]
    visited = {id(each.get(TABLE)) for each in attributes}
    left: list[Any] = attributes[::-1]
    while left:
        value = left.pop()
        if type(value) not in ATOMIC and id(value) not in visited:
            visited.add(id(value))
            yield value
            left.extend(reversed(parts_of(value)))


def parts_of(value: Any) -> list[Any]:
    """What lies in a container, or in the attributes of an object."""
    if isinstance(value, dict):
        return [*value.values()]
    if isinstance(value, list | tuple | set | frozenset | deque):
        return [*value]
    if isinstance(value, GENERATORS):
        return []
    slots = (getattr(value, name, None) for name in copyreg._slotnames(type(value)))  # type: ignore[attr-defined]
    return [*getattr(value, "__dict__", {}).values(), *slots]


def generators_in(env: Any) -> list[Any]:
    """The generators that lie in an environment."""
    return [value for value in walk(env) if isinstance(value, GENERATORS)]


def generators_of_process() -> list[Any]:
    """All generators of this process that garbage collection knows, those of `random` and NumPy among them,
    and whose state can be set."""
    found = [
        each
        for each in gc.get_objects()
        if issubclass(type(each), GENERATORS) and type(each) is not random.SystemRandom
    ]
    parts = {id(getattr(each, name, 0)) for each in found for name in ("bit_generator", "_bit_generator")}
    return [each for each in found if id(each) not in parts]


class Use:
    """A lock, for the use of one environment in a process. Inside it the shared generators have this
    environment's states, outside everybody else's."""

    _process = threading.RLock()

    def __init__(self, generators: Sequence[Any]) -> None:
        self._generators, self._depth = generators, 0
        self._own = self._others = [state_of(each) for each in generators]

    def __enter__(self) -> None:
        self._process.acquire()
        self._depth += 1
        if self._depth == 1:
            self._others = self._swapped(self._own)

    def __exit__(self, *_: object) -> None:
        if self._depth == 1:
            self._own = self._swapped(self._others)
        self._depth -= 1
        self._process.release()

    def _swapped(self, states: list[Any]) -> list[Any]:
        before = [state_of(each) for each in self._generators]
        for generator, state in zip(self._generators, states, strict=True):
            set_state(generator, state)
        return before


@dataclass
class Turn:
    """A reset or a step in which a generator draws other numbers. Calls of generators, and the making or
    seeding of one, are numbered from 1."""

    call: int = 0
    """The number of the call that draws other numbers; 0 for none."""
    seed: int = 0
    """The seed of the other numbers."""
    stays: bool = False
    """True: the call draws the same, and its generator draws other numbers after it, in compiled code too.
    False: the call draws other numbers, and all later calls the same."""
    begins: Sequence[Any] = ()
    """The states that generators have as soon as they are made or seeded, whatever their seeds."""
    calls: list[str] = field(default_factory=list)
    """The names of the methods that were called, or `BEGUN`."""
    begun: list[Any] = field(default_factory=list)
    """The states in which generators began."""

    def around(self, generator: Any) -> Any:
        """The generator, or one that shares its state, of a type whose methods ask the turn."""
        kind = _asking(type(generator))  # type: ignore[arg-type]
        if isinstance(generator, Random):
            generator.__class__ = kind
        elif type(generator) is not kind and not isinstance(generator, BitGenerator):
            generator = kind(getattr(generator, "_bit_generator", None) or generator.bit_generator)
        return generator

    def begin(self, generator: Any) -> None:
        """Note a generator that was made or seeded; it begins in another state if that is the call."""
        self.calls.append(BEGUN)
        if len(self.begun) < len(self.begins):
            set_state(generator, self.begins[len(self.begun)])
        if len(self.calls) == self.call:
            seed_in_place(generator, self.seed, 0)
        self.begun.append(state_of(generator))

    def called(self, generator: Any, name: str, method: Callable[..., Any], args: Any, more: Any) -> Any:
        """What a method of a generator gives in this turn."""
        if name == "seed":
            method(*args, **more)
            return self.begin(generator)
        self.calls.append(name)
        if len(self.calls) != self.call or name == "spawn":
            drawn = method(*args, **more)
            return [self.around(each) for each in drawn] if name == "spawn" else drawn
        if self.stays:
            drawn = method(*args, **more)
            seed_in_place(generator, self.seed, 0)
            return drawn
        before = state_of(generator)
        # Copies of containers, in which the same objects lie.
        same = [*map(copy.copy, args)]
        plain = method(*same, **{key: copy.copy(each) for key, each in more.items()})
        after = state_of(generator)
        set_state(generator, before)
        seed_in_place(generator, self.seed, 0)
        drawn = method(*args, **more)
        set_state(generator, after)
        if name == "shuffle":
            self.mix(name, args[0], same[0])
        elif name == "choice" and ("size" in more or len(args) > 1):
            replaces = more.get("replace", len(args) < 3 or args[2])
            self.mix("choices" if replaces else "sample", drawn, plain)
        elif name in ("choices", "sample") or (isinstance(drawn, np.ndarray) and name not in _TOGETHER):
            self.mix(name, drawn, plain)
        return drawn

    def mix(self, name: str, new: Any, old: Any) -> None:
        """Put a random part of the ``old`` draw of a method back into the ``new`` one, in place, if the
        mixture is a possible draw."""
        shuffled = name in ("shuffle", "permutation")
        if isinstance(new, np.ndarray):
            if new.ndim > 1 and (shuffled or name in ("sample", "choices")):
                return
            new, old = new.reshape(-1), old.reshape(-1)
        elif not isinstance(new, list):
            return
        count = max(1, len(new))
        first, last = self.seed % count, self.seed // count % count
        places = [(first + k) % count for k in range((last - first) % count + 1)]
        again = [(old if shuffled else new)[place] for place in places]
        if shuffled:
            Random(self.seed).shuffle(again)
        elif name == "sample":
            kept = [old[place] for place in {*range(count)}.difference(places)]
            again = [each for each in new if each not in kept][: len(places)]
        if len(again) == len(places):
            for place, each in zip(places, again, strict=True):
                old[place] = each
            new[:] = old


class _Now(threading.local):
    turn: Turn | None = None


_now = _Now()


def _ask(generator: Any, name: str, method: Callable[..., Any], args: Any, more: Any) -> Any:
    turn, _now.turn = _now.turn, None
    # A method that calls others is one call.
    try:
        return method(*args, **more) if turn is None else turn.called(generator, name, method, args, more)
    finally:
        _now.turn = turn


@cache
def _asking(kind: Any) -> Any:
    """A type of generators whose methods ask the turn. They are real ones, because compiled code and methods
    of the type itself take nothing else; their copies are plain, but those of a turn."""
    if "asks" in vars(kind):
        return kind

    def asking(name: str) -> Any:
        method = getattr(kind, name)
        return lambda self, *args, **more: _ask(self, name, partial(method, self), args, more)

    def init(self: Any, *args: Any, **more: Any) -> None:
        kind.__init__(self, *args, **more)
        if _now.turn is not None and not isinstance(self, Random):
            _now.turn.begin(self)

    def reduced(self: Any) -> Any:
        make, args, *rest = kind.__reduce__(self)
        return (
            kind if make is type(self) else make,
            tuple(kind if a is type(self) else a for a in args),
            *rest,
        )

    def copies(self: Any) -> Any:
        turn = _now.turn
        return turn and (lambda _: turn.around(pickle.loads(pickle.dumps(self))))

    names = {name for name in dir(kind) if name[0] != "_" and callable(getattr(kind, name))}
    methods = {name: asking(name) for name in names.difference(_STATES)}
    own = {"asks": True, "__init__": init, "__reduce__": reduced, "__deepcopy__": property(copies)}
    # Values are compared with the type, of which other generators are instances, too.
    meta = type("Kind", (type,), {"__instancecheck__": lambda _, each: isinstance(each, kind)})
    return meta(kind.__name__, (kind,), methods | own)


@contextmanager
def turned(env: Any, outside: Sequence[Any], turn: Turn) -> Iterator[None]:
    """Within, generators draw as ``turn`` says: those that lie in the environment, those ``outside``, and
    those that are made within."""
    other = {id(each): _asking(each) for each in _MAKERS}
    other[id(default_rng)] = lambda *args, **more: turn.around(default_rng(*args, **more))
    randoms = [each for each in (*generators_in(env), *outside) if isinstance(each, Random)]
    kinds = [type(each) for each in randoms]
    other |= {id(each): turn.around(each) for each in (*outside, *randoms)}
    changes: list[tuple[Any, Any, Any, Any, Any]] = [
        (holder, holder.__setitem__, key, holder[key], turn.around(holder[key]))
        for holder, key in _places(env)
    ]
    for space, put, name in _names(*kinds_of(env)):
        value = space.get(name)
        change = other.get(id(value))
        if isinstance(value, _METHODS) and id(value.__self__) in other:
            change = getattr(other[id(value.__self__)], value.__name__)
        if change:
            changes.append((space, put, name, value, change))
    for _, put, key, _, change in changes:
        put(key, change)
    _now.turn = turn
    try:
        yield
    finally:
        _now.turn = None
        for space, put, key, was, change in changes:
            with suppress(KeyError, IndexError):
                if space[key] is change:
                    put(key, was)
        for each, kind in zip(randoms, kinds, strict=True):
            each.__class__ = kind


def kinds_of(env: Any) -> list[type]:
    """The classes of an environment and its wrappers."""
    return [*dict.fromkeys(kind for owner in owners_of(env) for kind in type(owner).__mro__[:-1])]


@cache
def modules_of(*kinds: Any) -> list[types.ModuleType]:
    """The modules of classes, and those loaded from the same folders, except those of libraries."""
    loaded = {name: each for name, each in sys.modules.items() if name.partition(".")[0] not in OTHERS}
    own = {kind.__module__: loaded[kind.__module__] for kind in kinds if kind.__module__ in loaded}
    folders = {path_of(each).parent for each in own.values() if INSTALLED.isdisjoint(path_of(each).parts)}
    for name, each in loaded.items():
        path = path_of(each)
        if INSTALLED.isdisjoint(path.parts) and not folders.isdisjoint(path.parents):
            own[name] = each
    return [*own.values()]


def path_of(module: types.ModuleType) -> Path:
    """The file of a module, if it has one."""
    return Path(getattr(module, "__file__", None) or "/none/none")


@cache
def _names(*kinds: Any) -> list[tuple[Any, Callable[[str, Any], None], str]]:
    """What may be bound to generators, their methods and what makes them, in these classes, in their modules
    and in those of generators: the names with where they are, and a function that binds one there."""
    from gymnasium.utils import seeding

    methods = [each for kind in kinds for each in vars(kind).values() if type(each) is types.FunctionType]
    libraries = map(vars, (random, np.random, np.random.mtrand, seeding, *modules_of(*kinds)))
    modules: dict[int, Any] = {
        id(each): each for each in (*libraries, *(each.__globals__ for each in methods))
    }
    spaces: list[tuple[Any, Any]] = [(space, space.__setitem__) for space in modules.values()]
    spaces += [(vars(kind), partial(setattr, kind)) for kind in kinds]
    return [
        (space, put, name)
        for space, put in spaces
        for name, value in space.items()
        if any(value is each for each in (*_MAKERS, default_rng))
        or isinstance(getattr(value, "__self__", value), GENERATORS)
    ]


def _places(env: Any) -> list[tuple[Any, Any]]:
    """Containers in the environment, and where in them generators of NumPy lie."""
    found: list[tuple[Any, Any]] = []
    for value in walk(env):
        holder = value if isinstance(value, dict | list) else getattr(value, "__dict__", {})
        items = holder.items() if isinstance(holder, dict) else enumerate(holder)
        found.extend((holder, key) for key, each in items if isinstance(each, (Generator, RandomState)))
    return found
