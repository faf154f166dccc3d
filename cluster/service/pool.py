"""The pool: all running searches, and engines of analysis, on one executor, in one thread.

Any thread may put commands into a queue. Events are reported to the `Watcher` of each run, in the pool's
thread. A run that fails does not affect others. If the executor itself fails (all its workers are gone, or
Ray is), it is closed and replaced. Meanwhile runs wait; then their jobs are handed out again, and no answer
changes.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from itertools import count
from typing import Any, Protocol, cast

from cluster.analysis.engine import Engine, Level, LongSearch
from cluster.checkpoint.checkpoint import Keeper, Opened
from cluster.runtime.drive import TICK_S, Drive
from cluster.runtime.pool_queue import WORK_UNIT_S, PoolQueue
from cluster.runtime.session import Session
from cluster.runtime.tasks import Event, Executor, JobDone, Task
from search.coordinator import SearchFailed
from search.result import SearchResult

IDLE_S = 0.5
"""Longest sleep of the pool, in seconds, when nothing runs (a command wakes it). A run whose client answered
within this time is not put off."""
RENEW_AFTER_S = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Delays before the executor is created again, in seconds, by the number of failures."""
LOG = logging.getLogger("banyan.pool")


class Watcher(Protocol):
    """Observes one run. It is called in the pool's thread, so it must be quick."""

    def begun(self, session: Session) -> None: ...

    def looked(self, session: Session) -> None:
        """Called after every look at the executor, thousands of times a second."""

    def ended(self, session: Session, result: SearchResult | None, error: str | None) -> None:
        """Called once, with a result or with the reason of the failure."""

    def put_off(self, session: Session) -> None:
        """Called instead of `ended` if the search is stored, and continues later or in another server."""


