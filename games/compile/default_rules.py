"""Default implementations of the optional rules, which `games.compile.specialise` binds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from games.compile.rule_stubs import is_terminal, legal_moves, play, priority, random_move
from games.jit import Int
from games.rng import Stream, below
from games.rules import Moves, State


def default_random_move(state: State, moves: Moves, stream: Stream) -> int:
    """A uniformly random legal move; ``moves`` is scratch, uint16[max_moves]."""
    return int(moves[below(stream, legal_moves(state, moves))])


def default_playout(state: State, moves: Moves, stream: Stream) -> int:
    """Play uniformly random legal moves to the end of the game; returns the plies.

    ``state`` and ``stream`` are modified in place; ``moves`` is scratch, uint16[max_moves].
    """
    plies = 0
    while not is_terminal(state):
        play(state, np.int64(random_move(state, moves, stream)))
        plies += 1
    return plies


def default_evaluate(state: State) -> float:
    """The value 0.0: nothing is known about an unfinished position."""
    return 0.0


def default_priority(state: State, move: Int) -> float:
    """The priority 0.0 for every move."""
    return 0.0


def default_greedy_move(state: State, moves: Moves, stream: Stream) -> int:
    """A uniformly random move among the legal moves with the highest priority.

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
    """Copy ``view`` into ``state``: without hidden information they are equal."""
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
"""Default by name of rule. A default calls only required rules and rules that precede it here."""
