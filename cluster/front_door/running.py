"""A search in the background of a program, with progress, stop, save and result.

One thread runs the search, from the start of its executor to its close. Callers wait in their own threads,
which signals and notebooks can interrupt.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Self

from cluster.checkpoint.checkpoint import Keeper, Opened
from cluster.observe.progress import Sampler
from cluster.runtime.session import Session
from cluster.runtime.tasks import Executor
from cluster.workers.placement import LOG, started_session
from games.errors import counted, foreign
from search.result import Answer, AnswerView, SearchResult

PROGRESS_S = 0.25
"""Interval of progress in seconds."""
LEAVE_S = 10.0
"""Longest wait, in seconds, at the end of the program for a search and its workers to end."""


@dataclass(frozen=True, repr=False)
class SearchProgress(AnswerView):
    """The state of a search at one moment: its answer so far and its progress.

    Besides its fields it has ``move``, ``value``, ``pv`` and ``children``, like a result. A notebook shows it
    as a board with visits.
    """

    game: str
    moves: tuple[str, ...]
    position: str | None
    to_move: str
    answer: Answer
    simulations: int
    simulations_per_s: float
    """Simulations per second over the last two seconds."""
    elapsed_s: float
    share: float
    """Used share of the budget, in [0, 1]; without a budget, of the memory."""
    tree_nodes: int
    workers: int
    executor: str
    """Where jobs run now: ``inline`` is one thread of this process, ``threads`` are several, ``ray`` are
    workers."""

    def __repr__(self) -> str:
        return f"<SearchProgress {self}>"

    def __str__(self) -> str:
        rate = f"{counted(self.simulations, 'simulation')}, {self.simulations_per_s:,.0f}/s"
        best = f", best {self.move} {self.value:+.3f}, line {' '.join(self.pv)}" if self.move else ""
        return f"{self.elapsed_s:.1f} s, {rate}{best}"

    def facts(self) -> list[tuple[str, str]]:
        """Facts about answer and search as pairs of name and text."""
        done = f"{self.simulations:,} in {self.elapsed_s:.1f} s ({100 * self.share:.0f} % of the budget)"
        return [
            *super().facts(),
            ("simulations", done),
            ("rate", f"{self.simulations_per_s:,.0f} simulations/s"),
            ("runs on", f"{counted(self.workers, 'worker')}, {self.executor}"),
        ]


class RunningSearch:
    """A search that runs in the background, made by `banyan.start` or `banyan.resume`.

    - ``for progress in search:`` gives a `SearchProgress` about four times a second, until the search is
      over.
    - ``search.stop()`` ends it early, with the result found so far.
    - ``search.result()`` waits for its end. In a program with an event loop: ``await
      asyncio.to_thread(search.result)``.
    - ``search.save(path)`` writes a checkpoint for ``banyan.resume(path)`` or the command ``banyan resume``.
    - ``with banyan.start(...) as search:`` stops the search and ends its workers when the block is left.

    >>> import banyan
    >>> with banyan.start("tictactoe", moves="b2 a1") as search:
    ...     for progress in search:
    ...         if progress.simulations >= 5000:
    ...             search.stop()
    >>> search.result().stopped_by
    'cancelled'
    """

    def __init__(self, opened: Opened, start_executor: Callable[[threading.Event], Executor]) -> None:
        """Start the search; returns when jobs can run. Raises what ``start_executor`` raises.

        ``start_executor`` gets an event that is set when its executor is no longer wanted.
        """
        self._opened = opened
        self._start_executor = start_executor
        self._changed = threading.Condition()
        self._session: Session | None = None
        self._stopped = threading.Event()
        self._over = False
        self._progress: SearchProgress | None = None
        self._saves: list[tuple[Keeper, Future[None]]] = []
        """Requested checkpoints, and the futures that their callers wait for."""
        self._result: SearchResult | None = None
        self._error: BaseException | None = None
        self._sampler = Sampler()
        self._due_s = opened.elapsed_s + PROGRESS_S
        # A daemon thread, so that a program with a forgotten endless search can end; `_leave` ends its
        # workers.
        self._thread = threading.Thread(target=self._run, name="banyan search", daemon=True)
        atexit.register(self._leave)
        self._thread.start()
        try:
            self._wait(lambda: self._session is not None)
        except BaseException:
            self.close()
            raise
        if self._error is not None:
            raise self._error

    def __repr__(self) -> str:
        if self._result is not None:
            return f"<RunningSearch, over: {self._result!r}>"
        state = "failed" if self._error is not None else "running"
        return f"<RunningSearch of {self._opened.coordinator.search.game.spec}, {state}: {self._progress}>"

    def _repr_html_(self) -> str | None:
        shown = self._result or self._progress
        return None if shown is None else shown._repr_html_()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[SearchProgress]:
        """Iterate over progress until the search is over; a slow reader misses some.

        Raises what the search raises.
        """
        seen = None
        while (progress := self._next(seen)) is not seen:
            if progress is not None:
                yield progress
            seen = progress
        if self._error is not None:
            raise self._error

    @property
    def progress(self) -> SearchProgress | None:
        """The latest progress; None before the first."""
        return self._progress

    def done(self) -> bool:
        """Whether the search is over and its workers have ended."""
        return self._over

    def stop(self) -> None:
        """End the search with what it has found; returns at once. Does nothing if the search is over."""
        self._stopped.set()
        if self._session is not None:
            self._session.cancel()

    def close(self) -> None:
        """End the search, and wait until it is over and its workers have ended."""
        self.stop()
        self._wait(lambda: False)

    def result(self, timeout: float | None = None) -> SearchResult:
        """Wait for the end of the search and return its result.

        Raises TimeoutError after ``timeout`` seconds (the search continues), SearchFailed, and
        ConnectionError if Ray cannot be reached.
        """
        if not self._wait(lambda: False, timeout):
            raise TimeoutError(f"the search is not over after {timeout} s")
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result

    def save(self, path: str | PathLike[str]) -> None:
        """Write a checkpoint of the search now; an existing file is replaced.

        Raises InvalidInput (checkpoint) if the file cannot be written.
        """
        keeper = Keeper(Path(path), warn=LOG.warning)
        with self._changed:
            if not self._over:
                saved: Future[None] = Future()
                self._saves.append((keeper, saved))
        if self._over:
            self._write(keeper)
        else:
            saved.result()

    def _run(self) -> None:
        try:
            self._result = foreign(self._search)
        except BaseException as error:
            self._error = error
        with self._changed:
            self._over = True
            self._changed.notify_all()
        self._save_what_is_asked_for()
        atexit.unregister(self._leave)

    def _search(self) -> SearchResult:
        if self._opened.coordinator.finished:
            return self._opened.coordinator.result(self._opened.elapsed_s)
        executor = self._start_executor(self._stopped)
        try:
            session = started_session(self._opened, executor)
            with self._changed:
                self._session = session
                self._changed.notify_all()
            if self._stopped.is_set():
                session.cancel()
            return session.run((self._observe,))
        finally:
            executor.close()

    def _observe(self, session: Session) -> None:
        """Update progress and write requested checkpoints; runs in the search's thread, at every event."""
        if self._saves:
            self._save_what_is_asked_for()
        if session.elapsed_s < self._due_s and session.finished_s is None:
            return
        search, sample = session.search, self._sampler.sample(session)
        figures = sample.figures
        progress = SearchProgress(
            game=search.game.spec,
            moves=search.request.moves,
            position=search.request.position,
            to_move=search.game.name_of(int(search.game.calls.current_player(search.root_state))),
            answer=sample.answer,
            simulations=figures.simulations,
            simulations_per_s=figures.simulations_per_s,
            elapsed_s=session.elapsed_s,
            share=figures.budget_used,
            tree_nodes=figures.tree_nodes,
            workers=session.executor.num_workers,
            executor=session.executor.name,
        )
        self._due_s = session.elapsed_s + PROGRESS_S
        with self._changed:
            self._progress = progress
            self._changed.notify_all()

    def _save_what_is_asked_for(self) -> None:
        with self._changed:
            saves, self._saves = self._saves, []
        for keeper, saved in saves:
            try:
                self._write(keeper)
            except BaseException as error:
                saved.set_exception(error)
            else:
                saved.set_result(None)

    def _write(self, keeper: Keeper) -> None:
        session = self._session
        keeper.begin(self._opened if session is None else Opened(session.coordinator, session.elapsed_s))

    def _wait(self, condition: Callable[[], bool], timeout_s: float | None = None) -> bool:
        """Wait until ``condition`` holds or the search is over; returns False after ``timeout_s``."""
        with self._changed:
            return self._changed.wait_for(lambda: self._over or condition(), timeout_s)

    def _next(self, seen: SearchProgress | None) -> SearchProgress | None:
        """Wait for progress newer than ``seen``; returns ``seen`` itself when the search is over."""
        self._wait(lambda: self._progress is not seen)
        return self._progress

    def _leave(self) -> None:
        """End the search and its workers at the end of the program."""
        self.stop()
        self._thread.join(LEAVE_S)
