"""The games that clients of a service may use: the built-in ones, and those that its operator allows.

Games of installed packages and of OpenSpiel, and environments of gymnasium, are third-party code, which may
crash the process that runs it.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from games import catalogue
from games import user_games as own
from games.errors import InvalidInput
from games.spec import GYM, OPENSPIEL, TEXT_OF, Spec, file_of, parse_game_spec

OPTION = "--allow-games"
FORM = (
    "the name of a game without options, such as my_game, openspiel:connect_four, 'openspiel:*' or "
    "gym:FrozenLake-v1"
)
_PATTERN = re.compile(rf"(?:{OPENSPIEL}:[\w*]+|{GYM}:(?!.*\.py$)[\w.*/-]+|[\w.*-]+)", re.ASCII)
_MODULES = {OPENSPIEL: ("pyspiel", "OpenSpiel", "open_spiel"), GYM: ("gymnasium", "gymnasium", "gymnasium")}
"""By the name before a colon: the module that must be installed, its name, and the package that has it."""


@dataclass(frozen=True)
class AllowedGames:
    """The games allowed in addition to the built-in ones."""

    patterns: tuple[str, ...] = ()
    """Names without options; ``*`` stands for any text."""

    @property
    def single(self) -> list[str]:
        """The patterns without ``*``, which are names of single games."""
        known = catalogue.built_in()
        return [name for name in dict.fromkeys(self.patterns) if "*" not in name and name not in known]

    def is_foreign(self, text: str) -> bool:
        """Whether the game of a spec is third-party code.

        Raises InvalidInput (field ``game``) for a game that is not allowed.
        """
        spec = parse_game_spec(text)
        if spec.name in catalogue.built_in():
            return False
        if file_of(spec) is not None:
            raise InvalidInput("game", text, f"a name, not a file: {self._accepted}")
        there = spec.name in _MODULES or spec.name in own.installed()
        if there and any(_matches(_plain_name(spec), pattern) for pattern in self.patterns):
            return True
        raise InvalidInput("game", text, self._accepted)

    @property
    def _accepted(self) -> str:
        names = ", ".join(
            [*catalogue.built_in(), *(p for p in self.patterns if p not in catalogue.built_in())]
        )
        return f"one of {names} (the operator of this server allows others with {OPTION})"


def allow_games(patterns: Sequence[str]) -> AllowedGames:
    """Check patterns given by the operator. Raises InvalidInput (field ``allow_games``) for one that matches
    no installed game."""
    for pattern in patterns:
        if not _PATTERN.fullmatch(pattern):
            raise InvalidInput("allow_games", pattern, FORM)
        family, colon, _ = pattern.partition(":")
        if colon:
            module, name, package = _MODULES[family]
            if importlib.util.find_spec(module) is None:
                accepted = f"{name} to be installed: pip install {package}"
                raise InvalidInput("allow_games", pattern, accepted)
        elif "*" not in pattern and pattern not in catalogue.names():
            installed = ", ".join(catalogue.names())
            raise InvalidInput("allow_games", pattern, f"a game that is installed ({installed})")
    return AllowedGames(tuple(patterns))


def _matches(name: str, pattern: str) -> bool:
    """Whether a pattern allows a name; environments only one of their own, such as ``gym:*``."""
    own = not name.startswith(f"{GYM}:") or pattern.startswith(f"{GYM}:")
    return own and fnmatchcase(name, pattern)


def _plain_name(spec: Spec) -> str:
    """The name of a game without options, in the form of the patterns."""
    if spec.name not in _MODULES:
        return spec.name
    name = re.split(r"[(:]", spec.options.get(TEXT_OF[spec.name], ""), maxsplit=1)[0]
    return f"{spec.name}:{name}"
