"""The judge of a game: what knows the exact value of its positions."""

from __future__ import annotations

from games.errors import InvalidInput
from games.game import Game
from games.judge import Judge, Outcome

__all__ = ["Judge", "Outcome", "judge_of"]


def judge_of(game: Game) -> Judge:
    """The game's exact solver; raises InvalidInput (field ``game``) for a game that has none."""
    judge = game.exact_solver()
    if judge is None:
        raise InvalidInput("game", game.spec, "a game with an exact solver, such as connect_four")
    return judge
