"""A random game with checks before every ply, for `banyan check` and `games.contract.trial`.

The rules are called as plain Python, where an index out of bounds raises. Every answer that compiled code
relies on is checked: the player to move, the number of moves, their codes, the game's length, its return,
rewards on the way. Where chance moves, any outcome may come.
"""

from __future__ import annotations

import math
import random
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from games.contract.findings import Finding, Found, Stop, ask, ask_plain
from games.game import CHANCE, FIRST, MAX_EXPLORATION, Game, State
from games.rules import MAX_MOVE_CODE, MAX_MOVES, Rules

MAX_PLAYERS = 16


def look_at_attributes(game: Game) -> Iterator[Found]:
    """Check the start position and the attributes, before any rule is called."""
    state = ask(game, "initial_state", game.initial_state)
    if not isinstance(state, np.ndarray) or state.ndim != 1:
        raise Stop(Finding("initial_state", f"gave {type(state).__name__}; expected a 1-D NumPy array"))
    if np.shares_memory(state, game.initial_state()):
        yield "same", Finding("initial_state", "gave the same array twice; expected a new one each time")
    if not _is_whole(game.max_moves) or not 1 <= game.max_moves <= MAX_MOVES:
        raise Stop(Finding("max_moves", f"is {game.max_moves!r}; expected 1 to {MAX_MOVES}"))
    if not _is_whole(game.max_plies) or game.max_plies < 1:
        raise Stop(Finding("max_plies", f"is {game.max_plies!r}; expected at least 1"))
    if not _is_whole(game.num_players) or not 1 <= game.num_players <= MAX_PLAYERS:
        raise Stop(Finding("num_players", f"is {game.num_players!r}; expected 1 to {MAX_PLAYERS}"))
    if len(game.player_names) < game.num_players:
        text = f"has {len(game.player_names)} names; expected {game.num_players}, one for each player"
        yield "names", Finding("player_names", text)
    if game.num_players > 2 and game.rules.score is None:
        raise Stop(Finding("score", f"is not defined; expected one for {game.num_players} players"))
    if not _is_number(game.discount) or not 0.0 < game.discount <= 1.0:
        yield "range", Finding("discount", f"is {game.discount!r}; expected a number above 0, at most 1")
    if not _is_exploration(game.exploration):
        yield (
            "range",
            Finding("exploration", f"is {game.exploration!r}; expected a number from 0 to 1000, or None"),
        )


