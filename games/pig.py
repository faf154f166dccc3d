"""Pig: roll a die as often as you like and add up; a 1 loses the turn's points, to hold keeps them.

Who holds with the goal reached wins, and must hold then; the first player begins. A move is ``roll`` or
``hold``; after ``roll`` comes a move of chance, the face of the die, ``1`` to ``6``.

A position's text is the two scores, the points of the turn, ``first`` or ``second`` to move, the number of
decisions (``roll`` or ``hold``) so far, and ``rolling`` before the die has come to rest:
``12 30 5 first 9``.

A state is ``int64[LENGTH]``: the scores of the first and of the second player, the points of the turn, the
player whose turn it is, whether the die is rolling, the decisions so far, and constants: the goal, and the
number of decisions after which the game is over.

Move codes: ROLL, HOLD; an outcome of the die is its face, 1 to 6.

What a position is worth, and whether it looks better to roll or to hold, is set by hand, from these
considerations. To roll with 20 points gains as much as it loses, 4 points with five
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
import re
from collections.abc import Sequence
from typing import Annotated

import numpy as np
import numpy.typing as npt

from games.errors import InvalidInput, refuse_if_any
from games.game import CHANCE, FIRST, SECOND, Board, Cell, Game, Moves, Rules
from games.jit import Int, njit
from games.rng import LOW_32, S32, Stream, below, next_uint64

TURN, MOVER, ROLLING, DECISIONS, GOAL, MOST = 2, 3, 4, 5, 6, 7
"""Indices into a state, after the scores of the players FIRST and SECOND."""
LENGTH = 8
FACES = 6
ROLL, HOLD = 7, 8
"""Move codes."""

State = npt.NDArray[np.int64]

_FACES = np.uint64(FACES)
_HALF = np.uint64(1 << 63)

AIM, LEAST_AIM = 20, 8
"""The points at which a turn aims, and the fewest of a player who is ahead."""
TURNS_TO_CATCH_UP = 8
"""A turn aims at more by a player who is behind, at less by one who is ahead: by the difference of the scores
divided by this."""
RACE = 30
"""A turn aims at the goal if either player needs at most so many points."""
HALF_TURN = 4.0
"""The advantage in points of the player to move: half of what a turn brings."""
VARIANCE = 13.6
"""The variance of a turn's points divided by their mean: 110 / 8.1."""
SLOPE = 0.8
"""With it, x / sqrt(1 + x * x) rises as fast as the normal distribution, near 0."""

_NUMBER = "(0|[1-9][0-9]{0,4})"
_POSITION = re.compile(rf"{_NUMBER} {_NUMBER} {_NUMBER} (first|second) {_NUMBER}( rolling)?", re.ASCII)
_FORM = (
    "two scores, the points of the turn, 'first' or 'second', the number of decisions, each after a space, "
    "and ' rolling' before the die has come to rest"
)


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
            play(state, 1 + np.int64(((random & LOW_32) * _FACES) >> S32))
            plies += 1
    return plies


def _reaching() -> npt.NDArray[np.float64]:
    """By a number of points: the probability that rolls add up to it or more before there is a 1."""
    reaching = np.ones(1000)
    for points in range(1, len(reaching)):
        faces = range(2, FACES + 1)
        reaching[points] = sum(float(reaching[max(points - face, 0)]) for face in faces) / FACES
    return reaching


REACHING = _reaching()


@njit
def aim_of(state: State) -> Int:
    """The points of the turn at which it looks better to hold than to roll, for the player to move."""
    mover = state[MOVER]
    own, other, goal = state[mover], state[1 - mover], state[GOAL]
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
def evaluate(state: State) -> float:
    """The first player's expected return: twice its estimated probability to win, less 1.

    The player to move goes on to its aim, for one roll if it is there, or holds now if that looks better.
    """
    mover = state[MOVER]
    own, other, turn, goal = state[mover], state[1 - mover], state[TURN], state[GOAL]
    missing = max(aim_of(state) - turn, np.int64(1))
    # Rolls come to a point more than is missing, or to two.
    reached = REACHING[missing] * (1.0 - chance_to_win(goal, other, own + turn + missing + 1))
    won = reached + (1.0 - REACHING[missing]) * (1.0 - chance_to_win(goal, other, own))
    if not state[ROLLING]:
        won = max(won, 1.0 - chance_to_win(goal, other, own + turn))
    return float(2.0 * won - 1.0 if mover == FIRST else 1.0 - 2.0 * won)


