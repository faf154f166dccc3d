"""How positions of one environment are kept and taken up again.

An environment is one object that steps forward. `States.save` gives what it needs to go on from here later,
and `States.restore` takes that up. Which of the ways is right for an environment is found by experiment
(`games.gym.trial`).
"""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import random
import threading
import types
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from random import Random
from typing import Any

import numpy as np
from numpy.random import BitGenerator, Generator, RandomState

from games.errors import InvalidInput
from games.gym.environment import Actions, close, owners_of

GENERATORS = (Generator, RandomState, random.Random, BitGenerator)
"""Types of objects that draw random numbers."""
SHARED = random._inst, np.random.mtrand._rand
"""The generators that `random` and NumPy share with the whole process."""
TOGETHER = frozenset(
    {"multinomial", "dirichlet", "multivariate_normal", "multivariate_hypergeometric", "permuted", "choice"}
)
"""Methods of generators whose numbers, if they draw several, may depend on each other in their own ways."""
_METHODS = types.MethodType | types.BuiltinMethodType
FIRST_LOOK = 512
"""After this many restorations, and then each time twice as many, shared values are looked at again."""
_ATOMIC = frozenset(
    {
        *(type(None), bool, int, float, complex, str, bytes, range, type, types.ModuleType),
        *(types.FunctionType, types.BuiltinFunctionType),
        *(np.bool_, np.float32, np.float64, np.str_),
        *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    }
)
"""Types of objects that never change, and so need no copy."""
_BY_REFERENCE = _ATOMIC | {*GENERATORS}
"""Of attributes: the state of a generator is kept apart."""
_LASTING = 4
"""How often a value has to be there to be taken for one that never changes."""
_SMALL = 1024
"""Values whose pickle is smaller are copied even if they never change, where no deepcopy is needed."""


class NotPlainError(Exception):
    """A value that is not made of arrays, lists, dicts, sets and what never changes."""


