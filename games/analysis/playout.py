"""Uniformly random play from a position with a limit on the number of plies."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.compile.rule_stubs import (
    CHANCES,
    REWARDS,
    chance,
    current_player,
    determinize,
    evaluate,
    is_terminal,
    play,
    random_move,
    returns,
)
from games.rng import Stream
from games.rules import CHANCE, Moves, State


def play_cut(
    root_state: State,
    playouts: int,
    max_plies: int,
    values: npt.NDArray[np.float64],
    state: State,
    moves: Moves,
    stream: Stream,
) -> int:
    """Generic: ``playouts`` playouts of at most ``max_plies`` uniformly random legal moves each, and outcomes
    of chance as they come; returns the plies of all of them.

    Adds each playout's value for the first player to ``values[0]``: the return if the game is over,
    else ``evaluate``; in a game of rewards always their sum. ``state`` and ``moves`` are scratch; ``stream``
    is modified in place.
    """
    plies = 0
    for _ in range(playouts):
        determinize(root_state, state, stream)
        left = max_plies
        while left > 0 and not is_terminal(state):
            if CHANCES and current_player(state) == CHANCE:
                play(state, np.int64(chance(state, moves, stream)))
            else:
                play(state, np.int64(random_move(state, moves, stream)))
            left -= 1
        plies += max_plies - left
        values[0] += returns(state) if REWARDS or is_terminal(state) else evaluate(state)
    return plies
