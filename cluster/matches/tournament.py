"""Several matches of one game at a time: first the first pair of each, then the second. A state machine.

So a tournament that is broken off has as many pairs of each match, give or take one. Matches
do not know of each other: each draws from its own seed, and is what it would be if it were played alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from cluster.matches.folder import MatchFolder
from cluster.matches.game import GameJob, GamePlayed, MakePlayer, MatchContext, MatchWorker
from cluster.matches.match import Match
from search.players import player_of


@dataclass(frozen=True)
class TournamentContext:
    """What all its games have in common."""

    matches: tuple[MatchContext, ...]


@dataclass(frozen=True)
class TournamentJob:
    """A game of one of the matches."""

    index: int
    match: int
    game: int
    """Its index in the match."""
    simulations: int = 1


class Tournament:
    """Matches of ``pairs`` pairs each; the same events as of one `Match`."""

    def __init__(self, matches: Sequence[Match]) -> None:
        """All must have as many games, at least one pair."""
        self.matches = list(matches)
        self.stopped_by: str | None = None
        """games, or cancelled."""
        self._look()

    @property
    def finished(self) -> bool:
        return self.stopped_by is not None

    @property
    def games(self) -> int:
        return sum(match.games for match in self.matches)

    @property
    def done(self) -> int:
        """Games that are played."""
        return sum(match.done for match in self.matches)

    @property
    def retried(self) -> int:
        return sum(match.retried for match in self.matches)

    def start(self) -> list[TournamentJob]:
        """The games that are missing, pair by pair."""
        missing = [
            self._job(number, job) for number, match in enumerate(self.matches) for job in match.start()
        ]
        return sorted(missing, key=lambda job: job.index)

    def game_played(self, played: GamePlayed) -> bool:
        """As `Match.game_played`."""
        number, game = self.place(played.index)
        news = self.matches[number].game_played(replace(played, index=game))
        self._look()
        return news

    def game_lost(self, index: int, reason: str) -> list[TournamentJob]:
        """As `Match.game_lost`."""
        number, game = self.place(index)
        return [self._job(number, job) for job in self.matches[number].game_lost(game, reason)]

    def game_failed(self, index: int, error: str) -> None:
        """As `Match.game_failed`."""
        number, game = self.place(index)
        self.matches[number].game_failed(game, error)

    def stop(self, reason: str) -> None:
        """End it with what was played."""
        for match in self.matches:
            match.stop(reason)
        if not self.finished:
            self.stopped_by = reason

    def place(self, index: int) -> tuple[int, int]:
        """Match and game of a job."""
        pair, rest = divmod(index, 2 * len(self.matches))
        return rest // 2, 2 * pair + rest % 2

    def _job(self, number: int, job: GameJob) -> TournamentJob:
        index = 2 * (job.pair * len(self.matches) + number) + job.leg
        return TournamentJob(index, number, job.index)

    def _look(self) -> None:
        if not self.finished and all(match.finished for match in self.matches):
            self.stopped_by = "games"


class TournamentWorker:
    """Plays games of several matches, one after the other, in one process."""

    def __init__(
        self, make_player: MakePlayer = player_of, cancelled: Callable[[], bool] = lambda: False
    ) -> None:
        self._make_player = make_player
        self._cancelled = cancelled
        self._context: TournamentContext | None = None
        self._workers: list[MatchWorker] = []

    def prepare(self, context: TournamentContext) -> None:
        """Load the game and make all players."""
        if context != self._context:
            self._workers = [MatchWorker(self._make_player, self._cancelled) for _ in context.matches]
            for worker, match in zip(self._workers, context.matches, strict=True):
                worker.prepare(match)
            self._context = context

    def run(self, context: TournamentContext, job: TournamentJob) -> GamePlayed:
        """The game that the job names: a function of context and job alone."""
        self.prepare(context)
        played = self._workers[job.match].run(context.matches[job.match], GameJob(job.game))
        return replace(played, index=job.index)


class TournamentFolder:
    """A folder with one folder for each match; close it when done."""

    def __init__(self, path: Path, matches: Sequence[tuple[str, MatchContext]]) -> None:
        """``matches``: name and context of each. Raises InvalidInput (out), OSError."""
        self._stack = ExitStack()
        self._folders: list[MatchFolder] = []
        with ExitStack() as opened:
            for name, context in matches:
                folder = MatchFolder(path / name, context)
                opened.callback(folder.close)
                self._folders.append(folder)
            self._stack = opened.pop_all()

    @property
    def folders(self) -> list[MatchFolder]:
        """Of the matches, in their order."""
        return self._folders

    def add(self, played: GamePlayed) -> None:
        """Keep a game of a tournament."""
        number = played.index // 2 % len(self._folders)
        self._folders[number].add(played)

    def close(self) -> None:
        """Put all games in order, and let others write to the folders."""
        self._stack.close()
