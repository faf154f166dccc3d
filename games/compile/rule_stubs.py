"""Placeholders for the rules that generic functions call; `games.compile.specialise` replaces them.

A generic function imports from here the rules that it calls. Each placeholder raises NotImplementedError.
"""

from __future__ import annotations

import numpy as np

from games.jit import Int
from games.rng import Stream
from games.rules import Moves, State

HIDDEN = False
"""Whether the game has hidden information: whether its rules define `determinize`."""

CHANCES = False
"""Whether chance moves in some positions: whether the rules define `chance`."""
REWARDS = False
"""`Game.rewards`: whether positions that are not finished have a score too."""
DISCOUNT = 1.0
"""`Game.discount`."""
PLAYERS = 2
"""`Game.num_players`."""

_UNBOUND = "a generic function was called without a game; games.compile.specialise binds it to one"


def current_player(state: State) -> int:
    """Placeholder: see the rule of this name in `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def legal_moves(state: State, moves: Moves) -> int:
    """Placeholder: see the rule of this name in `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def play(state: State, move: Int) -> None:
    """Placeholder: see the rule of this name in `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def is_terminal(state: State) -> bool:
    """Placeholder: see the rule of this name in `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def returns(state: State) -> float:
    """Placeholder: see the rule of this name in `games.rules.Rules`."""
    raise NotImplementedError(_UNBOUND)


def playout(state: State, moves: Moves, stream: Stream) -> int:
    """Placeholder for `Rules.playout`, by default `games.compile.default_rules.default_playout`."""
    raise NotImplementedError(_UNBOUND)


def random_move(state: State, moves: Moves, stream: Stream) -> int:
    """Placeholder for `Rules.random_move`, by default `games.compile.default_rules.default_random_move`."""
    raise NotImplementedError(_UNBOUND)


def evaluate(state: State) -> float:
    """Placeholder for `Rules.evaluate`, by default `games.compile.default_rules.default_evaluate`."""
    raise NotImplementedError(_UNBOUND)


def priority(state: State, move: Int) -> float:
    """Placeholder for `Rules.priority`, by default `games.compile.default_rules.default_priority`."""
    raise NotImplementedError(_UNBOUND)


def greedy_move(state: State, moves: Moves, stream: Stream) -> int:
    """Placeholder for `Rules.greedy_move`, by default `games.compile.default_rules.default_greedy_move`."""
    raise NotImplementedError(_UNBOUND)


def determinize(view: State, state: State, stream: Stream) -> None:
    """Placeholder for `Rules.determinize`, by default `games.compile.default_rules.default_determinize`."""
    raise NotImplementedError(_UNBOUND)


def chance(state: State, moves: Moves, stream: Stream) -> int:
    """Placeholder for `Rules.chance`, by default `games.compile.default_rules.default_chance`."""
    raise NotImplementedError(_UNBOUND)


def score(state: State, player: Int) -> float:
    """Placeholder for `Rules.score`, by default `games.compile.default_rules.default_score`."""
    raise NotImplementedError(_UNBOUND)


def rollout(state: State, moves: Moves, stream: Stream, line: Moves) -> tuple[float, int]:
    """Placeholder for `Rules.rollout`, by default `games.compile.default_rules.default_rollout`."""
    raise NotImplementedError(_UNBOUND)


def cut_rollout(state: State, moves: Moves, stream: Stream, line: Moves, plies: int) -> tuple[float, int]:
    """Placeholder for `Rules.cut_rollout`, which has no default."""
    raise NotImplementedError(_UNBOUND)


def pack(state: State) -> np.uint64:
    """Placeholder for `Rules.pack`, which has no default."""
    raise NotImplementedError(_UNBOUND)


def unpack(key: np.uint64, state: State) -> None:
    """Placeholder for `Rules.unpack`, which has no default."""
    raise NotImplementedError(_UNBOUND)