class States:
    """One environment, which is taken from position to position."""

    kind = ""
    """The name of this way, as the option ``state`` has it."""
    stays = True
    """Whether the environment can go on after `save`, without `restore`."""
    unseen: str | None = None
    """The name of the environment's method that redraws what the agent has not seen, from generators of its
    own, and returns the observation."""

    def __init__(self, make: Callable[[], Any], actions: Actions) -> None:
        self._make, self._actions = make, actions
        self.env = make()
        self._passed_over: dict[int, Any] = {}
        """By id: objects in which no generator is looked for."""
        self._named: list[tuple[dict[str, Any], str]] = []
        self._nested = False
        self.outside: list[Any] = []
        """Generators that the environment draws from and that do not lie in it, such as those that
        `random` and NumPy share with the whole process, or one of a module, a class or a closure."""

    def reset(self, episode: int) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; returns the observation and the info."""
        # Generators that the environment does not seed itself. Simulations have seeds from 0.
        for number, generator in enumerate(self._own_generators()):
            _seed_generator(generator, -1 - episode, number)
        found: tuple[Any, dict[str, Any]] = self.env.reset(seed=episode)
        # Most environments make theirs anew.
        self._find_named()
        return found

    def save(self) -> Any:
        """What `restore` needs to go on from here, which never changes."""
        raise NotImplementedError

    def restore(self, saved: Any) -> None:
        """Go on from a position that was saved."""
        raise NotImplementedError

    def seed(self, seed: int) -> None:
        """Make everything that is drawn from now on depend on ``seed`` alone, an integer in [0, 2**62)."""
        for number, generator in enumerate(self._generators()):
            _seed_generator(generator, seed, number)

    def redraw(self) -> Any:
        """Draw anew what is unseen; returns the observation that the method ``unseen`` gives, else None."""
        return None if self.unseen is None else self.env.get_wrapper_attr(self.unseen)()

    def reseed(self, seed: int) -> Any:
        """`seed`, and then `redraw`."""
        self.seed(seed)
        return self.redraw()

    def same(self, one: Any, other: Any) -> bool:
        """Whether two positions that were saved are certainly equal, but for the states of generators."""
        return False

    def played(self, moves: Sequence[int]) -> None:
        """Be told of moves that were played."""

    def close(self) -> None:
        """Close the environment and let go of it; nothing of this object can be used any more."""
        close(vars(self).get("env"))
        vars(self).clear()

    def content(self) -> Counter[Any]:
        """How often each number and text lies in the environment, wherever it lies."""
        attributes = [{**vars(owner), "_np_random_seed": 0} for owner in owners_of(self.env)]
        content: Counter[Any] = Counter()
        for value in _walk(attributes, self._passed_over):
            parts = value.ravel().tolist() if isinstance(value, np.ndarray) else _parts(value)
            content.update(repr(each) for each in parts if type(each) in _ATOMIC)
        return content

    def drawn(self) -> list[bytes]:
        """The states of all generators of random numbers, to be compared."""
        return [pickle.dumps(_state_of(generator)) for generator in self._generators()]

    def look_for_nested(self) -> None:
        """Find out whether generators lie deeper than in attributes of the environment."""
        self._find_named()
        known = {id(attributes[name]) for attributes, name in self._named}
        self._nested = any(id(each) not in known for each in self._walked_generators())

    def look_outside(self, play: Callable[[], Any]) -> bool:
        """Note as ``outside`` the generators of this process that ``play``, a reset and steps, moves and that
        do not lie in the environment; returns whether none is made anew, which could not be kept."""
        before = [(each, pickle.dumps(_state_of(each))) for each in _all_generators()]
        mine = {id(each) for each in (*self._walked_generators(), *self._generators())}
        play()
        self._find_named()
        mine |= {id(each) for each in (*self._walked_generators(), *self._generators())}
        moved = [each for each, state in before if pickle.dumps(_state_of(each)) != state]
        self.outside = [each for each in moved if id(each) not in mine]
        old = {id(each) for each, _ in before} | mine
        # What a reset threw away may still be there.
        gc.collect()
        return all(id(each) in old for each in _all_generators())

    @contextmanager
    def turned(self, turn: Turn) -> Iterator[None]:
        """Within, the generators draw as ``turn`` says: those that lie in the environment, that `random` and
        NumPy share, and that are made within."""
        from gymnasium.utils import seeding

        makers = (seeding.np_random, np.random.default_rng, *GENERATORS[:-1], *BitGenerator.__subclasses__())
        other = {id(each): turn.maker(each) for each in makers}
        other |= {id(each): Turned(each, turn) for each in self.outside}
        changes: list[tuple[Any, Any, Any, Any, Any]] = [
            (holder, holder.__setitem__, key, holder[key], Turned(holder[key], turn))
            for holder, key in self._places(GENERATORS)
        ]
        for space, put in self._spaces(vars(seeding)):
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
            for holder, key in [*self._places(Turned)]:
                holder[key] = holder[key].generator
            self._find_named()

    def _spaces(self, seeding: Any) -> Iterator[tuple[Any, Callable[[str, Any], None]]]:
        """What may bind names to generators, their methods and what makes them, each with a function that
        binds one: the classes of the environment and its wrappers, their modules, and those of generators."""
        kinds = [kind for owner in owners_of(self.env) for kind in type(owner).__mro__ if kind is not object]
        methods = [each for kind in kinds for each in vars(kind).values() if type(each) is types.FunctionType]
        modules = seeding, *(each.__globals__ for each in methods)
        for module in {id(each): each for each in (vars(random), vars(np.random), *modules)}.values():
            yield module, module.__setitem__
        for kind in kinds:
            yield vars(kind), partial(setattr, kind)

    def _places(self, kinds: Any) -> Iterator[tuple[Any, Any]]:
        """Containers in the environment, and where in them objects of these types lie."""
        attributes: list[Any] = [vars(owner) for owner in owners_of(self.env)]
        for value in [*_walk(attributes, self._passed_over)] if self._nested else attributes:
            holder = value if isinstance(value, dict | list) else getattr(value, "__dict__", {})
            for key, each in [*(holder.items() if isinstance(holder, dict) else enumerate(holder))]:
                if isinstance(each, kinds):
                    yield holder, key

    def _generators(self) -> Iterator[Any]:
        yield from self._own_generators()
        yield from self.outside

    def _own_generators(self) -> Iterator[Any]:
        named = (attributes[name] for attributes, name in self._named)
        for found in self._walked_generators() if self._nested else named:
            yield found.generator if type(found) is Turned else found

    def _find_named(self) -> None:
        self._named = [
            (attributes, name)
            for attributes in [vars(owner) for owner in owners_of(self.env)]
            for name, value in attributes.items()
            if isinstance(value, GENERATORS)
        ]

    def _walked_generators(self) -> Iterator[Any]:
        for value in _walk([vars(owner) for owner in owners_of(self.env)], self._passed_over):
            if isinstance(value, GENERATORS):
                yield value

    def _kept_generators(self) -> list[tuple[Any, Any, Any, Any]]:
        places: list[tuple[Any, Any]] = [*self._named, *((self.outside, k) for k in range(len(self.outside)))]
        return [(holder, key, holder[key], _state_of(holder[key])) for holder, key in places]


class CopyStates(States):
    """Copies of what changes: the attributes of the environment and of its wrappers, but for those that are
    large, or objects, and never change."""

    kind = "copy"

    def __init__(self, make: Callable[[], Any], actions: Actions) -> None:
        super().__init__(make, actions)
        self._owners = self._copied_owners()
        self._prints: dict[int, bytes] = {}
        """By id: the fingerprints of what is shared by all positions."""
        self._passed_over = {id(owner): owner for owner in owners_of(self.env)}
        """By id: the environment, its wrappers, and what is shared."""
        self._deep = False
        """Whether attributes are objects, or several are the same: then copy.deepcopy copies them all."""
        self._count, self._next_look = 0, FIRST_LOOK

    def _copied_owners(self) -> list[Any]:
        return owners_of(self.env)

    def share(self, play: Callable[[Callable[[], None]], None]) -> None:
        """Find what never changes. ``play`` plays episodes, and calls its argument now and then."""
        known: dict[int, tuple[Any, bytes | None]] = {}
        looks: Counter[int] = Counter()

        def look() -> None:
            for owner in self._owners:
                for value in vars(owner).values():
                    if type(value) not in _BY_REFERENCE and id(value) not in self._passed_over:
                        found = _fingerprint(value)
                        looks[id(value)] += 1
                        if known.setdefault(id(value), (value, found))[1] != found:
                            known[id(value)] = (value, None)

        play(look)
        for value, found in known.values():
            if found is None or looks[id(value)] < _LASTING:
                continue
            if len(found) > _SMALL or not _is_plain(value):
                self._prints[id(value)] = found
                self._passed_over[id(value)] = value
        self._deep = _has_aliases([vars(owner) for owner in self._owners], self._passed_over)

    def same(self, one: Any, other: Any) -> bool:
        left_out = {*self._passed_over, *map(id, self._generators())}
        kept = [
            [(name, each) for d in saved[0] for name, each in d.items() if id(each) not in left_out]
            for saved in (one, other)
        ]
        first, second = map(_fingerprint, kept)
        return not self._nested and first is not None and first == second

    def save(self) -> Any:
        generators = self._kept_generators()
        return self._copies([vars(owner) for owner in self._owners], generators), generators

    def restore(self, saved: Any) -> None:
        copies, generators = saved
        for owner, attributes in zip(self._owners, self._copies(copies, generators), strict=True):
            own = vars(owner)
            own.update(attributes)
            if len(own) > len(attributes):
                for name in own.keys() - attributes.keys():
                    del own[name]
        _put_back(generators)
        self._count += 1
        if self._count == self._next_look:
            self._next_look *= 2
            self._look_again()

    def _copies(self, dicts: list[dict[str, Any]], generators: list[Any]) -> list[dict[str, Any]]:
        if not self._deep:
            passed_over = self._passed_over
            try:
                return [
                    {
                        name: value
                        if type(value) in _BY_REFERENCE or id(value) in passed_over
                        else _plain_copy(value)
                        for name, value in attributes.items()
                    }
                    for attributes in dicts
                ]
            except NotPlainError:
                self._deep = True
        memo = dict(self._passed_over)
        for _, _, generator, _ in generators:
            memo[id(generator)] = generator
        return [{name: copy.deepcopy(value, memo) for name, value in each.items()} for each in dicts]

    def _look_again(self) -> None:
        for key, before in self._prints.items():
            if _fingerprint(self._passed_over[key]) != before:
                kind = type(self._passed_over[key]).__name__
                accepted = f"state=deepcopy or state=replay (a {kind} changed that is taken for constant)"
                raise InvalidInput("game option state", self.kind, accepted)


class CloneStates(CopyStates):
    """The environment's own ``clone_state`` and ``restore_state``, or ``get_state`` and ``set_state``, and
    copies of the attributes of its wrappers."""

    kind = "clone"

    def __init__(self, make: Callable[[], Any], actions: Actions) -> None:
        super().__init__(make, actions)
        inner = self.env.unwrapped
        for get, put in (("clone_state", "restore_state"), ("get_state", "set_state")):
            if callable(getattr(inner, get, None)) and callable(getattr(inner, put, None)):
                self._get, self._put = getattr(inner, get), getattr(inner, put)
                break
        else:
            self.close()
            raise NotImplementedError("no clone_state and restore_state, nor get_state and set_state")
        if "include_rng" in inspect.signature(self._get).parameters:
            self._get = partial(self._get, include_rng=True)

    def _copied_owners(self) -> list[Any]:
        return owners_of(self.env)[:-1]

    def same(self, one: Any, other: Any) -> bool:
        return False

    def save(self) -> Any:
        return self._get(), super().save()

    def restore(self, saved: Any) -> None:
        own, others = saved
        self._put(own)
        super().restore(others)


class DeepcopyStates(States):
    """Copies of the environment as a whole."""

    kind, stays = "deepcopy", False

    def reset(self, episode: int) -> tuple[Any, dict[str, Any]]:
        if self.env is None:
            self.env = self._make()
            self._find_named()
        return super().reset(episode)

    def save(self) -> Any:
        outside = [each for each in self._kept_generators() if each[0] is self.outside]
        saved, self.env = (self.env, outside), None
        return saved

    def restore(self, saved: Any) -> None:
        env, outside = saved
        self.env = copy.deepcopy(env, {id(each): each for each in self.outside})
        _put_back(outside)
        self._find_named()


class ReplayStates(States):
    """The moves since the start of the episode, which are played again."""

    kind = "replay"

    def __init__(self, make: Callable[[], Any], actions: Actions) -> None:
        super().__init__(make, actions)
        self._episode = 0
        self._trail: list[int | None] = []
        """Moves; -1 - seed where the generators were seeded; None where what is unseen was redrawn."""

    def reset(self, episode: int) -> tuple[Any, dict[str, Any]]:
        self._episode, self._trail = episode, []
        return super().reset(episode)

    def save(self) -> Any:
        return self._episode, tuple(self._trail)

    def restore(self, saved: Any) -> None:
        episode, trail = saved
        self.reset(episode)
        for each in trail:
            if each is None:
                super().redraw()
            elif each < 0:
                super().seed(-1 - each)
            else:
                self.env.step(self._actions.actions[each])
        self._trail = list(trail)

    def seed(self, seed: int) -> None:
        self._trail.append(-1 - seed)
        super().seed(seed)

    def redraw(self) -> Any:
        self._trail.append(None)
        return super().redraw()

    def played(self, moves: Sequence[int]) -> None:
        self._trail.extend(moves)


WAYS: tuple[type[States], ...] = (CloneStates, CopyStates, DeepcopyStates, ReplayStates)
"""In the order in which they are tried."""


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

    def __reduce__(self) -> Any:
        return self.generator.__reduce__()

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
        before = _state_of(self.generator)
        # Copies of containers, in which the same objects lie.
        same = [*map(copy.copy, args)]
        plain = method(*same, **{name: copy.copy(each) for name, each in keywords.items()})
        after = _state_of(self.generator)
        _set_state(self.generator, before)
        _seed_generator(self.generator, turn.seed, 0)
        drawn = method(*args, **keywords)
        _set_state(self.generator, after)
        if name == "shuffle":
            turn.mix(name, args[0], same[0])
        elif name == "choice" and ("size" in keywords or len(args) > 1):
            replaces = keywords.get("replace", len(args) < 3 or args[2])
            turn.mix("choices" if replaces else "sample", drawn, plain)
        elif name in ("choices", "sample") or (isinstance(drawn, np.ndarray) and name not in TOGETHER):
            turn.mix(name, drawn, plain)
        return drawn


class Use:
    """A lock, for the use of one environment in a process. Inside it the shared generators have this
    environment's states, outside everybody else's."""

    _process = threading.RLock()

    def __init__(self, generators: Sequence[Any]) -> None:
        self._generators, self._depth = generators, 0
        self._own = self._others = [_state_of(each) for each in generators]

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
        before = [_state_of(each) for each in self._generators]
        for generator, state in zip(self._generators, states, strict=True):
            _set_state(generator, state)
        return before


def _all_generators() -> list[Any]:
    """All of this process that are collected as garbage, which those of `random` and NumPy are, and whose
    state can be set."""
    found = [
        each
        for each in gc.get_objects()
        if issubclass(type(each), GENERATORS) and type(each) is not random.SystemRandom
    ]
    parts = {id(getattr(each, name, 0)) for each in found for name in ("bit_generator", "_bit_generator")}
    return [each for each in found if id(each) not in parts]


def _put_back(kept: list[tuple[Any, Any, Any, Any]]) -> None:
    """Put generators back into their places, and their states into them."""
    for holder, key, generator, state in kept:
        holder[key] = generator
        _set_state(generator, state)


def _plain_copy(value: Any) -> Any:
    """A copy of arrays and containers; raises NotPlainError where an object lies in them."""
    kind = type(value)
    if kind in _ATOMIC:
        return value
    if kind is np.ndarray and not value.dtype.hasobject:
        return value.copy()
    if kind is list:
        return [each if type(each) in _ATOMIC else _plain_copy(each) for each in value]
    if kind is tuple:
        return tuple([each if type(each) in _ATOMIC else _plain_copy(each) for each in value])
    if kind is dict:
        return {
            key: each if type(each) in _ATOMIC else _plain_copy(each)
            for key, each in value.items()
            if type(key) in _ATOMIC or _plain_copy(key) is not None
        }
    if kind in (set, frozenset, deque, bytearray):
        for each in value:
            _plain_copy(each)
        return copy.copy(value)
    raise NotPlainError


def _is_plain(value: Any) -> bool:
    try:
        _plain_copy(value)
    except NotPlainError:
        return False
    return True


def _fingerprint(value: Any) -> bytes | None:
    """A text that tells whether the value has changed; None if there is none."""
    try:
        return pickle.dumps(value, protocol=5)
    except Exception:
        return None


def _walk(values: list[Any], passed_over: dict[int, Any]) -> Iterator[Any]:
    """Everything that lies in containers and in attributes of objects, once each."""
    seen = set(passed_over)
    left = list(reversed(values))
    while left:
        value = left.pop()
        if type(value) in _ATOMIC or id(value) in seen:
            continue
        seen.add(id(value))
        yield value
        left.extend(reversed(_parts(value)))


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.values()]
    if isinstance(value, list | tuple | set | frozenset | deque):
        return [*value]
    return [*vars(value).values()] if hasattr(value, "__dict__") and not isinstance(value, GENERATORS) else []


def _has_aliases(values: list[Any], passed_over: dict[int, Any]) -> bool:
    """Whether a container, an array or an object lies in two places."""
    seen: set[int] = set()
    left = [each for value in values for each in _parts(value)]
    while left:
        value = left.pop()
        if type(value) in _BY_REFERENCE or id(value) in passed_over or (type(value) is tuple and not value):
            continue
        if id(value) in seen:
            return True
        seen.add(id(value))
        left.extend(_parts(value))
    return False


def _state_of(generator: Any) -> Any:
    bits = getattr(generator, "bit_generator", generator)
    if isinstance(bits, BitGenerator):
        return bits.state
    return generator.get_state() if isinstance(generator, RandomState) else generator.getstate()


def _set_state(generator: Any, state: Any) -> None:
    bits = getattr(generator, "bit_generator", generator)
    if isinstance(bits, BitGenerator):
        bits.state = state
    elif isinstance(generator, RandomState):
        generator.set_state(state)
    else:
        generator.setstate(state)


def _seed_generator(generator: Any, seed: int, number: int) -> None:
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