class Run(Session):
    """One run of a search, new or from a checkpoint; the pool's `Drive` drives it."""

    queue: PoolQueue
    external = False
    """Whether the jobs are done outside of the pool."""

    def __init__(
        self,
        opened: Opened,
        watcher: Watcher,
        keeper: Keeper,
        priority: int = 0,
        most_workers: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``most_workers``: the number of workers that get its jobs, the first ones of the pool; None: all.

        The pool gives it an executor, a queue and a context before it begins."""
        nowhere = cast("Executor", None)
        super().__init__(opened.coordinator, nowhere, clock, opened.elapsed_s, work_unit_s=WORK_UNIT_S)
        self.watcher, self.keeper, self.priority, self.most_workers = watcher, keeper, priority, most_workers
        self.guard: AbstractContextManager[Any] = nullcontext()
        """Held while the pool looks at the run or keeps it."""

    @property
    def idle_s(self) -> float:
        """Seconds since a client last gave an answer; 0 for a run that needs no client."""
        return 0.0

    def begin(self) -> list[Task]:
        """Notify the watcher and return the first tasks."""
        self.watcher.begun(self)
        return super().begin()

    def take(self, event: Event) -> list[Task]:
        """Take the outcome of a task, charge the run with its time, and return the tasks that can run now."""
        if isinstance(event, JobDone):
            self.queue.ended(event.context, event.result)
        return super().take(event)

    def close(self) -> None:
        """Take no more results: the run continues in another server."""


class Pool:
    """Runs searches until it is stopped."""

    def __init__(self, make_executor: Callable[[PoolQueue], Executor]) -> None:
        """Create an executor at once; raises what ``make_executor`` raises."""
        self._make_executor = make_executor
        self.queue = PoolQueue()
        self.executor = make_executor(self.queue)
        self.executor.open(None)
        self.drive: Drive[Run | Level | LongSearch] = Drive(self.executor, self._looked, self._failed)
        self.keys = count(1)
        """Keys of contexts."""
        self._engines: list[Engine] = []
        self.healthy = True
        """Whether there is a working executor."""
        self.renewals = 0
        """How often the executor was replaced."""
        self._failures = 0
        self._renew_at_s = 0.0
        self._commands: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._stopping = False
        self.jobs_ended = threading.Event()
        """Set when no more jobs are run."""
        self._thread = threading.Thread(target=self._loop, name="pool", daemon=True)

    @property
    def num_runs(self) -> int:
        return len(self.drive.machines)

    @property
    def ready(self) -> bool:
        """Whether there is a live worker; until there is one, tasks wait."""
        return self.healthy and any(worker.alive for worker in self.executor.workers)

    @property
    def alive(self) -> bool:
        """Whether the pool's thread runs."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start the pool's thread."""
        self._thread.start()

    def add(self, run: Run, *, cancelled: bool = False) -> None:
        """Start this run; a ``cancelled`` one ends at once, with the answer that it has so far."""
        self._commands.put(partial(self._begin, run, cancelled))

    def cancel(self, run: Run) -> None:
        """End a run with its best answer so far."""
        self._commands.put(partial(self._cancel, run))

    def put_off(self, run: Run) -> None:
        """Store a run for later and end it here, unless it is over, has a client again, or cannot be kept."""
        self._commands.put(partial(self._put_off, run))

    def host(self, engine: Engine) -> None:
        """Have an engine with `drive` and `keys` use the workers as well, until it is released."""

        def begin() -> None:
            # Another one may have replaced that with which it was made.
            engine.executor = self.executor
            self._engines.append(engine)

        self.do(engine, begin)

    def release(self, engine: Engine) -> None:
        """Close an engine."""
        self.do(engine, partial(self._release, engine))

    def do(self, engine: Engine, action: Callable[[], None]) -> None:
        """Do something with an engine; what it raises ends this engine only."""
        self._commands.put(partial(self._guarded, engine, action))

    def stop(self) -> None:
        """Store all runs for later, and end the thread. Returns at once; see `join`."""
        self._commands.put(partial(setattr, self, "_stopping", True))

    def join(self, timeout_s: float | None = None) -> None:
        """Wait until the thread has ended."""
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def close(self) -> None:
        """End all workers; only after the thread has ended, or if it was never started."""
        self.executor.close()

    def _loop(self) -> None:
        while not self._stopping:
            self._take_commands()
            if not self.healthy:
                self._renew()
            if not self.healthy:
                time.sleep(self.drive.patience_s)
                self.drive.look()
                continue
            for engine in tuple(self._engines):
                self._guarded(engine, engine.feed)
            try:
                if self.drive.turn():
                    self._failures = 0
            except Exception as error:
                self._fail_over(error)
        for engine in tuple(self._engines):
            self._guarded(engine, partial(self._release, engine))
        # An end that nobody has looked at is no reason to begin anew; after it no client may end another.
        for run in self._runs:
            run.close()
        self.drive.look()
        self.jobs_ended.set()
        for run in self._runs:
            self._keep(run)
            self._let_go(run)

    @property
    def _runs(self) -> list[Run]:
        return [machine for machine in self.drive.machines if isinstance(machine, Run)]

    @staticmethod
    def _guarded(engine: Engine, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:
            engine.fail(error)

    def _release(self, engine: Engine) -> None:
        if engine in self._engines:
            self._engines.remove(engine)
            engine.close()

    def _take_commands(self) -> None:
        """Run all waiting commands. If no search runs in the pool, wait for the first.

        At most IDLE_S, or TICK_S if there are searches whose jobs are done outside of the pool.
        """
        idle = all(isinstance(each, Run) and each.external for each in self.drive.machines)
        patience_s = TICK_S if self.drive.machines else IDLE_S
        with suppress(queue.Empty):
            while True:
                command = self._commands.get(block=idle, timeout=patience_s)
                idle = False
                command()

    def _begin(self, run: Run, cancelled: bool) -> None:
        run.executor, run.queue, run.context = self.executor, self.queue, next(self.keys)
        run.coordinator.workers = self.executor.num_workers
        self.queue.open(run.context, run.priority, run.most_workers)
        self.drive.add(run)
        if cancelled:
            self._cancel(run)

    def _cancel(self, run: Run) -> None:
        if run in self.drive.machines:
            run.cancel()
            # Now, before any other result of it is taken.
            self.drive.look_at(run)

    def _put_off(self, run: Run) -> None:
        if run not in self.drive.machines:
            return
        with run.guard:
            if run.finished or run.idle_s < IDLE_S:
                return
            written = run.keeper.written
            self._keep(run)
            if run.keeper.written == written:
                return
            run.close()
        self._let_go(run)

    def _let_go(self, run: Run) -> None:
        self._forget(run)
        self._tell(partial(run.watcher.put_off, run))

    def _looked(self, run: Run | Level | LongSearch) -> None:
        """Handle a run after a turn: end it if it is over, otherwise notify its watcher and its keeper."""
        if not isinstance(run, Run):
            run.engine.looked(run)
            return
        if not run.finished:
            with run.guard:
                run.watcher.looked(run)
                run.keeper(run)
            return
        with run.guard:
            result = run.end()
        if result.stopped_by == "cancelled":
            self._keep(run)
        self._forget(run)
        self._tell(lambda: run.watcher.ended(run, result, None))

    def _failed(self, run: Run | Level | LongSearch, error: Exception) -> None:
        """Handle an exception of a run or its watcher: only this run ends."""
        if not isinstance(run, Run):
            run.engine.failed(run, error)
            return
        if not isinstance(error, SearchFailed):
            LOG.error("a search failed in a way that nobody expected", exc_info=error)
        run.failed = True
        self._keep(run)
        self._forget(run)
        what = str(error) if isinstance(error, SearchFailed) else f"{type(error).__name__}: {error}"
        self._tell(lambda: run.watcher.ended(run, None, what))

    def _keep(self, run: Run) -> None:
        with run.guard:
            self._tell(lambda: run.keeper.keep(run))

    @staticmethod
    def _tell(action: Callable[[], None]) -> None:
        """Do an action whose failure must not end the pool."""
        try:
            action()
        except Exception:
            LOG.exception("what became of a search could not be kept, or told")

    def _forget(self, run: Run) -> None:
        self.drive.remove(run)
        self.queue.close(run.context)

    def _fail_over(self, error: Exception) -> None:
        self.healthy = False
        delay_s = RENEW_AFTER_S[min(self._failures, len(RENEW_AFTER_S) - 1)]
        self._renew_at_s = time.monotonic() + delay_s
        self._failures += 1
        LOG.error("the workers are gone (%s); others are started in %g s", error, delay_s)

    def _renew(self) -> None:
        """Create another executor if the delay is over; all unfinished tasks are handed out again."""
        if time.monotonic() < self._renew_at_s:
            return
        try:
            with suppress(Exception):
                self.executor.close()
            self.queue.clear()
            self.executor = self._make_executor(self.queue)
            self.executor.open(None)
        except Exception as error:
            self._fail_over(error)
            return
        self.healthy = True
        self.renewals += 1
        LOG.warning("there are workers again")
        for each in (*self._engines, *self.drive.machines):
            if not isinstance(each, Level):
                each.executor = self.executor
        self.drive.move_to(self.executor)
