"""Pig: roll a die as often as you like and add up; a 1 loses the turn's points, to hold keeps them.

Who holds with the goal reached wins, and must hold then; the first player begins. A move is ``roll`` or
``hold``; after ``roll`` comes a move of chance, the face of the die, ``1`` to ``6``.

A position's text is the two scores, the points of the turn, ``first`` or ``second`` to move, the number of
decisions (``roll`` or ``hold``) so far, and ``rolling`` before the die has come to rest:
``12 30 5 first 9``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from games.errors import InvalidInput
from games.game import FIRST, SECOND, Board, Cell, Game, Rules, State
from games.pig import rules
from games.pig.worth import evaluate, greedy_move, priority
from games.spec import Options, Spec

MIN_GOAL, MAX_GOAL = 2, 999
MIN_MOVES, MAX_MOVES = 2, 10_000

RULES = Rules(
    rules.current_player,
    rules.legal_moves,
    rules.play,
    rules.is_terminal,
    rules.returns,
    rules.playout,
    evaluate=evaluate,
    priority=priority,
    greedy_move=greedy_move,
    chance=rules.chance,
)

_NUMBER = "(0|[1-9][0-9]{0,4})"
_POSITION = re.compile(rf"{_NUMBER} {_NUMBER} {_NUMBER} (first|second) {_NUMBER}( rolling)?", re.ASCII)
_FORM = (
    "two scores, the points of the turn, 'first' or 'second', the number of decisions, each after a space, "
    "and ' rolling' before the die has come to rest"
)


class Pig(Game):
    """Pig for two players."""

    name = "pig"
    opening_plies = 0
    max_moves = rules.FACES

    def __init__(self, goal: int = 100, moves: int = 1000) -> None:
        """``goal``: the score that wins, 2 to 999. ``moves``: the number of decisions of both players
        (``roll`` or ``hold``) after which the game is a draw, 2 to 10,000."""
        self.options: dict[str, str | int] = {"goal": goal, "moves": moves}
        self.rules = RULES
        self._goal, self._most = goal, moves
        # A roll of the die follows each decision but the last, or none; a position can begin with one.
        self.max_plies = 2 * moves
        self.nominal_simulations_per_s = 3e5 * 100 / goal

    @classmethod
    def from_spec(cls, spec: Spec) -> Pig:
        """The game that the spec names; raises InvalidInput for options that it does not have."""
        options = Options(spec, "game")
        goal = options.whole("goal", 100, MIN_GOAL, MAX_GOAL)
        moves = options.whole("moves", 1000, MIN_MOVES, MAX_MOVES)
        options.close()
        return cls(goal, moves)

    def initial_state(self) -> State:
        """No points, the first player to move, ``int64[LENGTH]`` (see `games.pig.rules`)."""
        return np.array([0, 0, 0, FIRST, 0, 0, self._goal, self._most], dtype=np.int64)

    def format_move(self, state: State, move: int) -> str:
        """``roll``, ``hold``, or the face of the die."""
        return {rules.ROLL: "roll", rules.HOLD: "hold"}.get(move, str(move))

    def format_position(self, state: State) -> str:
        """The scores, the turn's points, who moves, the decisions so far, and whether the die is rolling."""
        first, second, turn, mover, rolling, decisions = state[: rules.GOAL].tolist()
        text = f"{first} {second} {turn} {self.player_names[mover]} {decisions}"
        return f"{text} rolling" if rolling else text

    def parse_position(self, text: str) -> State:
        """The state that `format_position` wrote; raises InvalidInput (field ``position``)."""
        found = _POSITION.fullmatch(text)
        if found is None:
            raise InvalidInput("position", text, _FORM)
        first, second, turn, decisions = (int(found[group]) for group in (1, 2, 3, 5))
        mover = self.player_names.index(found[4])
        state = self.initial_state()
        state[: rules.GOAL] = first, second, turn, mover, found[6] is not None, decisions
        won = [score >= self._goal for score in (first, second)]
        if decisions > self._most or (any(won) and (won[mover] or turn or found[6])):
            accepted = (
                f"at most {self._most} decisions, and a score of {self._goal} or more only for the player "
                "who has just held"
            )
            raise InvalidInput("position", text, accepted)
        if max(first, second, turn) > rules.FACES * decisions:
            raise InvalidInput("position", text, f"at most {rules.FACES} points for each decision")
        if found[6] and (not decisions or (first, second)[mover] + turn >= self._goal):
            raise InvalidInput(
                "position", text, "a decision to roll, short of the goal, if the die is rolling"
            )
        return state

    def board(self, state: State, last_move: int | None = None) -> Board:
        """A row for each player: the score, and the points of the turn of the player to move."""
        mover = int(state[rules.MOVER])
        rows: list[Sequence[Cell]] = []
        for player in (FIRST, SECOND):
            held = last_move == rules.HOLD and player != mover
            rolled = last_move not in (None, rules.HOLD) and player == mover
            points = str(int(state[rules.TURN])) if player == mover else "."
            rows.append([Cell(str(int(state[player])), None, held), Cell(points, None, rolled)])
        return Board(rows, self.player_names, ("score", "turn"))
