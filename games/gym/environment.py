"""Environments: their specs, how they are made, which actions they have and which are legal, and their text.

A spec is ``gym:ENV`` or ``gym:ENV(KEY=VALUE,...)``, then options after a colon. ENV is an id of gymnasium; a
module that registers environments when it is imported, and an id (``minigrid:MiniGrid-Empty-5x5-v0``); or the
path of a file, in which any character but a colon may stand, and the name of a class in it
(``./my_env.py:MyEnv``). What stands in parentheses goes to `gymnasium.make`, or to the class. The options
after the last colon are those of `games.gym.game.GymGame`.
"""

from __future__ import annotations

import copy
import importlib
import re
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from games.errors import InvalidInput, foreign, refuse_if_any
from games.rules import MAX_MOVES
from games.spec import GYM, TEXT_OF, Spec, parse_spec
from games.user_games import library_or_refuse, module_of, refusing

ANSI = "ansi"
MOST_STEPS = 100_000
"""The most steps that an episode may have."""
FORM = (
    "gym:ENV(KEY=VALUE,...):OPTION=VALUE,... where ENV is an id such as CartPole-v1, module:ID-v0, or "
    "./my_env.py:MyEnv"
)
_SPEC = re.compile(
    r"(?:(?P<path>[^:]+\.py):|(?P<module>[\w.]+):)?(?P<name>[\w./-]+)(?:\((?P<arguments>[^()]*)\))?(?::(?P<options>[^()]+))?",
    re.ASCII,
)
_VALUE = re.compile(r"[\w./+-]+", re.ASCII)
_PLAIN_VALUE = re.compile(r"-?[0-9]+(\.[0-9]+)?|\w+", re.ASCII)
_CONSTANTS: dict[str, Any] = {"True": True, "False": False, "None": None}
_NUMBER = re.compile(r"-?(?:[0-9]+|[0-9]*\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][+-]?[0-9]+)?", re.ASCII)

ALE = "ALE/"
"""The ids of the environments of the Arcade Learning Environment (ale-py) begin with this."""
ALE_SIMULATIONS_PER_S = 100.0
"""`Game.nominal_simulations_per_s`: a step of four frames takes a quarter of a millisecond."""
_STICKINESS = "repeat_action_probability"
_SHADES = " .:-=+*#%@"
_CELL = 6, 5
"""Pixels of the screen that become one character, down and across."""


class Named(NamedTuple):
    """The parts of a spec."""

    path: str | None
    """The path of a file; None for an id of gymnasium."""
    module: str | None
    """The module that registers the id; None where gymnasium has it."""
    name: str
    """The id, or the name of a class in the file."""
    arguments: dict[str, str]
    """What goes to the environment, as text."""
    options: Spec
    """The options of the problem."""

    @property
    def environment(self) -> str:
        """The spec without the options of the problem."""
        arguments = ",".join(f"{key}={value}" for key, value in self.arguments.items())
        name = ":".join(part for part in (self.path or self.module, self.name) if part)
        return f"{GYM}:{name}({arguments})" if arguments else f"{GYM}:{name}"

    @property
    def values(self) -> dict[str, Any]:
        """The arguments as Python's values: True, False, None, numbers, other texts."""
        return {key: _value(text) for key, text in self.arguments.items()}


def parse(spec: Spec) -> Named:
    """The parts of a spec; raises InvalidInput (field ``game``)."""
    text = spec.options.get(TEXT_OF[GYM], "")
    found = _SPEC.fullmatch(text)
    if found is None:
        raise InvalidInput("game", f"{GYM}:{text}", FORM)
    arguments: dict[str, str] = {}
    for item in (found["arguments"] or "").split(",") if found["arguments"] else ():
        key, _, value = (part.strip() for part in item.partition("="))
        if not key.isidentifier() or not _VALUE.fullmatch(value) or key in arguments:
            raise InvalidInput("game", f"{GYM}:{text}", FORM)
        arguments[key] = value
    try:
        options = parse_spec(f"{GYM}:{found['options']}" if found["options"] else GYM, "game")
    except InvalidInput:
        raise InvalidInput("game", f"{GYM}:{text}", FORM) from None
    if arguments.get("render_mode") == "human":
        accepted = "no render_mode=human (drop it): simulations would draw each of their steps"
        raise InvalidInput("game", f"{GYM}:{text}", accepted)
    return Named(found["path"], found["module"], found["name"], arguments, options)


def refuse_reaching_out(spec: Spec) -> None:
    """Raise InvalidInput (field ``game``) for a spec with which clients of a service could reach files, draw
    each step of a simulation, or call methods by name."""
    named = parse(spec)
    arguments, options = named.arguments, named.options.options
    faults = (
        (named.path or named.module, "an environment of gymnasium's registry, not a file or a module"),
        (
            arguments.get("render_mode", ANSI) != ANSI,
            "an environment without render_mode: simulations would draw each of their steps",
        ),
        (
            not all(map(_PLAIN_VALUE.fullmatch, arguments.values())),
            "an environment of gymnasium whose arguments are numbers and words: others may name files",
        ),
        (
            options.get("mask", "auto") not in ("auto", "none"),
            "mask=auto or mask=none: others name methods",
        ),
        (options.get("unseen", "none") != "none", "unseen=none: others name methods"),
    )
    refuse_if_any("game", f"{GYM}:{spec.options[TEXT_OF[GYM]]}", faults)


