"""Converts the argument ``game`` of a call (a spec, a game object, or a game class) to a spec.

Workers create the game from its spec and the text of its file. So a user's class must be in a file, which is
loaded as a game file: see `games.user_games`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from contextvars import ContextVar
from typing import NoReturn

import games
from games.errors import InvalidInput
from games.game import Game
from games.user_games import installed

_loading: ContextVar[str | None] = ContextVar("loading", default=None)
"""The file that is being loaded because its class was passed as a game; None otherwise."""


def spec_of(game: str | Game | type[Game]) -> str:
    """The spec of the game. Raises InvalidInput (game) if it is not a game, or a class without a file."""
    if (file := _loading.get()) is not None:
        accepted = f'called below `if __name__ == "__main__":` in {file}, which is loaded for its game'
        raise InvalidInput("game", _name_of(game), f"a search that is {accepted}")
    if isinstance(game, str):
        return game
    if isinstance(game, Game):
        if game.source is not None or _comes_with_banyan(type(game)) or game.name in installed():
            return game.spec
        return _spec_of_class(type(game), _options_of(game))
    if not isinstance(game, type) or not issubclass(game, Game):
        _refuse(game, "a game such as 'gomoku:size=15' or './mygame.py', or a games.Game, object or class")
    return game.name if _comes_with_banyan(game) and game.name else _spec_of_class(game, {})


def _spec_of_class(kind: type[Game], options: Mapping[str, str | int]) -> str:
    """A spec of the file that defines the class, with options. Loads the file as a game file."""
    try:
        path = inspect.getfile(kind)
    except (TypeError, OSError):
        path = ""
    if not path.endswith(".py"):
        _refuse(kind, "a class in a file NAME.py, from which workers load it (in a notebook: %%writefile)")
    text = ",".join(f"{key}={value}" for key, value in options.items())
    spec = f"{path}:{text}" if text else path
    token = _loading.set(path)
    try:
        found = type(games.load(spec)).__name__
    finally:
        _loading.reset(token)
    if found != kind.__name__:
        _refuse(kind, f"the class of the game that {path} defines ({found})")
    return spec


def _options_of(game: Game) -> Mapping[str, str | int]:
    """The options of a game object. Raises InvalidInput (game) if the object does not state them."""
    if not game.options and len(inspect.signature(type(game).__init__).parameters) > 1:
        _refuse(game, "its class, a spec such as './mygame.py:size=5', or an object that sets self.options")
    return game.options


def _comes_with_banyan(kind: type[Game]) -> bool:
    return kind.__module__.partition(".")[0] == "games"


def _name_of(game: object) -> str:
    if isinstance(game, str):
        return game
    return game.__name__ if isinstance(game, type) else type(game).__name__


def _refuse(game: object, accepted: str) -> NoReturn:
    raise InvalidInput("game", _name_of(game), accepted)
