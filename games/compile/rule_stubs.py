"""The rules that generic functions call: placeholders, or the defaults of optional rules.

A generic function imports from here the rules that it calls. `games.compile.specialise` replaces each of them
by the rule of a game, if it has it. A placeholder raises NotImplementedError.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from games.jit import Int
from games.rng import Stream, below
from games.rules import CHANCE, Moves, State

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


def _unbound(*arguments: Any) -> Any:
    raise NotImplementedError(
        "a generic function was called without a game; games.compile.specialise binds it to one"
    )


# Placeholders of rules that have no default: see `games.rules.Rules`.
current_player: Callable[[State], int] = _unbound
legal_moves: Callable[[State, Moves], int] = _unbound
play: Callable[[State, Int], None] = _unbound
is_terminal: Callable[[State], bool] = _unbound
returns: Callable[[State], float] = _unbound
cut_rollout: Callable[[State, Moves, Stream, Moves, int], tuple[float, int]] = _unbound
priorities: Callable[[State, npt.NDArray[np.float64]], None] = _unbound
decisive_moves: Callable[[State, Moves, Moves, npt.NDArray[np.uint64]], int] = _unbound
pack: Callable[[State], np.uint64] = _unbound
unpack: Callable[[np.uint64, State], None] = _unbound


def chance(state: State, moves: Moves, stream: Stream) -> int:
    """An outcome of a position in which chance moves, each with the same probability."""
    return int(moves[below(stream, legal_moves(state, moves))])


def score(state: State, player: Int) -> float:
    """The score in a game of one player, or of two, of whom the second loses what the first wins."""
    return returns(state) if player == 0 else -returns(state)


def random_move(state: State, moves: Moves, stream: Stream) -> int:
    """A uniformly random legal move; ``moves`` is scratch, uint16[max_moves]."""
    return int(moves[below(stream, legal_moves(state, moves))])


def playout(state: State, moves: Moves, stream: Stream) -> int:
    """Play uniformly random legal moves to the end of the game; returns the plies.

    ``state`` and ``stream`` are modified in place; ``moves`` is scratch, uint16[max_moves].
    """
    plies = 0
    while not is_terminal(state):
        if CHANCES and current_player(state) == CHANCE:
            play(state, np.int64(chance(state, moves, stream)))
        else:
            play(state, np.int64(random_move(state, moves, stream)))
        plies += 1
    return plies


def rollout(state: State, moves: Moves, stream: Stream, line: Moves) -> tuple[float, int]:
    """Play uniformly random legal moves to the end; returns the discounted rewards and the plies.

    ``state``, ``stream`` and ``line`` (uint16[max_plies]: the moves) are modified in place; ``moves`` is
    scratch, uint16[max_moves].
    """
    plies = 0
    total = 0.0
    weight = 1.0
    before = returns(state) if REWARDS else 0.0
    while not is_terminal(state):
        chosen = True
        if CHANCES and current_player(state) == CHANCE:
            move = np.int64(chance(state, moves, stream))
            chosen = False
        else:
            move = np.int64(random_move(state, moves, stream))
        line[plies] = move
        play(state, move)
        plies += 1
        if REWARDS or is_terminal(state):
            after = returns(state)
            total += weight * (after - before)
            before = after
        if chosen:
            weight *= DISCOUNT
    return total, plies


def evaluate(state: State) -> float:
    """The value 0.0: nothing is known about an unfinished position."""
    return 0.0


def priority(state: State, move: Int) -> float:
    """The priority 0.0 for every move."""
    return 0.0


def greedy_move(state: State, moves: Moves, stream: Stream) -> int:
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


def determinize(view: State, state: State, stream: Stream) -> None:
    """Copy ``view`` into ``state``: without hidden information they are equal."""
    for i in range(len(view)):
        state[i] = view[i]


def plain_determinize(view: State, state: State, stream: Stream) -> None:
    """`determinize` where it is not compiled: a loop over the numbers takes 50 times as long
    there."""
    state[:] = view


PLAIN_DEFAULTS: dict[str, Callable[..., Any]] = {"determinize": plain_determinize}
"""Defaults that replace those of DEFAULTS in plain Python."""
_DEFAULTS = (chance, score, random_move, playout, evaluate, priority, greedy_move, determinize, rollout)
DEFAULTS: dict[str, Callable[..., Any]] = {default.__name__: default for default in _DEFAULTS}
"""Default by name of rule. A default calls only required rules and rules that precede it here."""