def is_return(game: Game, value: Any) -> bool:
    """Whether the value can be a return: a number in [-1, 1], any finite number for rewards and scores."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return False
    return math.isfinite(number) if game.rewards or game.num_players > 2 else -1.0 <= number <= 1.0


class RandomGame:
    """A random game from a given position, and the moves played so far."""

    def __init__(self, game: Game, rules: Rules, start: State, seed: int) -> None:
        """``rules``: the game's rules as plain Python. ``start`` is copied."""
        self.game, self.rules, self.seed = game, rules, seed
        self.state: State = start.copy()
        self.played: list[int] = []
        self.start = start
        self._draw = random.Random(seed)
        # Longer and wider than any valid list, so that too many moves and invalid codes can be reported.
        self._moves = np.zeros(65_536, dtype=np.int64)

    @property
    def ply(self) -> int:
        return len(self.played)

    def located(self, found: Iterator[Found]) -> Iterator[Found]:
        """Add the moves played so far to each finding."""
        try:
            for kind, finding in found:
                yield kind, replace(finding, after=self.moves_text())
        except Stop as stop:
            raise Stop(replace(stop.finding, after=self.moves_text())) from stop.__cause__

    def moves_text(self) -> str:
        """The moves so far in the game's notation; a move that it cannot format appears as its number."""
        state, texts = self.start.copy(), []
        for move in self.played:
            text = str(move)
            with suppress(Exception):
                text = str(self.game.format_move(state, move))
            texts.append(text)
            # The last move is not played: it may be the cause of the violation.
            with suppress(Exception):
                if len(texts) < len(self.played):
                    self.rules.play(state, move)
        return " ".join(texts)

    def over(self) -> Generator[Found, None, bool]:
        """Whether the game is over; checks that it is after ``max_plies`` plies, and the rewards so far."""
        answer = yield from self._asked("is_terminal", self.rules.is_terminal)
        if self.game.rewards and not answer:
            yield from self.returns()
        if not answer and self.ply >= self.game.max_plies:
            text = f"is {self.game.max_plies}, but a random game (seed {self.seed}) is not over by then"
            yield "long", Finding("max_plies", text)
        return bool(answer)

    def legal_moves(self) -> Generator[Found, None, list[int]]:
        """Check the player to move and the legal moves; returns the legal moves."""
        game, ply = self.game, self.ply
        mover = yield from self._asked("current_player", self.rules.current_player)
        movers = [*range(game.num_players), *([CHANCE] if game.has_chance else [])]
        if not _is_whole(mover) or mover not in movers:
            expected = " or ".join(map(str, movers)) if len(movers) < 3 else f"one of {movers}"
            raise Stop(Finding("current_player", f"gave {mover} at ply {ply}; expected {expected}"))
        answer = yield from self._asked("legal_moves", self.rules.legal_moves, self._moves)
        if not _is_whole(answer):
            raise Stop(Finding("legal_moves", f"gave {answer!r} at ply {ply}; expected the number of moves"))
        count = int(answer)
        moves: list[int] = self._moves[: max(0, count)].tolist()
        if count < 1:
            text = f"gave no move at ply {ply}, but is_terminal says that the game is not over"
            raise Stop(Finding("legal_moves", text))
        if count > game.max_moves:
            raise Stop(Finding("max_moves", f"is {game.max_moves}, but {count} moves are legal at ply {ply}"))
        if len(set(moves)) < count:
            twice = next(move for move in moves if moves.count(move) > 1)
            yield "twice", Finding("legal_moves", f"gave move {twice} twice at ply {ply}")
        if wrong := [move for move in moves if not 0 <= move <= MAX_MOVE_CODE]:
            text = f"gave move {wrong[0]} at ply {ply}; expected 0 to 65,534"
            yield "code", Finding("legal_moves", text)
        return moves

    def play_one_of(self, moves: list[int]) -> int:
        """Play one of ``moves``, drawn at random; returns the move."""
        move = self._draw.choice(moves)
        # First, so that an error message lists the move.
        self.played.append(move)
        ask_plain(self.game, "play", self.rules.play, self.state, move, ply=self.ply - 1)
        return move

    def returns(self) -> Generator[Found, None, None]:
        """Check the return of a finished game, or the rewards so far, of every player."""
        value = yield from self._asked("returns", self.rules.returns)
        yield from self._in_range("returns", value)
        if self.rules.score is None:
            return
        for player in range(self.game.num_players):
            score = yield from self._asked("score", self.rules.score, player)
            yield from self._in_range("score", score)
            if player == FIRST and score != value:
                text = f"gave {score} for player 0 after {self.ply} plies, but returns gave {value}"
                yield "first", Finding("score", text)

    def _in_range(self, rule: str, value: Any) -> Iterator[Found]:
        if not is_return(self.game, value):
            bounded = not self.game.rewards and self.game.num_players <= 2
            expected = "a number in [-1, 1]" if bounded else "a finite number"
            yield "range", Finding(rule, f"gave {value} after {self.ply} plies; expected {expected}")

    def _asked(self, rule: str, function: Any, *arguments: Any) -> Generator[Found, None, Any]:
        """Call a rule that must not change the state, and check that it does not; returns the answer."""
        before = self.state.copy()
        answer = ask_plain(self.game, rule, function, self.state, *arguments, ply=self.ply)
        if self.state.tobytes() != before.tobytes():
            yield "state", Finding(rule, f"changed the state at ply {self.ply}")
            self.state[:] = before
        return answer


def _is_exploration(value: Any) -> bool:
    number = isinstance(value, int | float | np.floating) and not isinstance(value, bool)
    return value is None or (number and 0.0 <= float(value) <= MAX_EXPLORATION)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer | np.bool_)
