"""The games of one match or of several: the units of a `Jobset`.

The first pair of every match comes first, then the second pair: a tournament that is interrupted has as many
pairs of each match, give or take one. Matches do not know of each other: each draws from its own seed, and
plays the games that it would play alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cluster.matches.folder import MatchFolder
from cluster.matches.game import GameJob, GamePlayed, MatchContext, PlayerFailed
from cluster.matches.match import Match, MatchFailed
from cluster.runtime.tasks import Task


class Tournament:
    """Matches, whose keys are their places in ``matches``."""

    def __init__(self, matches: Sequence[Match], folders: Sequence[MatchFolder] = ()) -> None:
        """``folders``: where the games of each match are kept, if they are."""
        self.matches = list(matches)
        self._folders = folders
        self.stopped_by: str | None = None
        """games, sprt, or cancelled."""
        self._look()

    @property
    def contexts(self) -> Mapping[int, MatchContext]:
        return dict(enumerate(match.context for match in self.matches))

    @property
    def finished(self) -> bool:
        return self.stopped_by is not None

    @property
    def games(self) -> int:
        return sum(match.games for match in self.matches)

    @property
    def done(self) -> int:
        """The number of games that have been played."""
        return sum(match.done for match in self.matches)

    @property
    def retried(self) -> int:
        """How often games were handed out again because their worker was lost."""
        return sum(match.retried for match in self.matches)

    def missing(self) -> list[Task]:
        """The games that are to be played, pair by pair."""
        games = [(key, index) for key, match in enumerate(self.matches) for index in match.missing]
        seats = [match.context.seats for match in self.matches]
        games.sort(key=lambda game: (game[1] // seats[game[0]], *game))
        return [Task(index, GameJob(index, seats=seats[key]), context=key) for key, index in games]

    def take(self, context: int, result: GamePlayed) -> None:
        """A game was played: it counts, and is kept."""
        self.matches[context].add(result.index, result.record)
        if self._folders:
            self._folders[context].keep(result.record)
        self._look()

    def note_retry(self, context: int) -> None:
        """A game was lost with its worker, and is played again."""
        self.matches[context].retried += 1

    def fail(self, context: int, index: int, error: str, cause: Exception | None) -> None:
        """A game raised and would do so again: raises MatchFailed, if its match is not over.

        What the rules of a game raise in this process is raised as it is: it names the file and the line.
        """
        if self.matches[context].finished:
            return
        if cause is not None and not isinstance(cause, PlayerFailed):
            raise cause
        raise MatchFailed(error.removeprefix("PlayerFailed: ")) from cause

    def give_up(self, context: int, index: int, reason: str) -> None:
        """A game was lost too often: raises MatchFailed, if its match is not over."""
        if not self.matches[context].finished:
            raise MatchFailed(f"game {index + 1} was {reason}")

    def stop(self, reason: str) -> None:
        """End the tournament with the games played so far."""
        for match in self.matches:
            match.stop(reason)
        self._look()

    def _look(self) -> None:
        if not self.finished and all(match.finished for match in self.matches):
            reasons = {match.stopped_by for match in self.matches}
            self.stopped_by = "cancelled" if "cancelled" in reasons else min(map(str, reasons))