def _value(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if not _NUMBER.fullmatch(text):
        return text
    return int(text) if text.lstrip("-").isdigit() else float(text)


def maker(named: Named, source: str | None) -> tuple[Callable[[], Any], int | None]:
    """A function that makes the environment, and after how many steps gymnasium would truncate an episode.

    ``source``: the text of the file. Wrappers of gymnasium's own are left out, unless the environment is
    registered with others around them; the game keeps the limit of steps itself. Raises InvalidInput (field
    ``game``).
    """
    gymnasium = library_or_refuse(GYM, "game", named.environment)
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
        with (
            warnings.catch_warnings(action="ignore"),
            refusing("game", named.environment, "an environment that can be made"),
        ):
            env = foreign(make, **arguments, **more)
        if not isinstance(env, gymnasium.Env):
            raise InvalidInput("game", named.environment, f"a gymnasium.Env, not a {type(env).__name__}")
        take_over_stickiness(env)
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
        accepted = "a module that can be imported, which registers environments"
        with refusing("game", named.environment, accepted):
            foreign(importlib.import_module, named.module)
    if named.name.startswith(ALE):
        register_ale(gymnasium)
        if "obs_type" not in named.values:
            # No search looks at the pixels, and each position that is kept would hold its own.
            more["obs_type"] = "ram"
    try:
        with warnings.catch_warnings(action="ignore"):
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
    """Close an environment; exceptions that it raises are ignored."""
    with suppress(Exception):
        foreign(env.close)


def owners_of(env: Any) -> list[Any]:
    """The environment's wrappers, outermost first, and last the environment inside them."""
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
        if emulator_of(env) is not None and callable(named) and len(named()) == len(self.names):
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
        """The legal actions after a step that came with this mask of `mask_in`, and did not end the episode;
        without a mask all. Raises InvalidInput for a value that is no mask, or a mask that forbids all."""
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
        kind = f"{type(space).__name__}{getattr(space, 'shape', None) or ''}"
        raise InvalidInput("game", spec, f"actions in a Discrete or MultiDiscrete space, not a {kind}")
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


def comparable(value: Any) -> Any:
    """The value in a hashable form that == compares."""
    if isinstance(value, dict):
        return tuple((key, comparable(each)) for key, each in value.items())
    if isinstance(value, list | tuple):
        return tuple(comparable(each) for each in value)
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.str, value.shape, value.tobytes()
    return repr(value)


def text_of(env: Any) -> str:
    """What the environment draws now, with codes of colours."""
    text = env.render()
    return str(text.getvalue() if hasattr(text, "getvalue") else text)


def draws_states(env: Any) -> bool:
    """Whether an environment with numbered states draws them as text; it may be in any state afterwards."""
    try:
        return env.render_mode == ANSI and bool(foreign(text_of_state, env, int(env.reset(seed=0)[0])))
    except Exception:
        # It may need a package to draw with.
        return False


def text_of_state(env: Any, state: int) -> str:
    """What an environment with numbered states, such as those of toy_text, draws in this one, without the
    action that was taken last; the environment stays in the state."""
    env.unwrapped.s = state
    if hasattr(env.unwrapped, "lastaction"):
        env.unwrapped.lastaction = None
    return text_of(env)


def register_ale(gymnasium: Any) -> None:
    """Make the environments of the Arcade Learning Environment known to gymnasium, if ale-py is installed."""
    with suppress(ImportError):
        import ale_py

        # Otherwise the emulator prints its name.
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        gymnasium.register_envs(ale_py)


def emulator_of(env: Any) -> Any:
    """The emulator of an environment; None if it has none."""
    emulator = getattr(env.unwrapped, "ale", None)
    return emulator if hasattr(emulator, "cloneState") else None


def take_over_stickiness(env: Any) -> None:
    """Draw sticky actions (Machado et al. 2018) outside the emulator, if the environment has them.

    The emulator's own generator cannot be seeded in a position, so that a search would know which actions
    will stick.
    """
    emulator = emulator_of(env)
    if emulator is None:
        return
    probability = float(emulator.getFloat(_STICKINESS))
    if probability > 0.0:
        emulator.setFloat(_STICKINESS, 0.0)
        inner = env.unwrapped
        # An attribute of the environment, where its generators are looked for.
        inner.sticky_generator = np.random.Generator(np.random.PCG64(0))
        inner.ale = StickyEmulator(emulator, probability, inner.sticky_generator)


class StickyEmulator:
    """An emulator that in each frame repeats the action of the frame before with some probability."""

    def __init__(self, emulator: Any, probability: float, generator: np.random.Generator) -> None:
        self._emulator, self._probability, self._generator = emulator, probability, generator
        self._action: Any = 0

    def act(self, action: Any, strength: float = 1.0) -> float:
        """Play one frame; returns its reward."""
        if self._generator.random() >= self._probability:
            self._action = action
        return float(self._emulator.act(self._action, strength))

    def reset_game(self) -> None:
        """Begin an episode; the action before its first is none."""
        self._action = 0
        self._emulator.reset_game()

    def cloneState(self, *, include_rng: bool = False) -> tuple[Any, Any]:  # noqa: N802
        """The emulator's state and the last action."""
        return self._emulator.cloneState(include_rng=include_rng), self._action

    def restoreState(self, state: tuple[Any, Any]) -> None:  # noqa: N802
        """Go on from a state that was cloned."""
        own, self._action = state
        self._emulator.restoreState(own)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._emulator, name)


def screen_of(emulator: Any) -> str:
    """The screen as text: a character for each block of pixels, the brighter the denser."""
    pixels = np.asarray(emulator.getScreenGrayscale(), dtype=float)
    down, across = (size // cell for size, cell in zip(pixels.shape, _CELL, strict=True))
    blocks = pixels[: down * _CELL[0], : across * _CELL[1]].reshape(down, _CELL[0], across, _CELL[1])
    shades = (blocks.max(axis=(1, 3)) * (len(_SHADES) - 1) / 255.0).round().astype(int)
    return "\n".join("".join(_SHADES[shade] for shade in row) for row in shades.tolist())
