"""What knows the exact value of every position of a game: a table of all positions, or a solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from games.rules import State


@dataclass(frozen=True)
class Outcome:
    """The result of a move under best play."""

    move: int
    value: int
    """The value for the first player: 1 win, 0 draw, -1 loss."""
    plies: int | None
    """Plies from after the move to the end if the winner plays for a short game and the loser for a long
    one; None for a draw, and where only values are known."""


class Judge(Protocol):
    """The exact values of the positions of one game.

    The last two methods raise InvalidInput (field ``position``) for a position that the judge does not know.
    """

    def can_judge(self, state: State) -> bool:
        """Whether the values of this unfinished position and of its moves are known in some milliseconds."""
        ...

    def value_of(self, state: State) -> int:
        """The first player's return under best play: 1, 0 or -1."""
        ...

    def outcomes(self, state: State) -> list[Outcome]:
        """The outcome of each legal move, in ascending order of moves; empty if the game is over."""
        ...
