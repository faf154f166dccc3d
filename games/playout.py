"""Uniformly random play for games that bring none of their own; `games.specialise` binds it to a game."""

from __future__ import annotations

from games.rng import Stream, below
from games.rules import Moves, State
from games.unbound import is_terminal, legal_moves, play


def default_playout(state: State, moves: Moves, stream: Stream) -> int:
    """Play uniformly random legal moves to the end; returns the plies.

    ``state`` and ``stream`` are modified in place; ``moves`` is scratch, uint16[max_moves].
    """
    plies = 0
    while not is_terminal(state):
        play(state, moves[below(stream, legal_moves(state, moves))])
        plies += 1
    return plies
