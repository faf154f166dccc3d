"""A match: which games are played, what they say, and when there are enough. No workers, clock or files.

Games may end in any order. What they say does not depend on it: a sequential test looks at pairs in the order
of their numbers, and ends with the first pair at which it can decide. Games beyond that pair are not counted,
though some may have been played.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cluster.matches.game import MatchContext
from cluster.matches.record import GameRecord
from cluster.matches.shares import Shares
from cluster.matches.standing import Standing, score_of_pair
from cluster.matches.statistics import PAIR_SCORES, Sprt


class MatchFailed(RuntimeError):
    """The match cannot continue: a game raised an exception, or was lost too often."""


@dataclass(frozen=True)
class Decision:
    """The result of a sequential test."""

    accepted: str
    """The accepted hypothesis: elo0 or elo1."""
    pairs: int
    """The number of pairs that the decision is based on: the first ones."""


class Match:
    """The state of one match of ``games`` games, ``context.seats`` for each pair."""

    def __init__(
        self,
        context: MatchContext,
        games: int,
        sprt: Sprt | None = None,
        played: Iterable[GameRecord] = (),
        scoring: str = "wins",
    ) -> None:
        """``played``: games of this match that were played earlier. ``scoring``: one of SCORINGS."""
        self.scoring = scoring
        self.context = context
        self.games = games
        self.sprt = sprt
        self.retried = 0
        """Number of games that were assigned again because their worker was lost."""
        self.stopped_by: str | None = None
        """Why the match ended: games, sprt, or cancelled; None while it runs."""
        self.decision: Decision | None = None
        self._records: dict[int, GameRecord] = {}
        self._counts = [0] * len(PAIR_SCORES)
        """Of all pairs before the first incomplete one: how many scored 0, 1/4, 1/2, 3/4 and 1."""
        for record in played:
            assert record.pair is not None
            assert record.leg is not None
            index = context.seats * (record.pair - 1) + record.leg - 1
            if index < games:
                self._records[index] = record
        self._look()

    @property
    def finished(self) -> bool:
        return self.stopped_by is not None

    @property
    def done(self) -> int:
        """The number of games that have been played."""
        return len(self._records)

    @property
    def records(self) -> list[GameRecord]:
        """All played games in the order of their numbers."""
        return [self._records[index] for index in sorted(self._records)]

    @property
    def missing(self) -> list[int]:
        """The numbers of the games that are to be played."""
        return [] if self.finished else [index for index in range(self.games) if index not in self._records]

    def add(self, index: int, record: GameRecord) -> None:
        """A game was played."""
        self._records[index] = record
        self._look()

    def stop(self, reason: str) -> None:
        """End the match with the games played so far; no effect if it is over."""
        if not self.finished:
            self.stopped_by = reason

    def shares(self) -> Shares:
        """The standing of a match with three or more players."""
        return Shares(self._records, self.context.seats)

    def standing(self) -> Standing:
        """The standing of the games that count, of two players."""
        last = self.games if self.decision is None else 2 * self.decision.pairs
        counted = {index: record for index, record in self._records.items() if index < last}
        return Standing(counted, self.scoring)

    def _look(self) -> None:
        """Find out whether the match is over."""
        if self.finished:
            return
        while self.sprt is not None and not self.finished:
            both = [2 * sum(self._counts), 2 * sum(self._counts) + 1]
            if any(index not in self._records for index in both):
                break
            score = score_of_pair(self._records, both[0], self.scoring)
            self._counts[PAIR_SCORES.index(score)] += 1
            accepted = self.sprt.decision(self._counts)
            if accepted is not None:
                self.decision = Decision(accepted, sum(self._counts))
                self.stop("sprt")
        if len(self._records) == self.games:
            # No effect if the sequential test has just ended the match.
            self.stop("games")
