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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from games.compile.specialise import is_compiled
from games.contract.findings import Finding, TimeLimit, ask, ask_plain, deal, plain_rules
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


def check_attributes(game: Game) -> None:
    """Check the start position and the attributes, before any rule is called; raises Finding."""
    state = ask(game, "initial_state", game.initial_state)
    if not isinstance(state, np.ndarray) or state.ndim != 1:
        raise Finding("initial_state", f"gave {type(state).__name__}; expected a 1-D NumPy array")
    if np.shares_memory(state, game.initial_state()):
        raise Finding("initial_state", "gave the same array twice; expected a new one each time")
    whole, number = (int, np.integer), (int, float, np.integer, np.floating)
    for name, kinds, least, most, accepted in (
        ("max_moves", whole, 1, MAX_MOVES, f"1 to {MAX_MOVES}"),
        ("max_plies", whole, 1, math.inf, "at least 1"),
        ("num_players", whole, 1, MAX_PLAYERS, f"1 to {MAX_PLAYERS}"),
        ("discount", number, 5e-324, 1, "a number above 0, at most 1"),
        ("exploration", number, 0, MAX_EXPLORATION, "a number from 0 to 1000, or None"),
    ):
        value = getattr(game, name)
        right = isinstance(value, kinds) and not isinstance(value, bool) and least <= value <= most
        if not right and not (name == "exploration" and value is None):
            raise Finding(name, f"is {value!r}; expected {accepted}")
    if len(game.player_names) < game.num_players:
        text = f"has {len(game.player_names)} names; expected {game.num_players}, one for each player"
        raise Finding("player_names", text)
    if game.num_players > 2 and game.rules.score is None:
        raise Finding("score", f"is not defined; expected one for {game.num_players} players")


def check_return(game: Game, rule: str, value: Any, where: str) -> None:
    """Raise Finding for a value that cannot be a return of a game, or the value of a position."""
    if not is_return(game, value):
        bounded = not game.rewards and game.num_players <= 2
        expected = "a number in [-1, 1]" if bounded else "a finite number"
        raise Finding(rule, f"gave {value} {where}; expected {expected}")


