"""What a game need not bring: the optional rules in terms of the others. `games.specialise` binds them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from games.jit import Int
from games.rng import Stream, below
from games.rules import Moves, State
from games.unbound import is_terminal, legal_moves, play, priority, random_move


def default_random_move(state: State, moves: Moves, stream: Stream) -> int:
    """A uniformly random legal move; ``moves`` is scratch, uint16[max_moves]."""
    return int(moves[below(stream, legal_moves(state, moves))])


def default_playout(state: State, moves: Moves, stream: Stream) -> int:
    """Play uniformly random legal moves to the end; returns the plies.

    ``state`` and ``stream`` are modified in place; ``moves`` is scratch, uint16[max_moves].
    """
    plies = 0
    while not is_terminal(state):
        play(state, np.int64(random_move(state, moves, stream)))
        plies += 1
    return plies


def default_evaluate(state: State) -> float:
    """Nothing is known of an unfinished position."""
    return 0.0


def default_priority(state: State, move: Int) -> float:
    """All moves look alike."""
    return 0.0


def default_greedy_move(state: State, moves: Moves, stream: Stream) -> int:
    """One of the legal moves with the highest priority, each as likely.

    ``moves`` is scratch, uint16[max_moves]; ``stream`` is modified in place.
    """
    num_legal = legal_moves(state, moves)
    best = -math.inf
    count = 0
    for i in range(num_legal):
        move = np.int64(moves[i])
        score = priority(state, move)
        if score > best:
            best = score
            count = 0
        if score == best:
            moves[count] = move
            count += 1
    return int(moves[below(stream, count)])


def default_determinize(view: State, state: State, stream: Stream) -> None:
    """Where nothing is hidden the position is what was seen of it: copied."""
    for i in range(len(view)):
        state[i] = view[i]


DEFAULTS: dict[str, Callable[..., Any]] = {
    "random_move": default_random_move,
    "playout": default_playout,
    "evaluate": default_evaluate,
    "priority": default_priority,
    "greedy_move": default_greedy_move,
    "determinize": default_determinize,
}
"""By the name of the rule that each stands in for; each uses only rules before it."""
