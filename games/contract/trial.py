"""Trial of a user's game before compiled code trusts its rules.

Compiled code does not check the answers of rules: with an invalid move code, or with a list of moves that is
too long, it reads and writes outside its arrays, and a rule that never ends cannot be interrupted. So random
games are played in plain Python first: a few hundred plies, in about a tenth of a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from games.compile.specialise import is_compiled
from games.contract.findings import Found, Stop, deal, plain_rules
from games.contract.random_game import RandomGame, look_at_attributes
from games.contract.time_limit import TimeLimit
from games.errors import BrokenGame
from games.game import Game, State

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
