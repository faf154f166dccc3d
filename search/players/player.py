"""What a player is: asked for a move, it answers with one and says what it thought."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

from games.errors import InvalidInput
from games.game import Game, State
from games.spec import Options

MAX_SECONDS = 86_400.0
_SECONDS = re.compile(r"[0-9]{1,5}(\.[0-9]{1,6})?")


@dataclass(frozen=True, eq=False)
class Seen:
    """What a player is shown when it is to move."""

    game: Game
    state: State
    """Game.observation for the player to move, with its past (positions that must not repeat); the
    whole position for a player that is `omniscient`. Not to be changed."""
    mover: int
    """FIRST or SECOND."""
    legal: tuple[int, ...]
    """The legal moves, in ascending order; at least two, because nobody is asked to make a forced move."""
    past: tuple[int, ...] | None = None
    """The moves that led from the game's start to this position; None if they are not known, or if
    they would tell of what is hidden."""


@dataclass(frozen=True)
class Choice:
    """A player's answer."""

    move: int
    value: float | None = None
    """What the player expects: a return in [-1, 1] from its own viewpoint. None if it has no opinion."""
    simulations: int = 0
    """Simulations, or playouts, that it took."""
    nodes: int = 0
    """Positions that were looked at, or nodes of a tree."""
    thought: str = ""
    """One line for people, such as ``depth 3, 1,204 positions, 57 % cut``."""


class Player(ABC):
    """Chooses moves. Between two moves it keeps nothing that could change its answer."""

    omniscient = False
    """Whether it is shown the whole position where something is hidden: a cheat, for comparison only."""

    def __init__(self, spec: str) -> None:
        self.spec = spec
        """The player with all its options that differ from the defaults, as one line."""

    @abstractmethod
    def choose(self, seen: Seen, seed: int) -> Choice:
        """A legal move. The same position and seed give the same one, unless the budget is in seconds.

        Seconds are CPU time of the thread that thinks, so that players on one machine do not rob
        each other.
        """


def seconds_of(options: Options) -> float | None:
    """The option ``seconds`` of a player; raises InvalidInput."""
    text = options.text("seconds", "", re.compile(rf"|{_SECONDS.pattern}"), "seconds, such as 0.5")
    if not text:
        return None
    seconds = float(text)
    if not 0.0 < seconds <= MAX_SECONDS:
        raise InvalidInput("player option seconds", text, f"more than 0 and at most {MAX_SECONDS:g}")
    return seconds
