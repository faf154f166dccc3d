"""The games that clients of a service may use: the built-in ones, and those that its operator allows.

Games of installed packages and of OpenSpiel are third-party code, which may crash the process that runs it.
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
from games.spec import OPENSPIEL, Spec, is_path, parse_game_spec

OPTION = "--allow-games"
FORM = "the name of a game without options, such as my_game, openspiel:connect_four or 'openspiel:*'"
_PATTERN = re.compile(rf"(?:{OPENSPIEL}:[\w*]+|[\w.*-]+)", re.ASCII)


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

    @property
    def some(self) -> bool:
        """Whether any game is allowed in addition to the built-in ones."""
        return bool(self.patterns)

    def is_foreign(self, text: str) -> bool:
        """Whether the game of a spec is third-party code.

        Raises InvalidInput (field ``game``) for a game that is not allowed.
        """
        spec = parse_game_spec(text)
        if spec.name in catalogue.built_in():
            return False
        if is_path(spec.name):
            raise InvalidInput("game", text, f"a name, not a file: {self._accepted}")
        there = spec.name == OPENSPIEL or spec.name in own.installed()
        if there and any(fnmatchcase(_plain_name(spec), pattern) for pattern in self.patterns):
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
        if pattern.startswith(f"{OPENSPIEL}:"):
            if importlib.util.find_spec("pyspiel") is None:
                accepted = "OpenSpiel to be installed: pip install 'banyan-mcts[openspiel]'"
                raise InvalidInput("allow_games", pattern, accepted)
        elif "*" not in pattern and pattern not in catalogue.names():
            installed = ", ".join(catalogue.names())
            raise InvalidInput("allow_games", pattern, f"a game that is installed ({installed})")
    return AllowedGames(tuple(patterns))


def _plain_name(spec: Spec) -> str:
    """The name of a game without options, in the form of the patterns."""
    if spec.name != OPENSPIEL:
        return spec.name
    return f"{OPENSPIEL}:{spec.options.get('game', '').partition('(')[0]}"
