"""The interface of players: choose a move for a position."""

from __future__ import annotations

import random
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from games.errors import InvalidInput
from games.game import Game, State
from games.spec import Options, Spec

MAX_SECONDS = 86_400.0
_SECONDS = re.compile(r"|[0-9]{1,5}(\.[0-9]{1,6})?")


@dataclass(frozen=True, eq=False)
class Observation:
    """The information that a player gets when it is to move."""

    game: Game
    state: State
    """`Game.observation` for the player to move, including history that the rules need; the complete
    position for a player that is `omniscient`. It must not be modified."""
    mover: int
    """The player to move, from 0 (FIRST, SECOND)."""
    legal: tuple[int, ...]
    """The legal moves in ascending order; at least two, because forced moves are made without the player."""
    past: tuple[int, ...] | None = None
    """The moves from the start of the game to this position; None if they are unknown or would reveal hidden
    information."""
    seconds: float | None = None
    """CPU seconds for this move, of the clock of the game; None: as many as the player has by itself."""


@dataclass(frozen=True)
class Choice:
    """A player's answer."""

    move: int
    value: float | None = None
    """The expected return in [-1, 1] from the player's own viewpoint; None if it has no estimate."""
    simulations: int = 0
    """Number of simulations or playouts."""
    nodes: int = 0
    """Number of visited positions or of tree nodes."""
    thought: str = ""
    """A description of the search for people, one line: ``depth 3, 1,204 positions, to the end``."""


class Player(ABC):
    """Chooses moves. What it knows of earlier moves is that of its game (`begin_game`)."""

    omniscient = False
    """Whether the player sees the complete position despite hidden information; for comparison only."""
    clock: Callable[[], float] = staticmethod(time.thread_time)
    """The CPU seconds of the calling thread, by which `uct` and `alphabeta` keep a budget in seconds. It is
    read several times a second: what it raises ends the search."""

    def __init__(self, spec: str) -> None:
        self.spec = spec
        """The player's spec with all options that differ from their defaults."""

    def begin_game(self) -> None:  # noqa: B027 - most players have nothing to forget
        """Called before the first move of each game: what is known of earlier games is forgotten."""

    @abstractmethod
    def choose(self, seen: Observation, seed: int) -> Choice:
        """Choose a legal move. The choice depends only on ``seen`` and ``seed``, and on those of earlier
        moves of the game, unless the budget is in seconds.

        Seconds are CPU time of the thread that computes, so that players on one machine do not take time from
        each other.
        """


class Looker(Player):
    """Plays a random move among those that look best."""

    def __init__(self, spec: Spec, look: Callable[[State, int], Any]) -> None:
        super().__init__(str(spec))
        self._look = look
        """How good a move of a position looks."""

    def choose(self, seen: Observation, seed: int) -> Choice:
        looks = [self._look(seen.state, move) for move in seen.legal]
        best = [move for move, look in zip(seen.legal, looks, strict=True) if look == max(looks)]
        return Choice(random.Random(seed).choice(best), nodes=len(looks))


G = TypeVar("G", bound=Game)


def only(spec: Spec, game: Game, kind: type[G]) -> G:
    """The game, if it is of the only ``kind`` that this player plays; else raises InvalidInput (field
    ``player``)."""
    if not isinstance(game, kind):
        raise InvalidInput("player", str(spec), f"another player: {spec.name} plays {kind.name} only")
    return game


def number_of(options: Options, key: str, default: float, most: float) -> float:
    """An option that is a number from 0 to ``most``, or its default; raises InvalidInput."""
    number = options.number(key)
    if number is not None and not 0.0 <= number <= most:
        raise InvalidInput(f"player option {key}", number, f"a number from 0 to {most:g}")
    return default if number is None else number


def seconds_of(options: Options) -> float | None:
    """The option ``seconds`` of a player; None if it is not given. Raises InvalidInput."""
    text = options.text("seconds", "", _SECONDS, "seconds, such as 0.5")
    if not text:
        return None
    seconds = float(text)
    if not 0.0 < seconds <= MAX_SECONDS:
        raise InvalidInput("player option seconds", text, f"more than 0 and at most {MAX_SECONDS:g}")
    return seconds
