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
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from games.gym.environment import Actions, close, owners_of
from games.gym.generators import (
    ATOMIC,
    TABLE,
    generators_in,
    generators_of_process,
    parts_of,
    seed_in_place,
    set_state,
    state_of,
    walk,
)

_CONSTANT = frozenset(
    {TABLE, "spec", "_cached_spec", "metadata"}
    | {"action_space", "observation_space", "_action_space", "_observation_space"}
)
"""Attributes of environments that are not copied: they never change, but for generators of their own."""


class States:
    """One environment, which is taken from position to position."""

    kind = ""
    """The name of this way, as the option ``state`` has it."""
    unseen: str | None = None
    """The name of the environment's method that redraws what the agent has not seen, from generators of its
    own, and returns the observation."""

    def __init__(self, make: Callable[[], Any], actions: Actions) -> None:
        self._make, self._actions = make, actions
        self.env = make()
        self._inside: list[Any] = generators_in(self.env)
        """Generators that lie in the environment."""
        self.outside: list[Any] = []
        """Generators that the environment draws from and that do not lie in it, such as those that
        `random` and NumPy share with the whole process, or one of a module, a class or a closure."""

    def reset(self, episode: int, generators: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; returns the observation and the info. Generators that the environment does not
        seed itself are seeded as in the episode ``generators``, if that is given, else as in this one."""
        # Generators that the environment does not seed itself. Simulations have seeds from 0.
        for number, generator in enumerate(self._inside):
            seed_in_place(generator, -1 - (episode if generators is None else generators), number)
        found: tuple[Any, dict[str, Any]] = self.env.reset(seed=episode)
        # Most environments make theirs anew.
        self.find_generators()
        return found

    def save(self) -> Any:
        """What `restore` needs to go on from here, which never changes."""
        raise NotImplementedError

    def restore(self, saved: Any) -> None:
        """Go on from a position that was saved."""
        raise NotImplementedError

    def seed(self, seed: int) -> None:
        """Make everything that is drawn from now on depend on ``seed`` alone, an integer in [0, 2**62)."""
        for number, generator in enumerate((*self._inside, *self.outside)):
            seed_in_place(generator, seed, number)

    def redraw(self) -> Any:
        """Draw anew what is unseen; returns the observation that the method ``unseen`` gives, else None."""
        return None if self.unseen is None else self.env.get_wrapper_attr(self.unseen)()

    def reseed(self, seed: int) -> Any:
        """`seed`, and then `redraw`."""
        self.seed(seed)
        return self.redraw()

    def played(self, moves: Sequence[int]) -> None:
        """Note moves that were played."""

    def begin_with(self, replay: Callable[[], Any]) -> None:
        """Note that ``replay`` leads to where the environment is."""

    def close(self) -> None:
        """Close the environment and let go of it; nothing of this object can be used any more."""
        close(vars(self).get("env"))
        vars(self).clear()

    def content(self) -> Counter[str]:
        """How often each number and text lies in the environment, wherever it lies."""
        content: Counter[str] = Counter()
        for value in walk(self.env):
            parts = value.ravel().tolist() if isinstance(value, np.ndarray) else parts_of(value)
            content.update(repr(each) for each in parts if type(each) in ATOMIC)
        seeds = (vars(owner).get("_np_random_seed") for owner in owners_of(self.env))
        return content - Counter(map(repr, seeds))

    def drawn(self) -> list[bytes]:
        """The states of all generators of random numbers, to be compared."""
        return [pickle.dumps(state_of(generator)) for generator in (*self._inside, *self.outside)]

    def find_generators(self) -> None:
        """Note which generators lie in the environment."""
        self._inside = generators_in(self.env)

    def look_outside(self, play: Callable[[], Any]) -> bool:
        """Note as ``outside`` the generators of this process that ``play`` (a reset and steps) draws from and
        that do not lie in the environment; returns False if it makes one outside, which could not be kept."""
        before = [(each, pickle.dumps(state_of(each))) for each in generators_of_process()]
        inside = [*self._inside]
        play()
        mine = {id(each) for each in (*inside, *self._inside)}
        moved = [each for each, state in before if pickle.dumps(state_of(each)) != state]
        self.outside = [each for each in moved if id(each) not in mine]
        old = {id(each) for each, _ in before} | mine
        # What a reset threw away may still be there.
        gc.collect()
        return all(id(each) in old for each in generators_of_process())


class CopyStates(States):
    """Copies of the attributes of the environment and of its wrappers."""

    kind = "copy"
    wrappers_only = False
    """Whether only wrappers are copied, because the environment inside them keeps its state itself."""

    def __init__(self, make: Callable[[], Any], actions: Actions) -> None:
        super().__init__(make, actions)
        owners = owners_of(self.env)
        self._memo = {id(owner): owner for owner in owners}
        self._owners = owners[:-1] if self.wrappers_only else owners

    def save(self) -> Any:
        generators = [(each, state_of(each)) for each in self._inside]
        outside = [state_of(each) for each in self.outside]
        return self._copies([vars(owner) for owner in self._owners], generators), generators, outside

    def restore(self, saved: Any) -> None:
        copies, generators, outside = saved
        for owner, attributes in zip(self._owners, self._copies(copies, generators), strict=True):
            own = vars(owner)
            own.update(attributes)
            if len(own) > len(attributes):
                for name in own.keys() - attributes.keys():
                    del own[name]
        self._inside = [generator for generator, _ in generators]
        for generator, state in (*generators, *zip(self.outside, outside, strict=True)):
            set_state(generator, state)

    def _copies(self, dicts: list[dict[str, Any]], generators: list[Any]) -> list[dict[str, Any]]:
        # One memo for all: what lies in two places is one thing in the copies too.
        memo = self._memo | {id(each): each for each in (*(each for each, _ in generators), *self.outside)}
        return [
            {
                name: value if type(value) in ATOMIC or name in _CONSTANT else copy.deepcopy(value, memo)
                for name, value in attributes.items()
            }
            for attributes in dicts
        ]


class CloneStates(CopyStates):
    """The environment's own ``clone_state`` and ``restore_state``, or ``get_state`` and ``set_state``, and
    copies of the attributes of its wrappers."""

    kind = "clone"
    wrappers_only = True

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

    def save(self) -> Any:
        return self._get(), super().save()

    def restore(self, saved: Any) -> None:
        own, others = saved
        self._put(own)
        super().restore(others)


class DeepcopyStates(States):
    """Copies of the environment as a whole."""

    kind = "deepcopy"

    def save(self) -> Any:
        return self._copy(self.env), [state_of(each) for each in self.outside]

    def restore(self, saved: Any) -> None:
        env, outside = saved
        self.env = self._copy(env)
        self.find_generators()
        for generator, state in zip(self.outside, outside, strict=True):
            set_state(generator, state)

    def _copy(self, env: Any) -> Any:
        return copy.deepcopy(env, {id(each): each for each in self.outside})


class ReplayStates(States):
    """The moves since the start of the episode, which are played again."""

    kind = "replay"

    def __init__(self, make: Callable[[], Any], actions: Actions) -> None:
        super().__init__(make, actions)
        self._episode = 0
        self._trail: list[Any] = []
        """Moves; -1 - seed where the generators were seeded; None where what is unseen was redrawn; first
        what is called instead of a reset."""

    def reset(self, episode: int, generators: int | None = None) -> tuple[Any, dict[str, Any]]:
        self._episode, self._trail = episode, []
        return super().reset(episode, generators)

    def begin_with(self, replay: Callable[[], Any]) -> None:
        self._trail = [replay]

    def save(self) -> Any:
        return self._episode, tuple(self._trail)

    def restore(self, saved: Any) -> None:
        episode, trail = saved
        if not callable(next(iter(trail), None)):
            self.reset(episode)
        for each in trail:
            if callable(each):
                each()
            elif each is None:
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
"""The ways of keeping positions, in the order in which they are tried."""
