"""The default executor of a search on one machine.

A search whose kernels are compiled runs in threads of this process, unless it is over sooner than they help.
Others start in this process and may hand over to workers, which take over as soon as they are ready; workers
are started only if enough work is left to repay their start.

A search is a fold over jobs, so its answer is the same wherever they run. Jobs that have not run yet are
handed over. With strategy `root` the trees of the lanes are not: workers grow them again in parallel, for the
total work that this process has spent on them.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import games
from cluster.runtime.tasks import Event, Executor, JobDone, Task
from cluster.runtime.worker_state import WorkerStatus
from cluster.workers.inline import InlineExecutor
from cluster.workers.threads import ThreadsExecutor
from games.errors import counted
from search.job import Context
from search.plan import THREADS_PAY_S
from search.worker import why_one_at_a_time

STARTS_S = 5.0
"""Expected start time of a local Ray and its workers on an idle machine, in seconds."""
PAYS_S = 8.0
"""Shortest remaining time of a search, in seconds, for which workers are started; starting them takes CPU
time from the search."""
CLOSE_S = 1.0
"""Longest wait, in seconds, for the end of workers that are still starting."""
LOOK_S = 0.3
"""Seconds that a search runs before its remaining time is estimated."""


class Coming:
    """An executor that a thread starts and opens, while this process works."""

    def __init__(self, start: Callable[[threading.Event], Executor], context: Any) -> None:
        """``start`` creates the executor; it must give up when its argument is set. ``context``: as in
        `Executor.open`."""
        self.executor: Executor | None = None
        """The open executor; None before `over`, and if there is an ``error``."""
        self.error: Exception | None = None
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, args=(start, context), name="start", daemon=True)
        self._thread.start()

    @property
    def over(self) -> bool:
        """Whether the executor is there, or could not be started."""
        return not self._thread.is_alive()

    def join(self, timeout_s: float | None = None) -> None:
        """Wait until it is `over`, or for at most so many seconds."""
        self._thread.join(timeout_s)

    def _run(self, start: Callable[[threading.Event], Executor], context: Any) -> None:
        started = None
        try:
            started = start(self._closing)
            started.open(context)
        except Exception as error:
            self.error = error
        with self._lock:
            if not self._closing.is_set() and self.error is None:
                self.executor = started
                return
        if started is not None:
            started.close()

    def close(self) -> None:
        """Close the executor, also one that is still being started."""
        with self._lock:
            self._closing.set()
        self.join(CLOSE_S)
        if self.executor is not None:
            self.executor.close()


class HandoverExecutor(Executor):
    """Runs tasks in threads for good, or in this process and then on the executor that ``start`` returns."""

    def __init__(
        self,
        start: Callable[[threading.Event], Executor],
        workers: int,
        notify: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``start`` creates an executor with ``workers`` workers, as in `Coming`. ``notify`` is called with a
        line that says which executor runs the search and why."""
        self.left_s: Callable[[], float] | None = None
        """Estimates the remaining seconds of the search at the present speed. None: the search stays in this
        process."""
        self._start = start
        self._wanted = self._used = workers
        self._notify = notify
        self._clock = clock
        self._inline = InlineExecutor()
        self._executor: Executor = self._inline
        self._context: Any = None
        self._out: dict[int, Task] = {}
        """Submitted tasks without a result, by index; only while this process runs them."""
        self._opened_s = 0.0
        self._coming: Coming | None = None
        self._told = False
        """Whether ``notify`` was told that the search stays in this process."""

    @property
    def name(self) -> str:
        """The name of the executor that runs jobs now."""
        return self._executor.name

    @property
    def num_workers(self) -> int:
        """Number of workers of the executor that runs jobs now; before `open`, the most that it may be."""
        return self._wanted if self._context is None else self._executor.num_workers

    @property
    def threads_here(self) -> int:
        """0 while tasks in this process may be handed over."""
        if self._executor is self._inline and why_one_at_a_time(self._context) is not None:
            return 0
        return self._executor.threads_here

    @property
    def workers(self) -> list[WorkerStatus]:
        return self._executor.workers

    def use(self, workers: int) -> None:
        self._used = workers
        self._executor.use(workers)

    def open(self, context: Any) -> None:
        self._context = context
        if self._executor is self._inline and self._wanted > 1 and _pays_threads(context):
            self._executor = ThreadsExecutor(self._wanted)
            self._executor.use(self._used)
            self._notify(f"searching in this process, in {counted(self._wanted, 'thread')}")
        self._executor.open(context)
        self._opened_s = self._clock()

    def submit(self, tasks: Iterable[Task]) -> None:
        tasks = list(tasks)
        if self._executor is self._inline:
            self._out.update((task.index, task) for task in tasks)
        self._executor.submit(tasks)

    def wait(self, timeout_s: float) -> list[Event]:
        if self._executor is not self._inline:
            return self._executor.wait(timeout_s)
        if self._coming is None:
            self._start_if_it_pays()
        elif self._coming.over:
            self._hand_over(self._coming)
        events = self._executor.wait(timeout_s)
        for event in events:
            if isinstance(event, JobDone):
                self._out.pop(event.result.index, None)
        return events

    def drop(self) -> None:
        self._out.clear()
        self._executor.drop()

    def close(self) -> None:
        self._inline.close()
        if isinstance(self._executor, ThreadsExecutor):
            self._executor.close()
        if self._coming is not None:
            self._coming.close()

    def _start_if_it_pays(self) -> None:
        if self.left_s is None or self._clock() < self._opened_s + LOOK_S:
            return
        if any(task.divided for task in self._out.values()):
            # Only where the tree is can such a task be run.
            return
        left_s = self.left_s()
        about = f"about {left_s:.0f} s of work" if left_s < 1e6 else "endless work"
        if self._wanted < 2 or left_s < PAYS_S:
            why = f"{about}, and workers take {STARTS_S:.0f} s to start (--executor ray uses them anyway)"
            why = "one worker is enough" if self._wanted < 2 else why
            if not self._told:
                self._notify(f"searching in this process: {why}")
            self._told = True
            return
        self._notify(f"{about}: starting {counted(self._wanted, 'worker')}; this process searches meanwhile")
        self._coming = Coming(self._start, self._context)

    def _hand_over(self, coming: Coming) -> None:
        if coming.executor is None:
            self._coming, self._wanted, self._told = None, 1, True
            self._notify(
                f"no workers could be started ({coming.error}): the search continues in this process"
            )
            return
        self._inline.drop()
        self._inline.close()
        self._executor = coming.executor
        self._executor.submit(self._out[key] for key in sorted(self._out))
        self._out.clear()
        self._notify(f"{counted(self._executor.num_workers, 'worker')} took over")


def _pays_threads(context: Context) -> bool:
    """Whether a search lasts long enough for threads, and can use them."""
    request = context.request
    if context.lanes == 1 or why_one_at_a_time(context) is not None:
        return False
    game = games.load(context.game, context.game_source, tried=False)
    least = math.inf if request.seconds is None else request.seconds
    if request.simulations is not None:
        least = min(least, request.simulations / game.nominal_simulations_per_s)
    return least >= THREADS_PAY_S
