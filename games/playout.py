"""Random play from a position, cut short after some plies."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.rng import Stream
from games.rules import Moves, State
from games.unbound import determinize, evaluate, is_terminal, play, random_move, returns


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


def play_cut(
    root_state: State,
    playouts: int,
    max_plies: int,
    values: npt.NDArray[np.float64],
    state: State,
    moves: Moves,
    stream: Stream,
) -> int:
    """Generic: that many playouts of at most ``max_plies`` plies from a position; returns their plies.

    ``values[0]`` counts up what they are worth to the first player: their return where the game is
    over, else ``evaluate``. ``state`` and ``moves`` are scratch; ``stream`` is modified in place.
    """
    plies = 0
    for _ in range(playouts):
        determinize(root_state, state, stream)
        plies += play_random(state, moves, stream, max_plies)
        values[0] += returns(state) if is_terminal(state) else evaluate(state)
    return plies
