"""The spec of an environment: ``gym:ENV`` or ``gym:ENV(KEY=VALUE,...)``, then options after a colon.

ENV is an id of gymnasium; a module that registers environments when it is imported, and an id
(``minigrid:MiniGrid-Empty-5x5-v0``); or the path of a file, in which any character but a colon may stand, and
the name of a class in it (``./my_env.py:MyEnv``). What stands in parentheses goes to `gymnasium.make`, or to
the class. The options after the last colon are those of `games.gym.game.GymGame`.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from games.errors import InvalidInput
from games.spec import GYM, TEXT_OF, Spec, parse_spec

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


class Named(NamedTuple):
    """What a spec says."""

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
    return Named(found["path"], found["module"], found["name"], arguments, options)


def refuse_reaching_out(spec: Spec) -> None:
    """Raise InvalidInput (field ``game``) for a spec with which clients of a service could reach files, draw
    each step of a simulation, or call methods by name."""
    named = parse(spec)
    refused = None
    if named.path is not None or named.module is not None:
        refused = "an environment of gymnasium's registry, not a file or a module"
    elif named.arguments.get("render_mode", "ansi") != "ansi":
        refused = "an environment without render_mode: simulations would draw each of their steps"
    elif not all(_PLAIN_VALUE.fullmatch(each) for each in named.arguments.values()):
        refused = "an environment of gymnasium whose arguments are numbers and words: others may name files"
    elif named.options.options.get("mask", "auto") not in ("auto", "none"):
        refused = "mask=auto or mask=none: others name methods"
    elif named.options.options.get("unseen", "none") != "none":
        refused = "unseen=none: others name methods"
    if refused is not None:
        raise InvalidInput("game", f"{GYM}:{spec.options[TEXT_OF[GYM]]}", refused)


def _value(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if not _NUMBER.fullmatch(text):
        return text
    return int(text) if text.lstrip("-").isdigit() else float(text)
