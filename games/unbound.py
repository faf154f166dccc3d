"""The rules as generic code names them: `games.specialise` puts one game's rules in their place.

A generic function imports from here the rules that it calls. As they stand these only raise.
"""

from __future__ import annotations

from games.rng import Stream
from games.rules import Moves, State

_UNBOUND = "a generic function was called as it stands; games.specialise makes one of a game from it"


def current_player(state: State) -> int:
    """See `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def legal_moves(state: State, moves: Moves) -> int:
    """See `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def play(state: State, move: int) -> None:
    """See `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def is_terminal(state: State) -> bool:
    """See `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def returns(state: State) -> float:
    """See `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def playout(state: State, moves: Moves, stream: Stream) -> int:
    """The game's own, or `games.playout.default_playout`; see `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)
