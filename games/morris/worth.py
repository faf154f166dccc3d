"""What positions and moves of the mill games are worth: the odds of the player to move, by what stands there.

The weights are of logistic regressions on results of games of nine men's morris. Those of placing are on
6,600 games, over half of them drawn, which alpha-beta to depth 3 to 5, in a few a search of 20,000
simulations, played against itself. Those of moving are on 8,257 games without draws, times what an
advantage decides by how many stones are left: factors set by hand between what those 6,600 games and 52
against Sanmill say. In the 52 games the mean logarithm of the likelihood of the result by the value is
-0.637; without these factors, and with the weights of games without draws for placing too, -0.666.
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

_FLIGHTS = 8
"""As many moves count for a player who may fly."""
_WON = 2.0
"""The priority of a move that wins, above all evaluations."""

_PLACING = [
    [
        [0.35, -0.20, -0.38, 0.21, 0.04, 0.18, 0.01, -0.24, -0.39],
        [0.35, -0.49, -0.03, 0.07, 0.03, 0.17, 0.10, -0.20, -0.45],
    ],
    [
        [0.31, 0.43, 0.34, -0.15, 0.31, 0.14, -0.05, -0.13, -0.30],
        [0.31, -0.06, 0.28, -0.03, 0.12, 0.13, 0.04, -0.11, -0.41],
    ],
    [
        [0.26, 0.49, 0.20, -0.02, 0.41, 0.09, -0.03, -0.07, -0.31],
        [0.26, 0.24, 0.33, -0.11, 0.46, 0.11, -0.03, -0.11, -0.32],
    ],
]
_MOVING = np.array(
    [
        [0.92, 1.92, 0.83, 0.20, 1.27, 0.10, -0.18, 0.0, 0.0],
        [0.84, 1.40, 0.81, 0.21, 1.07, 0.09, -0.15, 0.0, 0.0],
    ]
)
_FLYING = [
    [0.24, 0.24, -0.13, -0.02, -0.12, 0.0, 0.08, 0.0, 0.0],
    [0.42, 0.03, 0.34, -0.03, -0.20, -0.06, -0.03, 0.0, 0.0],
]
_WEIGHTS = np.array([*_PLACING, 0.62 * _MOVING, 0.27 * _MOVING, 0.08 * _MOVING, _FLYING])
"""By phase, by whether the player is to move or the other one: of a stone on the board or in hand; of a mill
that could be closed next, and of a second one; of two stones in a mill without a third; of a closed mill that
can be opened; of a move along a line; of a stone that cannot move; of one stone in a mill without others; of
two in a mill that has a stone of the other player."""
_TO_MOVE = np.array(
    [[0.14, 0.46], [0.12, 0.30], [0.27, 0.68], [-0.27, 0.71], [-0.12, 0.31], [-0.03, 0.09], [0.19, 0.50]]
)
"""By phase: what it is worth to be about to move, or to remove a stone."""
_BY_HANDS = np.array([0, 2, 2, 2, 1, 1, 1] + 18 * [0])
"""The phase by the number of stones in both hands, if there are any."""
_BY_STONES = np.array([6, 6, 6, 6, 5, 4, 4, 3, 3, 3, 3, 3, 3])
"""The phase by the stones of the player who has fewer, if both hands are empty."""


@njit
def evaluate(state: State) -> float:
    """The value of a position by its stones and by who is to move, from the first player's viewpoint."""
    player, hands = state[MOVER], state[HANDS] + state[HANDS + 1]
    if hands > 0:
        phase = _BY_HANDS[hands]
    else:
        phase = _BY_STONES[min(popcount(state[STONES]), popcount(state[STONES + 1]))]
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
    singles, blocked = np.int64(0), np.int64(0)
    for number in range(MILLS.shape[1]):
        mill = MILLS[board, number]
        if mill < 0:
            break
        stones = own & mill
        count = popcount(stones)
        if other & mill != 0:
            blocked += count == 2
        elif count == 3:
            loose += mill & reached != 0
        elif count == 2:
            pairs += 1
            point, others = mill ^ stones, own ^ stones
            near = others if anywhere else others & NEIGHBOURS[board, popcount(point - 1)]
            if hand > 0 or near != 0:
                closing |= point
        else:
            singles += count
    return (  # type: ignore[no-any-return]
        weights[0] * (popcount(own) + hand)
        + weights[1] * (closing != 0)
        + weights[2] * (closing & (closing - 1) != 0)
        + weights[3] * pairs
        + weights[4] * loose
        + weights[5] * moves
        + weights[6] * stuck
        + weights[7] * singles
        + weights[8] * blocked
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
