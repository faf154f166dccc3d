"""Judges: who knows the value of positions exactly, from a table of a solved game or from a solver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from games.analysis.solving import Outcome
from games.analysis.table import table_of
from games.errors import InvalidInput
from games.game import Game, State


class Judge(Protocol):
    """Knows the exact values of the positions of one game."""

    @property
    def game(self) -> Game: ...

    def can_judge(self, state: State) -> bool:
        """Whether the value of this unfinished position is found in milliseconds."""

    def value_of(self, state: State) -> int:
        """The first player's return under best play: 1, 0 or -1."""

    def outcomes(self, state: State) -> list[Outcome]:
        """The outcome of each legal move, in ascending order of moves; empty if the game is over."""


def judge_of(game: Game, report: Callable[[int, int], None] | None = None) -> Judge:
    """The exact judge of a game: its own solver, or a table of all its positions.

    ``report`` is called as `games.analysis.solving.solve` does, if a table must be made. Raises InvalidInput
    (field ``judge``) for a game that has neither.
    """
    solver: Judge | None = game.exact_solver()
    if solver is not None:
        return solver
    if game.rules.pack is None or game.rules.unpack is None:
        accepted = (
            f"games (no exact judge of {game.spec} is known): connect_four, tictactoe, grundy, "
            "morris:variant=six or three, or a game of your own with pack and unpack have one"
        )
        raise InvalidInput("judge", "exact", accepted)
    return table_of(game, report)
