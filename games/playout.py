"""Random play from a position, cut short after some plies."""

from __future__ import annotations

import numpy as np

from games.rng import Stream
from games.rules import Moves, State
from games.unbound import is_terminal, play, random_move


def play_random(state: State, moves: Moves, stream: Stream, max_plies: int) -> int:
    """Generic: play uniformly random legal moves, ``max_plies`` at most; returns the plies.

    Unlike a game's own ``playout`` it leaves a whole position. ``state`` and ``stream`` are
    modified in place; ``moves`` is scratch, uint16[max_moves].
    """
    plies = 0
    while plies < max_plies and not is_terminal(state):
        play(state, np.int64(random_move(state, moves, stream)))
        plies += 1
    return plies
