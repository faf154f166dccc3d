"""Random games with checks before every ply, and the trial of a user's game before compiled code trusts it.

Compiled code does not check the answers of rules: with an invalid move code, or with a list of moves that is
too long, it reads and writes outside its arrays, and a rule that never ends cannot be interrupted. So random
games are played in plain Python first, where an index out of bounds raises: a few hundred plies, in about a
tenth of a second. Every answer that compiled code relies on is checked: the player to move, the number of
moves, their codes, the game's length, its return, rewards on the way. Where chance moves, any outcome may
come.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from games.compile.specialise import is_compiled
from games.contract.findings import Finding, Found, Stop, TimeLimit, ask, ask_plain, deal, plain_rules
from games.errors import BrokenGame
from games.game import CHANCE, FIRST, MAX_EXPLORATION, Game, State
from games.rules import MAX_MOVE_CODE, MAX_MOVES, Rules

MAX_PLAYERS = 16
PLIES = 300
"""A trial ends after this many plies of random games."""
SECONDS = 0.1
"""A trial ends after this time, but not before one ply is played, however long that takes."""
COMPILED_LIMIT_S = 5.0
"""Limit for one call, in plain Python, of a rule that has a compiled version, which is about 100 times
faster."""
PLAIN_LIMIT_S = 30.0
"""Limit for one call of a rule that is plain Python only."""
_RULES = ("current_player", "legal_moves", "play", "is_terminal", "returns")


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
        answer = yield from self.answer_of("is_terminal", self.rules.is_terminal)
        if self.game.rewards and not answer:
            yield from self.returns()
        if not answer and self.ply >= self.game.max_plies:
            text = f"is {self.game.max_plies}, but a random game (seed {self.seed}) is not over by then"
            yield "long", Finding("max_plies", text)
        return bool(answer)

    def legal_moves(self) -> Generator[Found, None, list[int]]:
        """Check the player to move and the legal moves; returns the legal moves."""
        game, ply = self.game, self.ply
        mover = yield from self.answer_of("current_player", self.rules.current_player)
        movers = [*range(game.num_players), *([CHANCE] if game.has_chance else [])]
        if not _is_whole(mover) or mover not in movers:
            expected = " or ".join(map(str, movers)) if len(movers) < 3 else f"one of {movers}"
            raise Stop(Finding("current_player", f"gave {mover} at ply {ply}; expected {expected}"))
        answer = yield from self.answer_of("legal_moves", self.rules.legal_moves, self._moves)
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
        value = yield from self.answer_of("returns", self.rules.returns)
        yield from self._in_range("returns", value)
        if self.rules.score is None:
            return
        for player in range(self.game.num_players):
            score = yield from self.answer_of("score", self.rules.score, player)
            yield from self._in_range("score", score)
            if player == FIRST and score != value:
                text = f"gave {score} for player 0 after {self.ply} plies, but returns gave {value}"
                yield "first", Finding("score", text)

    def _in_range(self, rule: str, value: Any) -> Iterator[Found]:
        if not is_return(self.game, value):
            bounded = not self.game.rewards and self.game.num_players <= 2
            expected = "a number in [-1, 1]" if bounded else "a finite number"
            yield "range", Finding(rule, f"gave {value} after {self.ply} plies; expected {expected}")

    def answer_of(self, rule: str, function: Any, *arguments: Any) -> Generator[Found, None, Any]:
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


def try_out(
    game: Game,
    start: State | None = None,
    limit_s: float | None = None,
    plies: int = PLIES,
    seconds: float = SECONDS,
    look: Callable[[State], None] = lambda state: None,
) -> None:
    """Play random games and check every answer of the rules; raises BrokenGame for the first violation.

    Games begin at ``start``, by default the start of the game. ``limit_s``: how many seconds one call of a
    rule may take. The trial ends after ``plies`` plies or ``seconds`` seconds. ``look`` is called with the
    last position of each game.
    """
    trial = Trial(game, start)
    try:
        with TimeLimit(limit_s or limit_of(game)), np.errstate(all="ignore"):
            for _, finding in trial.findings(plies, seconds, look):
                raise Stop(finding)
    except Stop as stop:
        if trial.holds_compiled(stop):
            where = "" if start is None else " (from the position that was given)"
            raise BrokenGame(game.spec, f"{stop.finding}{where}") from stop.__cause__


def limit_of(game: Game) -> float:
    """How many seconds one call of a rule may take in plain Python."""
    return COMPILED_LIMIT_S if is_compiled(game.rules) else PLAIN_LIMIT_S


class Trial:
    """Random games in plain Python until a violation is found or a limit is reached."""

    def __init__(self, game: Game, start: State | None = None) -> None:
        self._game, self._start = game, start
        self._rules = plain_rules(game.rules)
        self._played: RandomGame | None = None

    def findings(
        self,
        plies: int = PLIES,
        seconds: float = SECONDS,
        look: Callable[[State], None] = lambda state: None,
    ) -> Iterator[Found]:
        """The violations in games of ``plies`` plies and ``seconds`` seconds together.

        ``look`` is called with the last position of each game. Raises Stop if a violation makes further
        checks impossible.
        """
        game = self._game
        yield from look_at_attributes(game)
        until_s = time.monotonic() + seconds
        seed = done = 0
        while done < plies and (seed == 0 or time.monotonic() < until_s):
            start = deal(game, seed, self._rules) if self._start is None else self._start
            played = self._played = RandomGame(game, self._rules, start, seed)
            yield from played.located(self._one_game(played, plies - done, until_s))
            look(played.state)
            done += max(1, played.ply)
            seed += 1

    def _one_game(self, played: RandomGame, plies: int, until_s: float) -> Iterator[Found]:
        """Check one game, for at most ``plies`` plies and until ``until_s``, but for at least one ply."""
        while not (yield from played.over()):
            if played.ply >= plies or (played.ply > 0 and time.monotonic() > until_s):
                return
            played.play_one_of((yield from played.legal_moves()))
        yield from played.returns()

    def holds_compiled(self, stop: Stop) -> bool:
        """Whether a violation in plain Python is one with compiled rules too.

        Some exceptions are not: for example, 8-bit numbers overflow in NumPy but are wider in compiled code.
        """
        error, rule = stop.__cause__, stop.finding.rule
        if not is_compiled(self._game.rules) or not isinstance(error, Exception):
            return True
        if isinstance(error, IndexError) or rule not in _RULES or self._played is None:
            return True
        calls, played = self._game.calls, self._played
        state = played.start.copy()
        more: tuple[Any, ...] = (np.zeros(65_536, dtype=np.uint16),) if rule == "legal_moves" else ()
        try:
            for move in played.played:
                calls.play(state, move)
            if rule != "play":
                getattr(calls, rule)(state, *more)
        except Exception:
            return True
        return False
