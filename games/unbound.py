"""The rules as generic code names them: `games.specialise` puts one game's rules in their place.

A generic function imports from here the rules that it calls. As they stand these only raise.
"""

from __future__ import annotations

import numpy as np

from games.jit import Int
from games.rng import Stream
from games.rules import Moves, State

HIDDEN = False
"""Whether the game has hidden information: its rules have a `determinize` of their own."""

_UNBOUND = "a generic function was called as it stands; games.specialise makes one of a game from it"


def current_player(state: State) -> int:
    """See `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def legal_moves(state: State, moves: Moves) -> int:
    """See `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def play(state: State, move: Int) -> None:
    """See `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def is_terminal(state: State) -> bool:
    """See `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def returns(state: State) -> float:
    """See `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def playout(state: State, moves: Moves, stream: Stream) -> int:
    """The game's own, or `games.defaults.default_playout`; see `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def random_move(state: State, moves: Moves, stream: Stream) -> int:
    """The game's own, or `games.defaults.default_random_move`; see `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def evaluate(state: State) -> float:
    """The game's own, or `games.defaults.default_evaluate`; see `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def priority(state: State, move: Int) -> float:
    """The game's own, or `games.defaults.default_priority`; see `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def greedy_move(state: State, moves: Moves, stream: Stream) -> int:
    """The game's own, or `games.defaults.default_greedy_move`; see `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def determinize(view: State, state: State, stream: Stream) -> None:
    """The game's own, or `games.defaults.default_determinize`; see `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def pack(state: State) -> np.uint64:
    """The game's own, if it has one; see `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def unpack(key: np.uint64, state: State) -> None:
    """The game's own, if it has one; see `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)
