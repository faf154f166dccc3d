"""How long to think about a move, from the time that is left: pure functions, all times in seconds.

With a limit for all moves, a move gets an equal share of what is left for the moves that are still to come,
and its increment. What a manager measures is longer than the search: its messages travel, and processes wait
for a core. So a margin is kept from whatever limit there is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from games.errors import InvalidInput

MOST_TO_GO = 25
"""Most moves of a player that are reckoned with: games are over long before the most plies that their rules
allow. A player then thinks for 4 % of what is left."""
LEAST_TO_GO = 2
"""Least moves that are reckoned with, so that no move takes all the time."""
OVERHEAD_S = 0.02
"""Seconds of a move that are no search: reading, preparing, the answer."""
MARGIN, MOST_MARGIN_S = 0.04, 0.2
"""The share of a limit that is kept beside that, and the most seconds of it."""
MOST_CLOCK_S = 86_400.0
_CLOCK = re.compile(r"(\d{1,5}(?:\.\d{1,3})?)(?:\+(\d{1,4}(?:\.\d{1,3})?))?", re.ASCII)
LEAST_S = 0.001
"""Time of a move for which there is none."""


@dataclass(frozen=True)
class Limit:
    """The time of one player for a move; None where there is no such limit. Numbers may be negative."""

    move_s: float | None = None
    """Most seconds of the move; 0: it is made at once."""
    left_s: float | None = None
    """Seconds that are left for this move and all later ones."""
    increment_s: float = 0.0
    """Seconds that are added to ``left_s`` after the move."""


def moves_to_go(plies: int, most_plies: int, players: int = 2) -> int:
    """How many moves the player to move will still make, this one included: an estimate.

    ``plies`` have been played of at most ``most_plies``.
    """
    return max(LEAST_TO_GO, min(MOST_TO_GO, -(-(most_plies - plies) // players)))


def seconds_for_move(limit: Limit, to_go: int, overhead_s: float = OVERHEAD_S) -> float | None:
    """Seconds from when the move was asked for until it is answered, at least LEAST_S; None without a limit.

    ``to_go``: moves that the player will still make, this one included. ``overhead_s``: what of a move is no
    search.
    """
    limits = [each for each in (limit.move_s, limit.left_s) if each is not None]
    if limit.left_s is not None:
        limits.append(limit.left_s / to_go + limit.increment_s)
    if not limits:
        return None
    least = min(limits)
    return max(LEAST_S, least - overhead_s - min(MARGIN * least, MOST_MARGIN_S))


@dataclass(frozen=True)
class Clock:
    """The time that each player has for a game."""

    base_s: float
    """For all moves together."""
    increment_s: float = 0.0
    """Added after each move."""

    @classmethod
    def read(cls, text: str) -> Clock:
        """From ``base`` or ``base+increment``, in seconds. Raises InvalidInput (clock)."""
        found = _CLOCK.fullmatch(text)
        if found is None or not 0.0 < float(found[1]) <= MOST_CLOCK_S:
            accepted = f"seconds for a game of up to {MOST_CLOCK_S:g}, and for each move, such as 60+0.5"
            raise InvalidInput("clock", text, accepted)
        return cls(float(found[1]), float(found[2] or 0.0))

    def left_s(self, spent_s: float, moves: int) -> float:
        """What is left after so many moves, which took ``spent_s`` together; negative after overtime."""
        return self.base_s + moves * self.increment_s - spent_s

    def __str__(self) -> str:
        return f"{self.base_s:g}+{self.increment_s:g}"
