"""The pool: all searches that run, over one executor, in one thread.

Commands come in through a queue, from any thread; what happens goes out through the `Watcher` of each
run, in the thread of the pool. A run that fails takes no other with it. When the executor itself fails (all
its workers are gone, or Ray is), it is put away and another is made; until there is one, runs wait: their
jobs are handed out again, and no answer changes.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, cast

from cluster.checkpoint import Keeper, Opened
from cluster.coordinator import SearchFailed
from cluster.executor import Event, Executor, JobDone, JobFailed, JobLost, WorkerStatus
from cluster.pool_task import JOBS_A_RUN, POOL, WORK_UNIT_S, PoolOutcome, PoolTask
from cluster.service.pool_queue import PoolQueue
from cluster.session import Session
from search.job import Job
from search.result import SearchResult

IDLE_S = 0.5
"""How long the pool sleeps when nothing runs; a command wakes it."""
RENEW_AFTER_S = (1.0, 2.0, 5.0, 10.0, 30.0)
"""How long to wait before the executor is made again, the first time and so on."""
LOG = logging.getLogger("banyan.pool")


class Watcher(Protocol):
    """Is told of one run. Called in the thread of the pool, so it must be quick."""

    def begun(self, session: Session) -> None: ...

    def looked(self, session: Session) -> None:
        """After every look at the executor, thousands of times a second."""

    def ended(self, session: Session, result: SearchResult | None, error: str | None) -> None:
        """Once: with a result, or with what made it fail."""

    def put_off(self, session: Session) -> None:
        """Instead of `ended`, when the pool stops: it is kept and can go on."""


@dataclass(eq=False)
class Run:
    """One run of a search, from where it was opened."""

    opened: Opened
    watcher: Watcher
    keeper: Keeper
    priority: int = 0
    number: int = 0
    session: Session = field(init=False)


class Pool:
    """Runs what it is given until it is told to stop."""

    def __init__(
        self,
        make_executor: Callable[[PoolQueue], Executor],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Makes an executor at once; raises what that raises."""
        self._make_executor = make_executor
        self._clock = clock
        self.queue = PoolQueue()
        self.executor = make_executor(self.queue)
        self.executor.open(POOL)
        self.healthy = True
        """Whether there is an executor that takes jobs."""
        self.renewals = 0
        """How often the executor was made again."""
        self._failures = 0
        self._renew_at_s = 0.0
        self._runs: dict[int, Run] = {}
        self._last_number = 0
        self._commands: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._stopping = False
        self._thread = threading.Thread(target=self._loop, name="pool", daemon=True)

    @property
    def workers(self) -> list[WorkerStatus]:
        return self.executor.workers

    @property
    def jobs_waiting(self) -> int:
        return len(self.queue)

    @property
    def ready(self) -> bool:
        """Whether there is a worker that takes jobs; until there is one, they wait."""
        return self.healthy and any(worker.alive for worker in self.workers)

    @property
    def alive(self) -> bool:
        """Whether its thread runs."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def add(self, run: Run, *, cancelled: bool = False) -> None:
        """Run this search, from now on; one that is ``cancelled`` ends with the answer that it comes with."""

        def begin() -> None:
            self._begin(run)
            if cancelled:
                self._cancel(run)

        self._commands.put(begin)

    def cancel(self, run: Run) -> None:
        """End it with the best answer that it has."""
        self._commands.put(lambda: self._cancel(run))

    def stop(self) -> None:
        """Put off all runs, and end. Returns at once; see `join`."""
        self._commands.put(self._stop)

    def join(self, timeout_s: float | None = None) -> None:
        """Wait until it has ended."""
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def close(self) -> None:
        """End all workers; only when the thread has ended, or never began."""
        self.executor.close()

    def _loop(self) -> None:
        while not self._stopping:
            self._take_commands()
            if not self.healthy:
                self._renew()
            events = self._wait()
            for event in events:
                self._route(event)
            for run in list(self._runs.values()):
                self._look_at(run)
        for run in list(self._runs.values()):
            self._put_off(run)

    def _take_commands(self) -> None:
        """All commands that wait; the first is waited for while there is nothing else to do."""
        idle = not self._runs
        with suppress(queue.Empty):
            while True:
                command = self._commands.get(block=idle, timeout=IDLE_S)
                idle = False
                command()

    def _wait(self) -> Sequence[Event]:
        """What has happened to tasks. An executor that fails has none of them any more."""
        patience_s = min((run.session.patience_s for run in self._runs.values()), default=0.0)
        if not self.healthy:
            time.sleep(patience_s)
            return ()
        try:
            return self.executor.wait(patience_s)
        except Exception as error:
            self._fail_over(error)
            return ()

    def _stop(self) -> None:
        self._stopping = True

    def _begin(self, run: Run) -> None:
        self._last_number += 1
        run.number = self._last_number
        opened = run.opened
        opened.coordinator.workers = self.executor.num_workers
        run.session = Session(
            opened.coordinator, self.executor, self._clock, elapsed_before_s=opened.elapsed_s
        )
        self._runs[run.number] = run
        self.queue.open(run.number, run.session.search.context.search_id, run.priority)
        self._guard(run, lambda: run.watcher.begun(run.session))
        self._guard(run, lambda: self._submit(run, run.session.begin()))

    def _cancel(self, run: Run) -> None:
        if run.number in self._runs:
            run.session.cancel()
            # Now, before anything else of it is taken in.
            self._look_at(run)

    def _submit(self, run: Run, jobs: Sequence[Job]) -> None:
        rate = run.session.coordinator.rate
        context = run.session.search.context
        self.executor.submit(
            PoolTask(run.number, job, context, max(1, round(job.simulations / rate / WORK_UNIT_S)))
            for job in jobs
        )

    def _route(self, event: Event) -> None:
        """Tell the run whose task it was, in the terms of its own jobs."""
        index = event.result.index if isinstance(event, JobDone) else event.index
        number, job = divmod(index, JOBS_A_RUN)
        run = self._runs.get(number)
        if run is None:
            # It has ended.
            return
        own: Event
        if isinstance(event, JobLost):
            own = JobLost(job, event.reason)
        elif isinstance(event, JobFailed):
            own = JobFailed(job, event.error)
        else:
            outcome = cast("PoolOutcome", event.result)
            self.queue.ended(number, outcome)
            own = JobDone(outcome.result) if outcome.error is None else JobFailed(job, outcome.error)
        self._failures = 0
        self._guard(run, lambda: self._submit(run, run.session.take(own)))

    def _look_at(self, run: Run) -> None:
        def look() -> None:
            run.session.check_stops()
            if run.session.coordinator.finished:
                self._finish(run)
                return
            run.watcher.looked(run.session)
            run.keeper(run.session)

        self._guard(run, look)

    def _finish(self, run: Run) -> None:
        result = run.session.end()
        if result.stopped_by == "cancelled":
            self._keep(run)
        self._forget(run)
        self._tell(lambda: run.watcher.ended(run.session, result, None))

    def _guard(self, run: Run, action: Callable[[], None]) -> None:
        """Do something for a run; whatever it raises ends this run alone."""
        if run.number not in self._runs:
            return
        try:
            action()
        except Exception as error:
            if not isinstance(error, SearchFailed):
                LOG.exception("a search failed in a way that nobody expected")
            run.session.failed = True
            self._keep(run)
            self._forget(run)
            what = str(error) if isinstance(error, SearchFailed) else f"{type(error).__name__}: {error}"
            self._tell(lambda: run.watcher.ended(run.session, None, what))

    def _put_off(self, run: Run) -> None:
        self._keep(run)
        self._forget(run)
        self._tell(lambda: run.watcher.put_off(run.session))

    def _keep(self, run: Run) -> None:
        self._tell(lambda: run.keeper.keep(run.session))

    @staticmethod
    def _tell(action: Callable[[], None]) -> None:
        """Do what may go wrong and must not end the pool."""
        try:
            action()
        except Exception:
            LOG.exception("what became of a search could not be kept, or told")

    def _forget(self, run: Run) -> None:
        del self._runs[run.number]
        self.queue.close(run.number)

    def _fail_over(self, error: Exception) -> None:
        self.healthy = False
        delay_s = RENEW_AFTER_S[min(self._failures, len(RENEW_AFTER_S) - 1)]
        self._renew_at_s = self._clock() + delay_s
        self._failures += 1
        LOG.error("the workers are gone (%s); others are started in %g s", error, delay_s)

    def _renew(self) -> None:
        """Another executor, if it is time; all jobs that were out are handed out again."""
        if self._clock() < self._renew_at_s:
            return
        try:
            with suppress(Exception):
                self.executor.close()
            self.queue.clear()
            self.executor = self._make_executor(self.queue)
            self.executor.open(POOL)
        except Exception as error:
            self._fail_over(error)
            return
        self.healthy = True
        self.renewals += 1
        LOG.warning("there are workers again")
        for run in list(self._runs.values()):
            run.session.executor = self.executor
            self._guard(run, lambda run=run: self._submit(run, run.session.again()))  # type: ignore[misc]
