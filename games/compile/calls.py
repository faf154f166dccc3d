"""Wrappers to call a game's rules from Python through compiled functions that are cached on disk.

A direct call of a jitted rule from Python compiles it in every process. These wrappers are made
by `games.compile.specialise`, so that later processes load them from the cache.
"""

from __future__ import annotations

from games.compile.rule_stubs import (
    chance,
    current_player,
    determinize,
    evaluate,
    greedy_move,
    is_terminal,
    legal_moves,
    play,
    priority,
    returns,
    score,
)
from games.compile.specialise import specialise
from games.rng import Stream
from games.rules import HasRules, Moves, Rules, State


def call_current_player(state: State) -> int:
    """Call `Rules.current_player` through a compiled wrapper."""
    return current_player(state)


def call_legal_moves(state: State, moves: Moves) -> int:
    """Call `Rules.legal_moves` through a compiled wrapper."""
    return legal_moves(state, moves)


def call_play(state: State, move: int) -> None:
    """Call `Rules.play` through a compiled wrapper."""
    play(state, move)


def call_is_terminal(state: State) -> bool:
    """Call `Rules.is_terminal` through a compiled wrapper."""
    return is_terminal(state)


def call_returns(state: State) -> float:
    """Call `Rules.returns` through a compiled wrapper."""
    return returns(state)


def call_evaluate(state: State) -> float:
    """Call `Rules.evaluate` through a compiled wrapper."""
    return evaluate(state)


def call_priority(state: State, move: int) -> float:
    """Call `Rules.priority` through a compiled wrapper."""
    return priority(state, move)


def call_greedy_move(state: State, moves: Moves, stream: Stream) -> int:
    """Call `Rules.greedy_move` through a compiled wrapper."""
    return greedy_move(state, moves, stream)


def call_chance(state: State, moves: Moves, stream: Stream) -> int:
    """Call `Rules.chance` through a compiled wrapper."""
    return chance(state, moves, stream)


def call_score(state: State, player: int) -> float:
    """Call `Rules.score` through a compiled wrapper."""
    return score(state, player)


def call_determinize(view: State, state: State, stream: Stream) -> None:
    """Call `Rules.determinize` through a compiled wrapper."""
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
    call_chance,
    call_score,
)


def calls_of(game: HasRules) -> Rules:
    """The game's rules for callers in Python; rules that only kernels call are None."""
    wrapped = specialise(_CALLS, game)
    return Rules(**{name.removeprefix("call_"): function for name, function in wrapped.items()})
