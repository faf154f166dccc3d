"""One match from its first game to its last: the match and an executor brought together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from cluster.executor import Executor, JobDone, JobLost, Task
from cluster.matches.game import Cancelled, GamePlayed, PlayerFailed
from cluster.matches.match import MatchFailed

TICK_S = 0.05
"""How long the loop sleeps at most, so that cancelling and progress are prompt."""


@dataclass
class Stop:
    """Set from a signal handler; seen between two moves by an executor in this process, else by the loop."""

    requested: bool = False

    def cancel(self) -> None:
        self.requested = True


class Games(Protocol):
    """Games to be played: a match, or several at a time. See `Match`."""

    @property
    def finished(self) -> bool: ...

    @property
    def done(self) -> int: ...

    def start(self) -> Sequence[Task]: ...

    def game_played(self, played: GamePlayed) -> bool: ...

    def game_lost(self, index: int, reason: str) -> Sequence[Task]: ...

    def game_failed(self, index: int, error: str) -> None: ...

    def stop(self, reason: str) -> None: ...


class Folder(Protocol):
    """Keeps games."""

    def add(self, played: GamePlayed) -> None: ...


G = TypeVar("G", bound=Games)


class Observer(Protocol[G]):
    """Is told how a match goes; called from the loop, so it must be quick."""

    def __call__(self, session: MatchSession[G]) -> None: ...


class MatchSession(Generic[G]):
    """A running match as observers see it."""

    def __init__(
        self,
        match: G,
        executor: Executor,
        stop: Stop,
        folder: Folder | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.match = match
        self.executor = executor
        self._stop = stop
        self._folder = folder
        self._clock = clock
        self._started_s = clock()

    @property
    def elapsed_s(self) -> float:
        return self._clock() - self._started_s

    def run(self, observers: tuple[Observer[G], ...] = ()) -> None:
        """Play to the end; raises MatchFailed. The executor is left open."""
        match, executor = self.match, self.executor
        self._started_s = self._clock()
        executor.submit(match.start())
        try:
            while not match.finished:
                self._turn()
                if self._stop.requested:
                    match.stop("cancelled")
                for observer in observers:
                    observer(self)
        finally:
            executor.drop()

    def _turn(self) -> None:
        match = self.match
        try:
            events = self.executor.wait(TICK_S)
        except Cancelled:
            return
        except PlayerFailed as error:
            # Of an executor in this process; another's comes as text.
            raise MatchFailed(str(error)) from error
        for event in events:
            if isinstance(event, JobDone):
                # A game that ends when the match is over is played all the same.
                if match.game_played(event.result) and self._folder is not None:
                    self._folder.add(event.result)
            elif isinstance(event, JobLost):
                self.executor.submit(match.game_lost(event.index, event.reason))
            else:
                match.game_failed(event.index, event.error.removeprefix("PlayerFailed: "))
