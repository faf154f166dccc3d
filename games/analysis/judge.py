"""The judge of a game: what knows the exact value of its positions."""

from __future__ import annotations

from collections.abc import Callable

from games.analysis.table import table_of
from games.errors import InvalidInput
from games.game import Game
from games.judge import Judge, Outcome

__all__ = ["Judge", "Outcome", "judge_of"]


def judge_of(game: Game, report: Callable[[int, int], None] | None = None) -> Judge:
    """The exact judge of a game: its own solver, or a table of all its positions.

    ``report`` is called as `games.analysis.solving.solve` does, if a table must be made. Raises InvalidInput
    (field ``judge``) for a game that has neither.
    """
    judge = game.exact_solver()
    if judge is not None:
        return judge
    if game.rules.pack is None or game.rules.unpack is None:
        accepted = (
            f"games (no exact judge of {game.spec} is known): connect_four, tictactoe, grundy, "
            "morris:variant=six or three, or a game of your own with pack and unpack have one"
        )
        raise InvalidInput("judge", "exact", accepted)
    return table_of(game, report)
