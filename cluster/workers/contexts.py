"""Contexts and their workers in one process, and futures that are awaited."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from itertools import groupby
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar, cast

from cluster.runtime.tasks import OPENED, AwaitingWorker, JobDone, JobFailed, JoiningWorker, TaskWorker
from games.errors import foreign

Owner = TypeVar("Owner")


class Inbox(Generic[Owner]):
    """Futures that are awaited, which any thread may set, and their owners."""

    def __init__(self) -> None:
        self._owners: dict[Future[Any], Owner] = {}
        self._come: SimpleQueue[Future[Any]] = SimpleQueue()

    def __len__(self) -> int:
        return len(self._owners)

    def expect(self, answer: Future[Any], owner: Owner) -> None:
        """Await a future."""
        self._owners[answer] = owner
        answer.add_done_callback(self._come.put)

    def forget(self, answer: Future[Any]) -> None:
        """Await a future no longer."""
        self._owners.pop(answer, None)

    def cancel(self) -> None:
        """Cancel all futures, and await none."""
        for answer in self._owners:
            answer.cancel()
        self._owners.clear()

    def take(self, timeout_s: float) -> list[tuple[Owner, Future[Any]]]:
        """Return the futures that have been set, in order; waits at most ``timeout_s`` seconds for the
        first."""
        come = []
        with contextlib.suppress(Empty):
            come.append(self._come.get(timeout=timeout_s) if timeout_s > 0 else self._come.get_nowait())
            # Those that are set during this loop wait for the next call.
            come += [self._come.get_nowait() for _ in range(self._come.qsize())]
        return [(self._owners.pop(answer), answer) for answer in come if answer in self._owners]


class ContextWorkers:
    """Contexts by key, and their workers; a worker is created with the first task of its context."""

    def __init__(self, make_worker: Callable[[], TaskWorker]) -> None:
        """Creates the first worker at once; raises what ``make_worker`` raises."""
        self._make_worker = make_worker
        self._first = make_worker()
        self._contexts: dict[int, Any] = {}
        self._workers: dict[int, TaskWorker] = {}
        self.begun: Inbox[tuple[int, int]] = Inbox()
        """Jobs that were begun: the (context, index) of each by the future of its outcome."""
        self.at_once = 1
        """How many jobs of the context OPENED should be begun before the first has ended; those of other
        contexts run one at a time."""

    def open(self, context: Any) -> None:
        """Forget all contexts and jobs, and prepare a worker for this context, with key OPENED; None prepares
        nothing."""
        self.begun.cancel()
        self._contexts.clear()
        self._workers.clear()
        self.at_once = 1
        if context is not None:
            self._contexts[OPENED] = context
            worker = self._worker(OPENED)
            if isinstance(worker, AwaitingWorker):
                self.at_once = worker.at_once(context)

    def add(self, key: int, context: Any) -> None:
        """Add a context, whose tasks can be run from then on."""
        self._contexts[key] = context

    def keep_only(self, keys: Collection[int]) -> None:
        """Forget all other contexts and their workers."""
        for key in [each for each in self._contexts if each not in keys]:
            del self._contexts[key]
            self._workers.pop(key, None)

    def run(self, key: int, index: int, job: Any) -> JobDone | JobFailed | None:
        """Run a job in the context with this key and return its event. A job that awaits something is only
        begun: returns None, and `ended` returns the event later."""
        try:
            worker = self._worker(key)
            if key != OPENED or self.at_once == 1:
                return JobDone(foreign(worker.run, self._contexts[key], job), key)
            future = foreign(cast("AwaitingWorker", worker).begin, self._contexts[key], job)
        except Exception as error:
            return JobFailed.by(error, index, key)
        self.begun.expect(future, (key, index))
        return None

    def joined(
        self, jobs: Sequence[tuple[int, int, Any]], threads: int, sent: bool
    ) -> list[tuple[int, list[int], Any]]:
        """Join jobs with consecutive indices where their worker can. ``jobs``: tuples (context, index, job).
        Returns tuples (context, indices, job), where a joined job has a part for each of ``threads`` threads.
        ``sent``: whether results are kept while other jobs run."""
        found: list[tuple[int, list[int], Any]] = []
        for (key, _), places in groupby(range(len(jobs)), lambda at: (jobs[at][0], jobs[at][1] - at)):
            run = [jobs[place] for place in places]
            whole = None
            if len(run) + threads > 2 and isinstance(worker := self._workers.get(key), JoiningWorker):
                whole = worker.together(self._contexts[key], [job for _, _, job in run], threads, sent)
            if whole is None:
                found += [(key, [index], job) for _, index, job in run]
            else:
                found.append((key, [index for _, index, _ in run], whole))
        return found

    def ended(self, timeout_s: float, more_s: float = 0.0) -> list[JobDone | JobFailed]:
        """The events of begun jobs that have ended; waits at most ``timeout_s`` seconds for the first.

        ``more_s``: seconds to wait for others when the first has come.
        """
        came = self.begun.take(timeout_s) if self.begun else []
        if came and more_s and self.begun:
            time.sleep(more_s)
            came += self.begun.take(0.0)
        events: list[JobDone | JobFailed] = []
        for (context, index), future in came:
            error = future.exception()
            if error is None:
                events.append(JobDone(future.result(), context))
            elif isinstance(error, Exception):
                events.append(JobFailed.by(error, index, context))
            else:
                raise error
        return events

    def hand_over(self, key: int, lane: int) -> Any:
        """Remove and return the state of a lane; None if this process does not have it."""
        worker: Any = self._workers.get(key)
        return None if worker is None else worker.hand_over(self._contexts[key], lane)

    def take_over(self, key: int, lane: int, state: Any) -> None:
        """Store the state of a lane that was removed from another process."""
        worker: Any = self._worker(key)
        worker.take_over(self._contexts[key], lane, state)

    def _worker(self, key: int) -> TaskWorker:
        worker = self._workers.get(key)
        if worker is None:
            worker = self._first if key == OPENED else self._make_worker()
            foreign(worker.prepare, self._contexts[key])
            self._workers[key] = worker
        return worker
