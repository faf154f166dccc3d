"""The games by name: from one line of text to a `Game`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from games.battleship import Battleship
from games.errors import InvalidInput
from games.game import Game
from games.gomoku import Gomoku
from games.spec import Spec, parse_spec
from games.tictactoe import TicTacToe

_FACTORIES: dict[str, Callable[[Spec], Game]] = {
    "battleship": Battleship.from_spec,
    "gomoku": Gomoku.from_spec,
    "tictactoe": TicTacToe.from_spec,
}


def names() -> list[str]:
    """The names of all games, sorted."""
    return sorted(_FACTORIES)


@lru_cache(maxsize=64)
def load(text: str) -> Game:
    """The game that a spec such as ``gomoku:size=15`` names; raises InvalidInput (field ``game``)."""
    spec = parse_spec(text, "game")
    factory = _FACTORIES.get(spec.name)
    if factory is None:
        raise InvalidInput("game", spec.name, "one of " + ", ".join(names()))
    return factory(spec)
