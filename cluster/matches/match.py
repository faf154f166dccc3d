"""Matches: which games are played, when there are enough, and the folder in which they are kept.

Games may end in any order. The result does not depend on this order: a sequential test looks at pairs in the
order of their numbers, and ends with the first pair at which it can decide. Games beyond that pair are not
counted, though some may have been played.

``match.json`` in the folder of a match identifies it. Each finished game is appended to ``games.txt``, which
is sorted when the match ends. A game is stored completely or not at all: an interrupted match can be resumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.matches.game import MatchContext, PlayerFailed
from cluster.matches.record import GameRecord, read_records, write_file
from cluster.matches.standing import Shares, Standing, score_of_pair
from cluster.matches.statistics import PAIR_SCORES, Sprt
from cluster.runtime.jobset import Unit, UnitDone, UnitFailed, Units
from cluster.runtime.tasks import Task
from cluster.system.files import append
from cluster.system.kept_folder import Kept
from games.errors import InvalidInput

IDENTITY, GAMES = "match.json", "games.txt"


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
        """Note the record of the game with this index, which has been played."""
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


class MatchFolder:
    """The folder of one match. It must be closed."""

    def __init__(self, path: Path, context: MatchContext) -> None:
        """Creates the folder if needed. Raises OSError, or InvalidInput (field ``out``) if it holds another
        match."""
        self.games = path / GAMES
        if self.games.exists() and not (path / IDENTITY).exists():
            raise InvalidInput("out", str(path), f"a folder with {IDENTITY}, or without {GAMES}")
        self._kept = Kept(path, IDENTITY, context.identity, "match")
        text = self.games.read_text(encoding="utf-8") if self.games.exists() else ""
        self.played = read_records(text, "out")
        """The games that were stored when the folder was opened."""
        seats = context.seats
        torn = seats > 2 and any(len(record.scores or ()) != seats for record in self.played)
        if torn or any(record.pair is None or record.leg is None for record in self.played):
            raise InvalidInput("out", str(path), "a folder that only matches have written to")
        # Removes a game that a killed process has written only in part.
        write_file(self.games, self.played)

    def keep(self, record: GameRecord) -> None:
        """Store a game."""
        append(self.games, str(record))

    def close(self) -> None:
        """Sort the games and release the lock of the folder."""
        records = read_records(self.games.read_text(encoding="utf-8"), "out")
        write_file(self.games, sorted(records, key=lambda record: (record.pair or 0, record.leg or 0)))
        self._kept.close()


class Tournament(Units):
    """The games of one match or of several, whose keys are their places in ``matches``.

    The first pair of every match comes first, then the second pair: a tournament that is interrupted has as
    many pairs of each match, give or take one. Each match draws from its own seed, and plays the games that
    it would play alone.
    """

    def __init__(self, matches: Sequence[Match], folders: Sequence[MatchFolder] = ()) -> None:
        """``folders``: where the games of each match are kept, if they are."""
        self.matches = list(matches)
        self.contexts = {key: match.context for key, match in enumerate(matches)}
        self._folders = folders
        self._look()

    @property
    def games(self) -> int:
        """The number of games of all matches."""
        return sum(match.games for match in self.matches)

    @property
    def done(self) -> int:
        """The number of games that have been played."""
        return sum(match.done for match in self.matches)

    def missing(self) -> list[Task]:
        """The games that are to be played, pair by pair."""
        games = [(key, index) for key, match in enumerate(self.matches) for index in match.missing]
        seats = [match.context.seats for match in self.matches]
        games.sort(key=lambda game: (game[1] // seats[game[0]], *game))
        return [Task(index, Unit(index), context=key) for key, index in games]

    def take(self, context: int, result: UnitDone) -> None:
        """Count a game that has been played, and keep it in the folder of its match."""
        self.matches[context].add(result.index, result.found)
        if self._folders:
            self._folders[context].keep(result.found)
        self._look()

    def note_retry(self, context: int) -> None:
        super().note_retry(context)
        self.matches[context].retried += 1

    def fail(self, context: int, index: int, error: str, cause: Exception | None) -> None:
        """Raise UnitFailed for a game that raised, and would do so again, unless its match is over.

        An exception of the game's rules in this process is raised unchanged: it names the file and the line.
        """
        if self.matches[context].finished:
            return
        if cause is not None and not isinstance(cause, PlayerFailed):
            raise cause
        raise UnitFailed(f"the match failed: {error.removeprefix('PlayerFailed: ')}") from cause

    def give_up(self, context: int, index: int, reason: str) -> None:
        """Raise UnitFailed for a game that was lost too often, unless its match is over."""
        if not self.matches[context].finished:
            raise UnitFailed(f"the match failed: game {index + 1} was {reason}")

    def stop(self, reason: str) -> None:
        """End the tournament with the games played so far."""
        for match in self.matches:
            match.stop(reason)
        self._look()

    def _look(self) -> None:
        """Find out whether all matches are over: by ``games``, ``sprt`` or ``cancelled``."""
        if not self.finished and all(match.finished for match in self.matches):
            reasons = {match.stopped_by for match in self.matches}
            self.stopped_by = "cancelled" if "cancelled" in reasons else min(map(str, reasons))
