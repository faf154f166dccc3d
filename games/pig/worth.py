"""What a position of Pig is worth, and whether it looks better to roll or to hold.

Set by hand, from these considerations. To roll with 20 points gains as much as it loses, 4 points with five
faces of six against 20 with one, so a turn aims at 20 points: at more by who is behind, at less by who is
ahead. Near the end of the game a turn aims at the goal, since there may be no other. A turn that aims at 20
brings 8 points on average, with a variance of 110, so the rest of the game is a race whose lead can be
compared with its spread.

Nothing is read from a solved game. But of seven such rules that were compared with optimal play, with other
aims, shares and ends of the game, this one lost least; it is close to "keep pace and end race" of Neller and
Presser, "Practical play of the dice game Pig", The UMAP Journal 31 (1), 2010.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from games.game import FIRST
from games.jit import Int, njit
from games.pig import rules
from games.rng import Stream, below
from games.rules import Moves

AIM, LEAST_AIM = 20, 8
"""The points at which a turn aims, and the fewest of a player who is ahead."""
TURNS_TO_CATCH_UP = 8
"""Who is behind aims at a share of the difference more, one by this many."""
RACE = 30
"""A turn aims at the goal if either player needs at most so many points."""
HALF_TURN = 4.0
"""The advantage in points of the player to move: half of what a turn brings."""
VARIANCE = 13.6
"""The variance of the points of turns, by the points that they bring: 110 of 8.1."""
SLOPE = 0.8
"""With it, x / sqrt(1 + x * x) rises as fast as the normal distribution, near 0."""


def _reaching() -> npt.NDArray[np.float64]:
    """By a number of points: the probability that rolls add up to it or more before there is a 1."""
    reaching = np.ones(1000)
    for points in range(1, len(reaching)):
        faces = range(2, rules.FACES + 1)
        reaching[points] = sum(float(reaching[max(points - face, 0)]) for face in faces) / rules.FACES
    return reaching


REACHING = _reaching()


@njit
def aim_of(state: rules.State) -> Int:
    """The points of the turn at which it looks better to hold than to roll, for the player to move."""
    mover = state[rules.MOVER]
    own, other, goal = state[mover], state[1 - mover], state[rules.GOAL]
    needed = goal - own
    if needed <= RACE or goal - other <= RACE:
        return np.int64(needed)
    # Rounded towards 0, in plain Python as well.
    behind = (other - own) // TURNS_TO_CATCH_UP if other >= own else -((own - other) // TURNS_TO_CATCH_UP)
    return np.int64(min(max(AIM + behind, LEAST_AIM), needed))


@njit
def chance_to_win(goal: Int, own: Int, other: Int) -> float:
    """The estimated probability to win, with these scores, of the player whose turn begins."""
    if own >= goal or other >= goal:
        return 1.0 if own >= goal else 0.0
    needed = 2.0 * goal - own - other
    lead = SLOPE * (own - other + HALF_TURN)
    return float(0.5 + 0.5 * lead / math.sqrt(VARIANCE * needed + lead * lead))


@njit
def evaluate(state: rules.State) -> float:
    """The first player's expected return: twice its estimated probability to win, less 1.

    The player to move goes on to its aim, for one roll if it is there, or holds now if that looks better.
    """
    mover = state[rules.MOVER]
    own, other, turn, goal = state[mover], state[1 - mover], state[rules.TURN], state[rules.GOAL]
    missing = max(aim_of(state) - turn, np.int64(1))
    # Rolls come to a point more than is missing, or to two.
    reached = REACHING[missing] * (1.0 - chance_to_win(goal, other, own + turn + missing + 1))
    won = reached + (1.0 - REACHING[missing]) * (1.0 - chance_to_win(goal, other, own))
    if not state[rules.ROLLING]:
        won = max(won, 1.0 - chance_to_win(goal, other, own + turn))
    return float(2.0 * won - 1.0 if mover == FIRST else 1.0 - 2.0 * won)


@njit
def priority(state: rules.State, move: int) -> float:
    """1.0 for the decision that looks better, 0.0 for the other one, and for the faces of the die."""
    if move < rules.ROLL:
        return 0.0
    return 1.0 if (move == rules.ROLL) == (state[rules.TURN] < aim_of(state)) else 0.0


@njit
def greedy_move(state: rules.State, moves: Moves, stream: Stream) -> int:
    """The decision that looks better; while the die is rolling, a face."""
    if state[rules.ROLLING]:
        return 1 + below(stream, rules.FACES)
    return rules.ROLL if state[rules.TURN] < aim_of(state) else rules.HOLD
