"""The rules of a game as Python calls them: through compiled functions that are cached on disk.

Calling a jitted rule from Python compiles it anew in each process. These wrappers go
through `games.specialise`, so that a second process loads what the first has compiled.
"""

from __future__ import annotations

from games.rng import Stream
from games.rules import HasRules, Moves, Rules, State
from games.specialise import specialise
from games.unbound import (
    current_player,
    determinize,
    evaluate,
    greedy_move,
    is_terminal,
    legal_moves,
    play,
    priority,
    returns,
)


def call_current_player(state: State) -> int:
    """See `Rules.current_player`."""
    return current_player(state)


def call_legal_moves(state: State, moves: Moves) -> int:
    """See `Rules.legal_moves`."""
    return legal_moves(state, moves)


def call_play(state: State, move: int) -> None:
    """See `Rules.play`."""
    play(state, move)


def call_is_terminal(state: State) -> bool:
    """See `Rules.is_terminal`."""
    return is_terminal(state)


def call_returns(state: State) -> float:
    """See `Rules.returns`."""
    return returns(state)


def call_evaluate(state: State) -> float:
    """See `Rules.evaluate`."""
    return evaluate(state)


def call_priority(state: State, move: int) -> float:
    """See `Rules.priority`."""
    return priority(state, move)


def call_greedy_move(state: State, moves: Moves, stream: Stream) -> int:
    """See `Rules.greedy_move`."""
    return greedy_move(state, moves, stream)


def call_determinize(view: State, state: State, stream: Stream) -> None:
    """See `Rules.determinize`."""
    determinize(view, state, stream)


_CALLS = (
    call_current_player,
    call_legal_moves,
    call_play,
    call_is_terminal,
    call_returns,
    call_evaluate,
    call_priority,
    call_greedy_move,
    call_determinize,
)


def calls_of(game: HasRules) -> Rules:
    """The game's rules for callers in Python; those that only kernels call are left out."""
    wrapped = specialise(_CALLS, game)
    return Rules(**{name.removeprefix("call_"): function for name, function in wrapped.items()})
