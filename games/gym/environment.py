"""Environments: how they are made, which actions they have, and which of these are legal."""

from __future__ import annotations

import copy
import importlib
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from games.errors import InvalidInput
from games.gym import ale
from games.gym.naming import Named
from games.rules import MAX_MOVES
from games.user_games import module_of, reason_of

ANSI = "ansi"
MOST_STEPS = 100_000
"""The most steps that an episode may have."""


def gymnasium_or_refuse(field: str, value: str) -> Any:
    """The module gymnasium; raises InvalidInput if it is not installed."""
    try:
        import gymnasium
    except ImportError:
        accepted = "gymnasium to be installed: pip install gymnasium"
        raise InvalidInput(field, value, accepted) from None
    return gymnasium


def maker(named: Named, source: str | None) -> tuple[Callable[[], Any], int | None]:
    """A function that makes the environment, and after how many steps gymnasium would truncate an episode.

    ``source``: the text of the file. The environment has no wrapper of gymnasium's own, whose limit of steps
    the game keeps itself, unless others stand around these. Raises InvalidInput (field ``game``).
    """
    gymnasium = gymnasium_or_refuse("game", named.environment)
    if named.path is None:
        make, limit = _from_registry(named, gymnasium)
    else:
        assert source is not None
        factory = getattr(module_of(named.path, source), named.name, None)
        if not callable(factory):
            accepted = f"a file that defines {named.name}, a gymnasium.Env or a function that makes one"
            raise InvalidInput("game", named.environment, accepted)
        make, limit = factory, None
    arguments = named.values

    def made(**more: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                env = make(**arguments, **more)
            except Exception as error:
                accepted = f"an environment that can be made ({reason_of(error)})"
                raise InvalidInput("game", named.environment, accepted) from None
        if not isinstance(env, gymnasium.Env):
            raise InvalidInput("game", named.environment, f"a gymnasium.Env, not a {type(env).__name__}")
        ale.take_over_stickiness(env)
        return env

    first = made()
    more: dict[str, Any] = {}
    if ANSI in (first.metadata or {}).get("render_modes", ()) and "render_mode" not in arguments:
        # A class need not take the argument.
        with suppress(InvalidInput):
            close(made(render_mode=ANSI))
            more = {"render_mode": ANSI}
    limits = (getattr(owner, "_max_episode_steps", None) for owner in owners_of(first)[:-1])
    limit = min((each for each in (*limits, limit) if each is not None), default=None)
    close(first)
    return lambda: made(**more), limit


def _from_registry(named: Named, gymnasium: Any) -> tuple[Callable[..., Any], int | None]:
    more: dict[str, Any] = {"disable_env_checker": True}
    if named.module is not None:
        try:
            importlib.import_module(named.module)
        except Exception as error:
            accepted = f"a module that can be imported, which registers environments ({reason_of(error)})"
            raise InvalidInput("game", named.environment, accepted) from None
    if named.name.startswith(ale.PREFIX):
        ale.register(gymnasium)
        if "obs_type" not in named.values:
            # No search looks at the pixels, and each position that is kept would hold its own.
            more["obs_type"] = "ram"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spec = copy.copy(gymnasium.spec(named.name))
    except gymnasium.error.Error as error:
        raise InvalidInput("game", named.environment, f"an environment of gymnasium ({error})") from None
    limit = named.values.get("max_episode_steps", spec.max_episode_steps)
    if limit not in (spec.max_episode_steps, -1) and not (isinstance(limit, int) and 0 < limit <= MOST_STEPS):
        accepted = f"max_episode_steps from 1 to {MOST_STEPS}, or -1 for none"
        raise InvalidInput("game", named.environment, accepted)
    if not spec.additional_wrappers:
        spec.order_enforce, more["max_episode_steps"] = False, -1

    def make(**arguments: Any) -> Any:
        return gymnasium.make(spec, **arguments | more)

    return make, None if limit == -1 else limit


def close(env: Any) -> None:
    """Close an environment; whatever that raises is of no use any more."""
    with suppress(Exception):
        env.close()


def owners_of(env: Any) -> list[Any]:
    """The environment's wrappers, outermost first, and what they stand around."""
    owners = [env]
    while owners[-1] is not env.unwrapped:
        owners.append(owners[-1].env)
    return owners


class Actions:
    """The actions of an environment, numbered from 0, and which of them are legal."""

    def __init__(self, env: Any, start: tuple[Any, dict[str, Any]], mask: str, spec: str) -> None:
        """``start``: what the first reset gave. ``mask``: the name of a method, ``auto`` or ``none``."""
        self._spec = spec
        self.actions, self.names = _listed(env.action_space, spec)
        named = getattr(env.unwrapped, "get_action_meanings", None)
        if ale.emulator_of(env) is not None and callable(named) and len(named()) == len(self.names):
            self.names = [str(name) for name in named()]
        self.all: Sequence[int] = range(len(self.actions))
        self.masked = mask != "none"
        """Whether masks are looked for."""
        self.method: str | None = mask if mask not in ("auto", "none") else None
        method = self.method or "action_masks"
        if env.has_wrapper_attr(method) and callable(env.get_wrapper_attr(method)):
            if mask == "auto" and self.mask_in(*start) is None:
                self.method = method
        elif self.method is not None:
            raise InvalidInput("game option mask", mask, "auto, none, or the name of a method")

    def mask_in(self, observation: Any, info: dict[str, Any]) -> Any:
        """The mask that came with a step, ``action_mask`` of the info or of an observation that is a dict."""
        found = info.get("action_mask")
        return observation.get("action_mask") if found is None and isinstance(observation, dict) else found

    def legal(self, env: Any, mask: Any) -> Sequence[int]:
        """The legal ones after a step that came with this mask of `mask_in`, and did not end the episode;
        without a mask all. Raises InvalidInput for a mask that is none, or that forbids all."""
        if self.method is not None:
            mask = env.get_wrapper_attr(self.method)()
        if mask is None or not self.masked:
            return self.all
        given = np.asarray(mask)
        allowed = given == 1
        if given.size != len(self.all) or not np.all(allowed | (given == 0)):
            shown = " ".join(str(mask).split())[:60]
            accepted = f"action masks of {len(self.all)} numbers, each 0 or 1, not {shown}"
            raise InvalidInput("game", self._spec, accepted)
        legal: list[int] = np.flatnonzero(allowed).tolist()
        if not legal:
            accepted = "action masks that allow an action until the episode ends (mask=none ignores masks)"
            raise InvalidInput("game", self._spec, accepted)
        return legal


class _Copies(list[Any]):
    """Arrays, each of which is given out as a copy: an environment may keep it, or change it."""

    def __getitem__(self, place: Any) -> Any:
        return super().__getitem__(place).copy()


def _listed(space: Any, spec: str) -> tuple[list[Any], list[str]]:
    """The actions of a space, and their names; raises InvalidInput (field ``game``)."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        count = int(space.n)
    elif isinstance(space, spaces.MultiDiscrete):
        count = int(np.prod(space.nvec, dtype=object))
    else:
        raise InvalidInput(
            "game", spec, f"actions in a Discrete or MultiDiscrete space, not a {_kind(space)}"
        )
    if count > MAX_MOVES:
        raise InvalidInput("game", spec, f"an environment with at most {MAX_MOVES} actions, not {count}")
    if isinstance(space, spaces.Discrete):
        # As the space samples them: numbers of NumPy.
        actions = [space.dtype.type(int(space.start) + move) for move in range(count)]
        return actions, [str(action) for action in actions]
    parts = _Copies()
    for move in range(count):
        part = np.array(np.unravel_index(move, space.nvec.ravel()), dtype=space.dtype).reshape(space.shape)
        parts.append(part + np.asarray(space.start, dtype=space.dtype))
    return parts, ["/".join(map(str, part.ravel().tolist())).replace("/", "_") for part in parts]


def _kind(space: Any) -> str:
    shape = getattr(space, "shape", None)
    return f"{type(space).__name__}{shape if shape else ''}"


def comparable(value: Any) -> Any:
    """The value in a form that == compares and dicts take for a key."""
    if isinstance(value, dict):
        return tuple((key, comparable(each)) for key, each in value.items())
    if isinstance(value, list | tuple):
        return tuple(comparable(each) for each in value)
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.str, value.shape, value.tobytes()
    return repr(value)
