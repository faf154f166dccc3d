"""Generators of random numbers: where they lie in an environment, their states, and other draws of theirs."""

from __future__ import annotations

import copy
import gc
import random
import threading
import types
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from random import Random
from typing import Any

import numpy as np
from numpy.random import BitGenerator, Generator, RandomState

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
    """Seed it in place, because others may hold it too; ``number`` tells apart the generators."""
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
    return [*vars(value).values()] if hasattr(value, "__dict__") and not isinstance(value, GENERATORS) else []


def generators_in(env: Any) -> list[Any]:
    """The generators that lie in an environment."""
    found: list[Any] = [value for value in walk(env) if isinstance(value, GENERATORS)]
    return [each.generator if type(each) is Turned else each for each in found]


def generators_of_process() -> list[Any]:
    """All of this process that garbage collection knows, as it does those of `random` and NumPy, and whose
    state can be set."""
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
    """Other draws within a reset or a step."""

    call: int
    """The number of the call of a generator that draws other numbers, from 1; all others draw the same."""
    seed: int
    """Of the other numbers."""
    seeds: dict[int, int]
    """By the seed of a generator that is made: the one that it has instead."""
    calls: list[str]
    """The names of the methods that were called, to which those of these are added."""
    thread: int
    """The thread whose draws and generators these are; 0 after the step."""

    def maker(self, make: Callable[..., Any]) -> Any:
        """The type, or the function, with the generators that it makes around."""

        def made(*args: Any, **keywords: Any) -> Any:
            if threading.get_ident() != self.thread:
                return make(*args, **keywords)
            args, keywords = self.seeded(args, keywords)
            found = make(*args, **keywords)
            return (self.around(found[0]), *found[1:]) if isinstance(found, tuple) else self.around(found)

        if not isinstance(make, type):
            return made
        # A type, because values are compared with it, of which other generators are instances, too.
        kind = type("Kind", (type,), {"__instancecheck__": lambda _, each: isinstance(each, make)})
        return kind(make.__name__, (make,), {"__new__": lambda _, *args, **keywords: made(*args, **keywords)})

    def around(self, generator: Any) -> Any:
        """The generator, with draws as this turn says."""
        return generator if isinstance(generator, Turned) else Turned(generator, self)

    def seeded(self, args: Any, keywords: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The arguments, with other seeds."""

        def other(value: Any) -> Any:
            if isinstance(value, Turned):
                return value.generator
            return self.seeds.get(int(value), value) if isinstance(value, int | np.integer) else value

        return tuple(map(other, args)), {name: other(value) for name, value in keywords.items()}

    def mix(self, name: str, new: Any, old: Any) -> None:
        """Leave a random part of what a method drew as it was, where all of it is a possible draw then."""
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


class Turned:
    """A generator of whose calls one draws other numbers, and those after it the same as without."""

    def __init__(self, generator: Any, turn: Turn) -> None:
        self.generator, self._turn = generator, turn

    __class__ = property(lambda self: type(self.generator))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(self.generator, memo)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.generator, name)
        return partial(self._called, name, found) if callable(found) else found

    def _called(self, name: str, method: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        turn = self._turn
        if threading.get_ident() != turn.thread:
            return method(*args, **keywords)
        turn.calls.append(name)
        if name == "seed":
            args, keywords = turn.seeded(args, keywords)
        if len(turn.calls) != turn.call:
            return method(*args, **keywords)
        before = state_of(self.generator)
        # Copies of containers, in which the same objects lie.
        same = [*map(copy.copy, args)]
        plain = method(*same, **{name: copy.copy(each) for name, each in keywords.items()})
        after = state_of(self.generator)
        set_state(self.generator, before)
        seed_in_place(self.generator, turn.seed, 0)
        drawn = method(*args, **keywords)
        set_state(self.generator, after)
        if name == "shuffle":
            turn.mix(name, args[0], same[0])
        elif name == "choice" and ("size" in keywords or len(args) > 1):
            replaces = keywords.get("replace", len(args) < 3 or args[2])
            turn.mix("choices" if replaces else "sample", drawn, plain)
        elif name in ("choices", "sample") or (isinstance(drawn, np.ndarray) and name not in _TOGETHER):
            turn.mix(name, drawn, plain)
        return drawn


@contextmanager
def turned(env: Any, outside: Sequence[Any], turn: Turn) -> Iterator[None]:
    """Within, generators draw as ``turn`` says: those that lie in the environment, those ``outside``, and
    those that are made within."""
    from gymnasium.utils import seeding

    makers = (seeding.np_random, np.random.default_rng, *GENERATORS[:-1], *BitGenerator.__subclasses__())
    other = {id(each): turn.maker(each) for each in makers}
    other |= {id(each): Turned(each, turn) for each in outside}
    changes: list[tuple[Any, Any, Any, Any, Any]] = [
        (holder, holder.__setitem__, key, holder[key], Turned(holder[key], turn))
        for holder, key in _places(env, GENERATORS)
    ]
    for space, put in _namespaces(env, vars(seeding)):
        for name, value in [*space.items()]:
            change = other.get(id(value))
            if isinstance(value, _METHODS) and id(value.__self__) in other:
                change = getattr(other[id(value.__self__)], value.__name__)
            if change:
                changes.append((space, put, name, value, change))
    for _, put, key, _, change in changes:
        put(key, change)
    try:
        yield
    finally:
        turn.thread = 0
        for space, put, key, was, change in changes:
            with suppress(KeyError, IndexError):
                if space[key] is change:
                    put(key, was)
        for holder, key in _places(env, Turned):
            holder[key] = holder[key].generator


def _namespaces(env: Any, seeding: Any) -> Iterator[tuple[Any, Callable[[str, Any], None]]]:
    """What may bind names to generators, their methods and what makes them, each with a function that binds
    one: the classes of the environment and its wrappers, their modules, and those of generators."""
    kinds = [kind for owner in owners_of(env) for kind in type(owner).__mro__ if kind is not object]
    methods = [each for kind in kinds for each in vars(kind).values() if type(each) is types.FunctionType]
    modules = seeding, *(each.__globals__ for each in methods)
    for module in {id(each): each for each in (vars(random), vars(np.random), *modules)}.values():
        yield module, module.__setitem__
    for kind in kinds:
        yield vars(kind), partial(setattr, kind)


def _places(env: Any, kinds: Any) -> list[tuple[Any, Any]]:
    """Containers in the environment, and where in them objects of these types lie."""
    found: list[tuple[Any, Any]] = []
    for value in walk(env):
        holder = value if isinstance(value, dict | list) else getattr(value, "__dict__", {})
        items = holder.items() if isinstance(holder, dict) else enumerate(holder)
        found.extend((holder, key) for key, each in items if isinstance(each, kinds))
    return found
