"""The compiled rules of Pig.

A state is ``int64[LENGTH]``: the scores of the first and of the second player, the points of the turn, the
player whose turn it is, whether the die is rolling, the decisions so far, and constants: the goal, and the
number of decisions after which the game is over.

Move codes: ROLL, HOLD; an outcome of the die is its face, 1 to 6.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from games.jit import Int, njit
from games.rng import Stream, below, next_uint64
from games.rules import CHANCE, Moves

TURN, MOVER, ROLLING, DECISIONS, GOAL, MOST = 2, 3, 4, 5, 6, 7
"""Indices into a state, after the scores of the players FIRST and SECOND."""
LENGTH = 8
FACES = 6
ROLL, HOLD = 7, 8
"""Move codes."""

State = npt.NDArray[np.int64]

_S32 = np.uint64(32)
_FACES = np.uint64(FACES)
_HALF = np.uint64(1 << 63)
_LOW_32 = np.uint64(0xFFFFFFFF)


@njit
def current_player(state: State) -> int:
    """FIRST or SECOND, or CHANCE while the die is rolling."""
    return CHANCE if state[ROLLING] else int(state[MOVER])


@njit
def legal_moves(state: State, moves: Moves) -> int:
    """Write ROLL and HOLD, with the goal in hand HOLD alone, or the faces of the die; returns how many."""
    if state[ROLLING]:
        for face in range(1, FACES + 1):
            moves[face - 1] = face
        return FACES
    if _in_hand(state):
        moves[0] = HOLD
        return 1
    moves[0], moves[1] = ROLL, HOLD
    return 2


@njit
def _in_hand(state: State) -> bool:
    """Whether the player to move reaches the goal by HOLD."""
    return bool(state[state[MOVER]] + state[TURN] >= state[GOAL])


@njit
def play(state: State, move: Int) -> None:
    """Play a decision or a face of the die; ``state`` is modified in place."""
    if move == ROLL:
        state[DECISIONS] += 1
        state[ROLLING] = 1
    elif move == HOLD:
        state[DECISIONS] += 1
        state[state[MOVER]] += state[TURN]
        state[TURN] = 0
        state[MOVER] = 1 - state[MOVER]
    else:
        state[ROLLING] = 0
        if move == 1:
            state[TURN] = 0
            state[MOVER] = 1 - state[MOVER]
        else:
            state[TURN] += move


@njit
def is_terminal(state: State) -> bool:
    """Whether a player has held with the goal reached, or there have been as many decisions as may be."""
    reached = state[0] >= state[GOAL] or state[1] >= state[GOAL]
    return bool(reached or state[DECISIONS] >= state[MOST])


@njit
def returns(state: State) -> float:
    """The first player's return: 1.0 with the goal reached, -1.0 if the second has reached it, else 0.0."""
    return float(int(state[0] >= state[GOAL]) - int(state[1] >= state[GOAL]))


@njit
def chance(state: State, moves: Moves, stream: Stream) -> int:
    """A face of the die, 1 to 6."""
    return 1 + below(stream, FACES)


@njit
def playout(state: State, moves: Moves, stream: Stream) -> int:
    """Play uniformly random decisions, and rolls of the die, to the end; returns the plies."""
    plies = 0
    while not is_terminal(state):
        if state[ROLLING]:
            play(state, 1 + below(stream, FACES))
            plies += 1
            continue
        random = next_uint64(stream)
        if random >= _HALF or _in_hand(state):
            play(state, HOLD)
            plies += 1
            continue
        play(state, ROLL)
        plies += 1
        if state[DECISIONS] < state[MOST]:
            play(state, 1 + np.int64(((random & _LOW_32) * _FACES) >> _S32))
            plies += 1
    return plies