@njit
def priority(state: State, move: int) -> float:
    """1.0 for the decision that looks better, 0.0 for the other one, and for the faces of the die."""
    if move < ROLL:
        return 0.0
    return 1.0 if (move == ROLL) == (state[TURN] < aim_of(state)) else 0.0


@njit
def greedy_move(state: State, moves: Moves, stream: Stream) -> int:
    """The decision that looks better; while the die is rolling, a face."""
    if state[ROLLING]:
        return 1 + below(stream, FACES)
    return ROLL if state[TURN] < aim_of(state) else HOLD


class Pig(Game):
    """Pig for two players."""

    name = "pig"
    rules = Rules.of(globals())
    opening_plies = 0
    max_moves = FACES

    def __init__(
        self, goal: Annotated[int, range(2, 1_000)] = 100, moves: Annotated[int, range(2, 10_001)] = 1000
    ) -> None:
        """``goal``: the score that wins, 2 to 999. ``moves``: the number of decisions of both players
        (``roll`` or ``hold``) after which the game is a draw, 2 to 10,000."""
        self._goal, self._most = goal, moves
        # A roll of the die follows each decision but the last, or none; a position can begin with one.
        self.max_plies = 2 * moves
        self.nominal_simulations_per_s = 3e5 * 100 / goal

    def initial_state(self) -> State:
        """No points, the first player to move, ``int64[LENGTH]``."""
        return np.array([0, 0, 0, FIRST, 0, 0, self._goal, self._most], dtype=np.int64)

    def format_move(self, state: State, move: int) -> str:
        """``roll``, ``hold``, or the face of the die."""
        return {ROLL: "roll", HOLD: "hold"}.get(move, str(move))

    def format_position(self, state: State) -> str:
        """The scores, the turn's points, who moves, the decisions so far, and whether the die is rolling."""
        first, second, turn, mover, rolling, decisions = state[:GOAL].tolist()
        text = f"{first} {second} {turn} {self.player_names[mover]} {decisions}"
        return f"{text} rolling" if rolling else text

    def parse_position(self, text: str) -> State:
        found = _POSITION.fullmatch(text)
        if found is None:
            raise InvalidInput("position", text, _FORM)
        first, second, turn, decisions = (int(found[group]) for group in (1, 2, 3, 5))
        mover = self.player_names.index(found[4])
        state = self.initial_state()
        state[:GOAL] = first, second, turn, mover, found[6] is not None, decisions
        won = [score >= self._goal for score in (first, second)]
        faults = (
            (
                decisions > self._most or (any(won) and (won[mover] or turn or found[6])),
                (
                    f"at most {self._most} decisions, and a score of {self._goal} or more only for the "
                    "player who has just held"
                ),
            ),
            (
                max(first, second, turn) > FACES * decisions,
                f"at most {FACES} points for each decision",
            ),
            (
                found[6] and (not decisions or (first, second)[mover] + turn >= self._goal),
                "a decision to roll, short of the goal, if the die is rolling",
            ),
        )
        refuse_if_any("position", text, faults)
        return state

    def board(self, state: State, last_move: int | None = None) -> Board:
        """A row for each player: the score, and the points of the turn of the player to move."""
        mover = int(state[MOVER])
        rows: list[Sequence[Cell]] = []
        for player in (FIRST, SECOND):
            held = last_move == HOLD and player != mover
            rolled = last_move not in (None, HOLD) and player == mover
            points = str(int(state[TURN])) if player == mover else "."
            rows.append([Cell(str(int(state[player])), None, held), Cell(points, None, rolled)])
        return Board(rows, self.player_names, ("score", "turn"))
