"""How positions of one environment are kept and taken up again.

An environment is one object that steps forward. `States.save` gives what it needs to go on from here later,
and `States.restore` takes that up. Which of the ways is right for an environment is found by experiment
(`games.gym.trial`).
"""

from __future__ import annotations

import copy
import inspect
import pickle
import random
import types
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np

from games.errors import InvalidInput
from games.gym.environment import Actions, close, owners_of

GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
"""Types of objects that draw random numbers."""
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

    def reset(self, episode: int) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; returns the observation and the info."""
        # Generators that the environment does not seed itself. Simulations have seeds from 0.
        self._reseed(-1 - episode)
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

    def reseed(self, seed: int) -> Any:
        """Make everything that is drawn from now on depend on ``seed`` alone, an integer in [0, 2**62), and
        then redraw what is unseen; returns the observation that the method ``unseen`` gives, else None."""
        self._reseed(seed)
        return self._redraw()

    def played(self, moves: Sequence[int]) -> None:
        """Be told of moves that were played."""

    def close(self) -> None:
        """Close the environment and let go of it; nothing of this object can be used any more."""
        close(vars(self).get("env"))
        vars(self).clear()

    def drawn(self) -> list[Any]:
        """The states of all generators of random numbers."""
        return [_state_of(generator) for generator in self._generators()]

    def look_for_nested(self) -> None:
        """Find out whether generators lie deeper than in attributes of the environment."""
        self._find_named()
        known = {id(attributes[name]) for attributes, name in self._named}
        self._nested = any(id(each) not in known for each in self._walked_generators())

    def _reseed(self, seed: int) -> None:
        for number, generator in enumerate(self._generators()):
            _seed_generator(generator, seed, number)

    def _redraw(self) -> Any:
        return None if self.unseen is None else self.env.get_wrapper_attr(self.unseen)()

    def _generators(self) -> Iterator[Any]:
        if self._nested:
            yield from self._walked_generators()
        else:
            for attributes, name in self._named:
                yield attributes[name]

    def _find_named(self) -> None:
        self._named = [
            (vars(owner), name)
            for owner in owners_of(self.env)
            for name, value in vars(owner).items()
            if isinstance(value, GENERATORS)
        ]

    def _walked_generators(self) -> Iterator[Any]:
        for value in _walk([vars(owner) for owner in owners_of(self.env)], self._passed_over):
            if isinstance(value, GENERATORS):
                yield value

    def _kept_generators(self) -> list[tuple[dict[str, Any], str, Any, Any]]:
        return [(d, name, d[name], _state_of(d[name])) for d, name in self._named]


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

        def look() -> None:
            for owner in self._owners:
                for value in vars(owner).values():
                    if type(value) not in _BY_REFERENCE and id(value) not in self._passed_over:
                        found = _fingerprint(value)
                        if known.setdefault(id(value), (value, found))[1] != found:
                            known[id(value)] = (value, None)

        play(look)
        for value, found in known.values():
            if found is not None and (len(found) > _SMALL or not _is_plain(value)):
                self._prints[id(value)] = found
                self._passed_over[id(value)] = value
        self._deep = _has_aliases([vars(owner) for owner in self._owners], self._passed_over)

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
        for attributes, name, generator, state in generators:
            attributes[name] = generator
            _set_state(generator, state)
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
        saved, self.env = self.env, None
        return saved

    def restore(self, saved: Any) -> None:
        self.env = copy.deepcopy(saved)
        self._find_named()


class ReplayStates(States):
    """The moves since the start of the episode, which are played again."""

    kind = "replay"

    def __init__(self, make: Callable[[], Any], actions: Actions) -> None:
        super().__init__(make, actions)
        self._episode = 0
        self._trail: list[int] = []
        """Moves; and -1 - seed where the generators were seeded."""

    def reset(self, episode: int) -> tuple[Any, dict[str, Any]]:
        self._episode, self._trail = episode, []
        return super().reset(episode)

    def save(self) -> Any:
        return self._episode, tuple(self._trail)

    def restore(self, saved: Any) -> None:
        episode, trail = saved
        self.reset(episode)
        for each in trail:
            if each < 0:
                self._reseed(-1 - each)
                self._redraw()
            else:
                self.env.step(self._actions.actions[each])
        self._trail = list(trail)

    def reseed(self, seed: int) -> Any:
        self._trail.append(-1 - seed)
        return super().reseed(seed)

    def played(self, moves: Sequence[int]) -> None:
        self._trail.extend(moves)


WAYS: tuple[type[States], ...] = (CloneStates, CopyStates, DeepcopyStates, ReplayStates)
"""In the order in which they are tried."""


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
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    return generator.get_state() if isinstance(generator, np.random.RandomState) else generator.getstate()


def _set_state(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    else:
        generator.setstate(state)


def _seed_generator(generator: Any, seed: int, number: int) -> None:
    """Seed it in place, because others may hold it too; ``number`` tells apart the generators."""
    drawn = blake2b(b"%d %d" % (seed, number), digest_size=32).digest()
    high, low = int.from_bytes(drawn[:16], "little"), int.from_bytes(drawn[16:], "little")
    if not isinstance(generator, np.random.Generator):
        generator.seed(low % 2**32)
    elif type(generator.bit_generator) is np.random.PCG64:
        # As good as a new generator, in a fraction of the time.
        generator.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": high, "inc": low | 1},
            "has_uint32": 0,
            "uinteger": 0,
        }
    else:
        generator.bit_generator.state = type(generator.bit_generator)(high).state
