"""What positions and moves of the mill games are worth: the odds of the player to move, by what stands there.

The weights are of a logistic regression on the results of games of nine men's morris without draws, which
alpha-beta played against itself with an earlier fit of them.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from games.bits import popcount
from games.jit import Int, njit
from games.morris.rules import (
    BOARD,
    HANDS,
    MILLS,
    MOVER,
    NEIGHBOURS,
    NO_REPETITION,
    OVER,
    POINTS,
    REMOVING,
    REPETITION,
    RESULT,
    SEEN,
    STONES,
    TURNS,
    State,
    flies,
    play,
)

PLACING, MOVING, FLYING = range(3)
"""Phases: some player has stones in hand; none has; and one of them has three stones left."""
_FLIGHTS = 8
"""As many moves count for a player who may fly."""
_WON = 2.0
"""The priority of a move that wins, above all evaluations."""

_WEIGHTS = np.array(
    [
        [[0.73, 0.61, 0.66, 0.21, 0.46, 0.18, -0.16], [0.75, -0.13, 0.45, 0.34, 0.44, 0.18, -0.19]],
        [[0.92, 1.92, 0.83, 0.20, 1.27, 0.10, -0.18], [0.84, 1.40, 0.81, 0.21, 1.07, 0.09, -0.15]],
        [[0.95, 0.95, -0.53, -0.08, -0.48, 0.02, 0.32], [1.70, 0.11, 1.35, -0.12, -0.79, -0.22, -0.11]],
    ]
)
"""By phase, by whether the player is to move or the other one: of a stone on the board or in hand; of a mill
that could be closed next, and of a second one; of two stones in a mill without a third; of a closed mill that
can be opened; of a move along a line; of a stone that cannot move."""
_TO_MOVE = np.array([[0.33, 1.02], [-0.43, 1.15], [0.75, 1.99]])
"""By phase: what it is worth to be about to move, or to remove a stone."""


@njit
def evaluate(state: State) -> float:
    """The value of a position by its stones and by who is to move, from the first player's viewpoint."""
    player, phase = state[MOVER], PLACING
    if state[HANDS] + state[HANDS + 1] == 0:
        fewest = min(popcount(state[STONES]), popcount(state[STONES + 1]))
        phase = FLYING if fewest <= 3 else MOVING
    total = _TO_MOVE[phase, state[REMOVING]]
    total += _worth(state, player, _WEIGHTS[phase, 0]) - _worth(state, 1 - player, _WEIGHTS[phase, 1])
    return float((1 - 2 * player) * math.tanh(0.5 * total))


@njit
def _worth(state: State, player: Int, weights: npt.NDArray[np.float64]) -> float:
    """The weighted sum of what a player has."""
    board, hand, anywhere = state[BOARD], state[HANDS + player], flies(state, player)
    own, other = state[STONES + player], state[STONES + 1 - player]
    empty = ((np.int64(1) << POINTS[board]) - 1) & ~(own | other)
    moves: Int = np.int64(0)
    reached = np.int64(0)
    for bit in range(POINTS[board]):
        if empty >> bit & 1 != 0:
            moves += popcount(own & NEIGHBOURS[board, bit])
            reached |= NEIGHBOURS[board, bit]
    stuck = popcount(own & ~reached)
    if anywhere:
        moves, stuck = _FLIGHTS, 0
    closing, pairs, loose = np.int64(0), np.int64(0), np.int64(0)
    for number in range(MILLS.shape[1]):
        mill = MILLS[board, number]
        if mill < 0:
            break
        stones = own & mill
        if stones == mill:
            loose += mill & reached != 0
        elif other & mill == 0 and popcount(stones) == 2:
            pairs += 1
            point, others = mill ^ stones, own ^ stones
            near = others if anywhere else others & NEIGHBOURS[board, popcount(point - 1)]
            if hand > 0 or near != 0:
                closing |= point
    return (  # type: ignore[no-any-return]
        weights[0] * (popcount(own) + hand)
        + weights[1] * (closing != 0)
        + weights[2] * (closing & (closing - 1) != 0)
        + weights[3] * pairs
        + weights[4] * loose
        + weights[5] * moves
        + weights[6] * stuck
    )


@njit
def priority(state: State, move: int) -> float:
    """The value of the position after a move, for the player who makes it."""
    player, removing, turns, seen = state[MOVER], state[REMOVING], state[TURNS], state[SEEN]
    own, other, hand = state[STONES + player], state[STONES + 1 - player], state[HANDS + player]
    repetition = state[REPETITION]
    # Without a history, which is then not written.
    state[REPETITION] = NO_REPETITION
    play(state, move)
    value = _WON * state[RESULT] if state[OVER] != 0 else evaluate(state)
    state[MOVER], state[REMOVING], state[TURNS], state[SEEN] = player, removing, turns, seen
    state[STONES + player], state[STONES + 1 - player], state[HANDS + player] = own, other, hand
    state[REPETITION], state[OVER], state[RESULT] = repetition, 0, 0
    return float((1 - 2 * player) * value)
