"""Optimal play of Pig: the probability to win of the player to move, by value iteration.

Neller and Presser, "Optimal play of the dice game Pig", The UMAP Journal 25 (1), 2004.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Probabilities = npt.NDArray[np.float64]


def win_probabilities(goal: int, error: float = 1e-12) -> Probabilities:
    """float64[goal, goal, goal + 6]: the probability to win, by (own score, other's score, turn's points).

    Of the player to move, before the decision, when both play optimally and no game is drawn. Iterated until
    no entry changes by more than ``error``. Entries whose own score and points reach the goal are 1.
    """
    own, _, turn = np.ogrid[:goal, :goal, : goal + 6]
    done = np.broadcast_to(own + turn >= goal, (goal, goal, goal + 6))
    values = np.where(done, 1.0, 0.5)
    while True:
        lost = 1.0 - values[:, :, 0].T
        held = _held(lost, goal)
        rolled = lost[:, :, None] / 6
        for face in range(2, 7):
            rolled = rolled + np.concatenate([values[:, :, face:], np.ones((goal, goal, face))], axis=2) / 6
        better = np.where(done, 1.0, np.maximum(held, rolled))
        if np.abs(better - values).max() < error:
            return better
        values = better


def _held(lost: npt.NDArray[np.float64], goal: int) -> npt.NDArray[np.float64]:
    """The probability to win of a player who holds; ``lost`` [own, other]: with no points in the turn."""
    held = np.ones((goal, goal, goal + 6))
    for turn in range(goal):
        held[: goal - turn, :, turn] = lost[turn:]
    return held