def is_return(game: Game, value: Any) -> bool:
    """Whether the value can be a return: a number in [-1, 1], any finite number for rewards and scores."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return False
    return math.isfinite(number) if game.rewards or game.num_players > 2 else -1.0 <= number <= 1.0


class RandomGame:
    """A random game from a given position, and the moves played so far. Its methods raise Finding."""

    def __init__(
        self, game: Game, rules: Rules, start: State, seed: int, compiled: Rules | None = None
    ) -> None:
        """``rules``: the game's rules as plain Python. ``start`` is copied. ``compiled``: rules whose answers
        must be the same."""
        self.game, self.rules, self.seed, self._compiled = game, rules, seed, compiled
        self._twin: State = start.copy()
        self.state: State = start.copy()
        self.played: list[int] = []
        self.start = start
        self._draw = random.Random(seed)
        # Longer and wider than any valid list, so that too many moves and invalid codes can be reported.
        self._moves = np.zeros(65_536, dtype=np.int64)

    @property
    def ply(self) -> int:
        return len(self.played)

    @contextmanager
    def located(self) -> Iterator[None]:
        """Within, a violation gets the moves played so far."""
        try:
            yield
        except Finding as found:
            found.after = self.moves_text()
            raise

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

    def over(self) -> bool:
        """Whether the game is over; checks that it is after ``max_plies`` plies, and the rewards so far."""
        over = bool(self.answer_of("is_terminal"))
        if self.game.rewards and not over:
            self.returns()
        if not over and self.ply >= self.game.max_plies:
            text = f"is {self.game.max_plies}, but a random game (seed {self.seed}) is not over by then"
            raise Finding("max_plies", text)
        return over

    def legal_moves(self) -> list[int]:
        """Check the player to move and the legal moves; returns the legal moves."""
        game, ply = self.game, self.ply
        mover = self.answer_of("current_player")
        movers = [*range(game.num_players), *([CHANCE] if game.has_chance else [])]
        if not _is_whole(mover) or mover not in movers:
            expected = " or ".join(map(str, movers)) if len(movers) < 3 else f"one of {movers}"
            raise Finding("current_player", f"gave {mover} at ply {ply}; expected {expected}")
        answer = self.answer_of("legal_moves", self._moves)
        if not _is_whole(answer):
            raise Finding("legal_moves", f"gave {answer!r} at ply {ply}; expected the number of moves")
        count = int(answer)
        if count < 1:
            text = f"gave no move at ply {ply}, but is_terminal says that the game is not over"
            raise Finding("legal_moves", text)
        if count > game.max_moves:
            raise Finding("max_moves", f"is {game.max_moves}, but {count} moves are legal at ply {ply}")
        moves: list[int] = self._moves[:count].tolist()
        if len(set(moves)) < count:
            twice = next(move for move in moves if moves.count(move) > 1)
            raise Finding("legal_moves", f"gave move {twice} twice at ply {ply}")
        if wrong := [move for move in moves if not 0 <= move <= MAX_MOVE_CODE]:
            raise Finding("legal_moves", f"gave move {wrong[0]} at ply {ply}; expected 0 to 65,534")
        if self._compiled is not None:
            other = np.zeros(65_536, dtype=np.uint16)
            if self._compiled.legal_moves(self._twin, other) != count or other[:count].tolist() != moves:
                text = f"gives different moves compiled and in plain Python, at ply {ply}"
                raise Finding("legal_moves", text)
        return moves

    def play_one_of(self, moves: list[int]) -> None:
        """Play one of ``moves``, drawn at random."""
        move = self._draw.choice(moves)
        # First, so that an error message lists the move.
        self.played.append(move)
        ask_plain(self.game, "play", self.rules.play, self.state, move, ply=self.ply - 1)
        if self._compiled is not None:
            self._compiled.play(self._twin, move)
            if not np.array_equal(self.state, self._twin):
                text = f"leads to different states compiled and in plain Python, at ply {self.ply - 1}"
                raise Finding("play", text)

    def play_on(self, plies: int, until_s: float) -> None:
        """Check the game to its end, at most ``plies`` plies and until ``until_s``, but at least one ply."""
        while not self.over():
            if self.ply >= plies or (self.ply > 0 and time.monotonic() > until_s):
                return
            self.play_one_of(self.legal_moves())
        self.returns()

    def returns(self) -> None:
        """Check the return of a finished game, or the rewards so far, of every player."""
        value, where = self.answer_of("returns"), f"after {self.ply} plies"
        check_return(self.game, "returns", value, where)
        for player in range(self.game.num_players if self.rules.score is not None else 0):
            score = self.answer_of("score", player)
            check_return(self.game, "score", score, where)
            if player == FIRST and score != value:
                raise Finding("score", f"gave {score} for player 0 {where}, but returns gave {value}")

    def answer_of(self, rule: str, *arguments: Any) -> Any:
        """The answer of a rule that must not change the state."""
        before = self.state.copy()
        function = getattr(self.rules, rule)
        answer = ask_plain(self.game, rule, function, self.state, *arguments, ply=self.ply)
        if self.state.tobytes() != before.tobytes():
            raise Finding(rule, f"changed the state at ply {self.ply}")
        if self._compiled is not None and rule != "legal_moves":
            other = getattr(self._compiled, rule)(self._twin, *arguments)
            if answer != other and not (answer != answer and other != other):
                text = f"gives {other} compiled, but {answer} in plain Python, at ply {self.ply}"
                raise Finding(rule, text)
        return answer

    def is_excused(self, found: Finding) -> bool:
        """Whether a violation in plain Python is none with compiled rules.

        Some exceptions are not: for example, 8-bit numbers overflow in NumPy but are wider in compiled code.
        """
        error, rule, calls = found.__cause__, found.rule, self.game.calls
        if not is_compiled(self.game.rules) or not isinstance(error, Exception):
            return False
        if isinstance(error, IndexError) or rule not in _RULES:
            return False
        state = self.start.copy()
        more: tuple[Any, ...] = (np.zeros(65_536, dtype=np.uint16),) if rule == "legal_moves" else ()
        try:
            for move in self.played:
                calls.play(state, move)
            if rule != "play":
                getattr(calls, rule)(state, *more)
        except Exception:
            return False
        return True


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer | np.bool_)


def limit_of(game: Game) -> float:
    """How many seconds one call of a rule may take in plain Python."""
    return COMPILED_LIMIT_S if is_compiled(game.rules) else PLAIN_LIMIT_S


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
    rules = plain_rules(game.rules)
    try:
        with TimeLimit(limit_s or limit_of(game)), np.errstate(all="ignore"):
            check_attributes(game)
            until_s = time.monotonic() + seconds
            seed = done = 0
            while done < plies and (seed == 0 or time.monotonic() < until_s):
                played = RandomGame(game, rules, deal(game, seed, rules) if start is None else start, seed)
                try:
                    with played.located():
                        played.play_on(plies - done, until_s)
                except Finding as found:
                    if played.is_excused(found):
                        return
                    raise
                look(played.state)
                done += max(1, played.ply)
                seed += 1
    except Finding as found:
        where = "" if start is None else " (from the position that was given)"
        raise BrokenGame(game.spec, f"{found}{where}") from found.__cause__
