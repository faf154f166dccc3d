"""A match: which games are out, which are played, and when it ends. A state machine, as the coordinator is.

Events go in as method calls (a game is played, lost, or failed), instructions come out as
games to play. No Ray, no clock and no file in here.

Games may end in any order. What they say does not depend on it: a sequential test looks at
pairs in the order of their numbers, and ends with the first pair at which it can decide; games beyond
that pair are not counted, though some may have been played.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cluster.matches.game import GameJob, GamePlayed, MatchContext
from cluster.matches.record import GameRecord
from cluster.matches.standing import Standing, score_of_pair
from cluster.matches.statistics import PAIR_SCORES, Sprt

MAX_ATTEMPTS = 5
"""A game that was lost this often takes down whatever plays it; the match gives up."""


class MatchFailed(RuntimeError):
    """The match cannot go on: a game failed for a reason of its own, or was lost too often."""


@dataclass(frozen=True)
class Decision:
    """How a sequential test ended."""

    accepted: str
    """elo0 or elo1."""
    pairs: int
    """How many pairs it took: the first so many."""


class Match:
    """Owns one match of ``games`` games, two for each pair."""

    def __init__(
        self,
        context: MatchContext,
        games: int,
        sprt: Sprt | None = None,
        played: Iterable[GameRecord] = (),
        scoring: str = "wins",
    ) -> None:
        """``played``: games of this match that were played before. ``scoring``: one of SCORINGS."""
        self.scoring = scoring
        self.context = context
        self.games = games
        self.sprt = sprt
        self.retried = 0
        """Games that were handed out again, because their worker was lost."""
        self.stopped_by: str | None = None
        """games, sprt, or cancelled."""
        self.decision: Decision | None = None
        self._records: dict[int, GameRecord] = {}
        self._attempts: dict[int, int] = {}
        self._counts = [0] * len(PAIR_SCORES)
        """Of the first pairs, as far as none is missing: how many scored 0, 1/4, 1/2, 3/4 and 1."""
        for record in played:
            assert record.pair is not None
            assert record.leg is not None
            index = 2 * (record.pair - 1) + record.leg - 1
            if index < games:
                self._records[index] = record
        self._look()

    @property
    def finished(self) -> bool:
        return self.stopped_by is not None

    @property
    def done(self) -> int:
        """Games that are played."""
        return len(self._records)

    @property
    def records(self) -> list[GameRecord]:
        """All games that are played, in the order of their numbers."""
        return [self._records[index] for index in sorted(self._records)]

    def start(self) -> list[GameJob]:
        """The games that are missing."""
        if self.finished:
            return []
        jobs = [GameJob(index) for index in range(self.games) if index not in self._records]
        self._attempts = {job.index: 1 for job in jobs}
        return jobs

    def game_played(self, played: GamePlayed) -> bool:
        """A game has come; whether it is news: a copy of one that is there already is none."""
        if played.index in self._records or self._attempts.pop(played.index, None) is None:
            return False
        self._records[played.index] = played.record
        self._look()
        return True

    def game_lost(self, index: int, reason: str) -> list[GameJob]:
        """Its worker died or let its deadline pass: the game is handed out again, if it still matters."""
        if index not in self._attempts or self.finished:
            return []
        if self._attempts[index] == MAX_ATTEMPTS:
            raise MatchFailed(f"game {index + 1} was lost {MAX_ATTEMPTS} times; the last time: {reason}")
        self._attempts[index] += 1
        self.retried += 1
        return [GameJob(index)]

    def game_failed(self, index: int, error: str) -> None:
        """A game raised: it would do so again, so the match ends."""
        if index in self._attempts and not self.finished:
            raise MatchFailed(error)

    def stop(self, reason: str) -> None:
        """End the match with what was played; one that is over stays as it is."""
        if not self.finished:
            self.stopped_by = reason

    def standing(self) -> Standing:
        """What the games say that count."""
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
            # Unless the test has stopped it just now.
            self.stop("games")
