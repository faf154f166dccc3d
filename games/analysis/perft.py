"""Perft: counts of legal move sequences, which are compared with published numbers to verify the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
import numpy.typing as npt

from games.compile.rule_stubs import is_terminal, legal_moves, play
from games.compile.specialise import specialise
from games.game import Game, State


def perft(game: Game, state: State, depth: int) -> int:
    """The number of legal move sequences of exactly ``depth`` plies; finished positions have no children."""
    if depth == 0:
        return 1
    count = cast(Callable[..., int], specialise([count_sequences], game)["count_sequences"])
    states = np.zeros((depth, len(state)), dtype=state.dtype)
    states[0] = state
    moves = np.zeros((depth, game.max_moves), dtype=np.uint16)
    return int(count(states, moves, np.zeros(depth, dtype=np.int64)))


def divide(game: Game, state: State, depth: int) -> list[tuple[int, int]]:
    """[(move, number of sequences of ``depth`` plies, 1 or more, that begin with it)], moves in ascending
    order.

    Comparing these counts move by move shows where two programs with different perft numbers disagree.
    """
    return [(move, perft(game, after, depth - 1)) for move, after in game.successors(state)]


def count_sequences(
    states: npt.NDArray[np.generic], moves: npt.NDArray[np.uint16], left: npt.NDArray[np.int64]
) -> int:
    """Count the move sequences of len(states) plies from ``states[0]``; the last ply is not played.

    ``states[d]`` is the position after d plies, ``moves[d]`` its legal moves (uint16[max_moves]), and
    ``left[d]`` the number of these that are not played yet. All rows of ``states`` but the first, and
    ``moves`` and ``left``, are scratch.
    """
    last = len(states) - 1
    total = 0
    ply = 0
    left[0] = 0 if is_terminal(states[0]) else legal_moves(states[0], moves[0])
    while ply >= 0:
        if ply == last:
            total += left[ply]
            ply -= 1
        elif left[ply] == 0:
            ply -= 1
        else:
            left[ply] -= 1
            for i in range(states.shape[1]):
                states[ply + 1, i] = states[ply, i]
            ply += 1
            play(states[ply], np.int64(moves[ply - 1, left[ply - 1]]))
            left[ply] = 0 if is_terminal(states[ply]) else legal_moves(states[ply], moves[ply])
    return total
