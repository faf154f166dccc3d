"""The engine of analysis: lines come in, answers go out, positions wait by priority for one executor.

    lines -> Engine.take -> waiting -> feed -> executor (short: whole searches, bundled, one worker each)
                                           \\-> LongSearch (jobs of one search, on all workers)
    executor -> Level.take, LongSearch -> Engine.finish -> write

A position of one lane and less than LONG_S is one task: many are searched side by side. Any other, and one
that reports while it is searched, is a search whose jobs go to all workers, and ends as soon as it is
terminated; as many of them run as there are workers for their lanes. Positions of a higher priority begin
first, older ones before younger ones; what runs is not interrupted.

An engine may share its executor with others: then they have one `Drive`, and one numbering of contexts.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any

import games
from cluster.analysis.queries import (
    CONTROL,
    TERMINATE_ALL,
    VERSION,
    Action,
    BadQuery,
    Position,
    failure,
    read,
    refusal,
    without_results,
)
from cluster.analysis.worker import Analysed, answer_to, during
from cluster.runtime.drive import TICK_S, Drive
from cluster.runtime.jobset import Unit
from cluster.runtime.pool_queue import WORK_UNIT_S, PoolQueue
from cluster.runtime.session import Session
from cluster.runtime.tasks import Event, Executor, JobDone, JobLost, Task
from games.errors import InvalidInput
from search.coordinator import Coordinator, Counters, Ledger, LostTooOften
from search.prepare import Search, open_search
from search.result import answer
from search.strategies import for_workers, strategy_of

AHEAD_S = 1.0
"""Worker time of the tasks that each worker is given ahead: a position of a higher priority waits so long."""
LONG_S = 1.0
"""Time of a core from which on a position is no single task, which could not be ended."""
SHARED_BUNDLE_S = 0.03
"""Length of a bundle of positions beside searches, each round of which may wait for one: its call costs
a tenth of that."""
LEAST_AHEAD = 4
"""Least number of tasks given ahead to each worker."""
WEIGHT = 0.1
"""Weight of the newest position in what is known of how long they take."""
UNUSUAL = 2.0
"""How many times as long as usual a position counts at most: the first one loads kernels."""
SHORT_S = 0.001
"""Worker time of a position beside its simulations, in seconds."""
LINES_AT_ONCE = 1_000
"""Most lines that are read before answers are looked at."""
EVERYTHING = Action({"id": ""}, TERMINATE_ALL)


class Level:
    """The short positions of one priority that are with the executor; a machine of `Drive`."""

    finished = False
    patience_s = TICK_S

    def __init__(self, key: int, engine: Engine) -> None:
        self.contexts, self.context, self.engine = {key: engine.context}, key, engine
        self.counters = Counters()
        """Of the positions that were searched: only simulations."""
        self._ledger: Ledger[Task] = Ledger()
        self._work = 0
        """Of the pending tasks."""
        self.slowness = 1.0
        """How many times as long as expected positions have taken."""

    def task(self, number: int, position: Position, seconds: float) -> Task:
        """The task of a position, which is pending from now on; ``seconds``: how long it is expected to
        take."""
        work = max(1, round(self.slowness * seconds / WORK_UNIT_S))
        task = Task(number, Unit(number, position), work, self.context)
        self._ledger.hand_out(number, task)
        self._work += task.work
        return task

    def is_enough(self, workers: int) -> bool:
        """Whether so many workers have been given as many positions ahead as they should."""
        enough_s = self._work * WORK_UNIT_S >= AHEAD_S * workers
        return enough_s and len(self._ledger) >= LEAST_AHEAD * workers

    def begin(self) -> list[Task]:
        return []

    def again(self) -> list[Task]:
        return self._ledger.items

    def check(self) -> None:
        return

    def take(self, event: Event) -> list[Task]:
        """Take the outcome of a position; returns it if it must be searched again."""
        index = event.result.index if isinstance(event, JobDone) else event.index
        if index not in self._ledger:
            return []
        (task,) = self._ledger.pending([index])
        position = task.job.what
        try:
            if isinstance(event, JobLost):
                again = self._ledger.lost(index, event.reason)
                return [] if again is None else [again]
            reason = "" if isinstance(event, JobDone) else event.error
        except LostTooOften as error:
            reason = str(error)
        self._ledger.settle(index)
        self._work -= task.work
        if isinstance(event, JobDone):
            self.engine.queue.ended(self.context, event.result)
            self.counters.simulations += event.result.simulations
            times = event.result.duration_s / self.engine.takes_s(position)
            self.slowness += WEIGHT * (min(times, UNUSUAL * self.slowness) - self.slowness)
            self.engine.finish(position, event.result.found)
        else:
            self.engine.finish(position, failure(position, reason))
        return []


class LongSearch(Session):
    """A position that is searched by all workers, with answers meanwhile if its query asks for them."""

    engine: Engine
    position: Position
    told_s = 0.0
    """When it has last answered, in seconds of its search."""

    def take(self, event: Event) -> list[Task]:
        if isinstance(event, JobDone):
            self.engine.queue.ended(event.context, event.result)
        return super().take(event)

    @property
    def due(self) -> bool:
        """Whether an answer is due before the end."""
        every_s = self.position.query.get("reportDuringSearchEvery")
        return every_s is not None and self.elapsed_s - self.told_s >= every_s


class Engine:
    """Analyses positions on one executor, in the thread that calls it."""

    def __init__(
        self,
        context: Analysed,
        executor: Executor,
        queue: PoolQueue,
        write: Callable[..., None],
        version: str,
        drive: Drive[Any] | None = None,
        keys: Iterator[int] | None = None,
    ) -> None:
        """``queue``: that of the executor. ``write`` gets each answer, as an object or as a line of JSON;
        and, if it is a final one, its position. ``drive`` and ``keys``: those that all have that run on the
        executor, which then call `feed` in each turn, `looked` and `failed`; None: there is no other."""
        self.context, self.executor, self.queue = context, executor, queue
        self.positions = self.answered = 0
        """Numbers of positions that came, and that have their final answer."""
        self.cancelled = self.cancel_noted = False
        self.most_long: float = math.inf
        """Most positions that are searched by all workers at a time."""
        self._write, self._version = write, version
        self._game = games.load(context.game, context.source, tried=False)
        self._drive = drive or Drive[Any](executor, self.looked, self.failed)
        self._levels: dict[int, Level] = {}
        """By priority."""
        self._keys = keys or count()
        self._waiting: list[tuple[int, int, Position]] = []
        """A heap of short positions: (- priority, number, position)."""
        self._long: list[tuple[int, int, Position]] = []
        """Those that are no single task."""
        self._running: list[LongSearch] = []
        self._opening = self._closed = False
        """Whether a long search is being opened, and whether everything has ended."""
        self._known: dict[str, float] = {}
        """By the options of a search, as text: `takes_s`."""

    @property
    def open(self) -> int:
        """Number of positions without a final answer."""
        return self.positions - self.answered

    def cancel(self) -> None:
        """Request the end, with the answers that there are; safe in a signal handler."""
        self.cancelled = True

    def run(self, lines: SimpleQueue[str | bytes | None], *, waits: bool = True) -> None:
        """Take lines until None comes, and return when each position has its final answer.

        ``waits``: whether positions that wait when None comes are still searched.
        """
        while not self.cancelled and self._take_lines(lines):
            self.turn()
        if not waits:
            self._terminate(EVERYTHING)
        self.work()

    def work(self, look: Callable[[], None] = lambda: None) -> None:
        """Search until each position has its final answer; ``look`` is called after each turn."""
        while self.open and not self.cancelled:
            self.turn()
            look()
        if self.cancelled:
            self.cancel_noted = True
            self._give_up()

    def _give_up(self) -> None:
        """Answer all open positions with what there is now."""
        self._terminate(EVERYTHING)
        for level in self._levels.values():
            for task in level.again():
                self.finish(task.job.what, without_results(task.job.what))
        for session in tuple(self._running):
            self._drive.look_at(session)

    def _take_lines(self, lines: SimpleQueue[str | bytes | None]) -> bool:
        """Take the lines that have come; waits for one if nothing is to be done. False: there are no more."""
        for _ in range(LINES_AT_ONCE):
            try:
                line = lines.get_nowait() if self.open else lines.get(timeout=TICK_S)
            except Empty:
                break
            if line is None:
                return False
            if line.strip():
                self.take(line)
        return True

    def take(self, line: str | bytes) -> None:
        """Take one line: positions wait from now on, actions are done at once."""
        try:
            found = read(line)
        except BadQuery as error:
            self._write(error.answer)
            return
        if isinstance(found, Action):
            version = {"version": self._version} if found.name == VERSION else {}
            if found.name != VERSION:
                self._terminate(found)
            self._write({**found.fields, **version})
            return
        for position in found:
            self.add(position)

    def add(self, position: Position) -> None:
        """Have a position wait for its turn."""
        self.positions += 1
        try:
            waiting = self._long if self.takes_s(position) == math.inf else self._waiting
        except InvalidInput as error:
            self.finish(position, refusal(position, error))
            return
        heapq.heappush(waiting, (-position.priority, self.positions, position))

    def takes_s(self, position: Position) -> float:
        """About how long a worker needs for a position; infinite if it is no single task. Raises
        InvalidInput."""
        if "reportDuringSearchEvery" in position.query:
            return math.inf
        options = {name: value for name, value in position.query.items() if name not in CONTROL}
        if (key := repr(options)) not in self._known:
            request = Position({"id": "", **options}, 0).request(self.context.defaults)
            plan = strategy_of(request.strategy).make_plan(request, self._game)
            took_s = request.seconds or math.inf
            if request.simulations is not None:
                took_s = request.simulations / self._game.nominal_simulations_per_s
            self._known[key] = math.inf if plan.lanes > 1 or took_s >= LONG_S else took_s + SHORT_S
        return self._known[key]

    def finish(self, position: Position, answer: Any) -> None:
        """Write the final answer of a position."""
        self.answered += 1
        self._write(answer, position)

    def turn(self) -> None:
        """Begin what can be begun, and take what has been done."""
        self.feed()
        if self._drive.machines:
            self._drive.turn()

    def feed(self) -> None:
        """Give tasks to the executor, and begin long searches while there are workers for their lanes."""
        workers = max(1, self.executor.num_workers)
        while self._waiting:
            priority = self.level_of(self._waiting[0][2])
            level = self._levels.get(priority) or self._new_level(priority)
            if level.is_enough(workers):
                break
            _, number, position = heapq.heappop(self._waiting)
            self.executor.submit([level.task(number, position, self.takes_s(position))])
        while (
            self._long and not self._opening and self._lanes < workers and len(self._running) < self.most_long
        ):
            self._opening = True
            self.aside(partial(self._open, heapq.heappop(self._long)[2]))

    @property
    def left_s(self) -> float:
        """About how long one worker needs for what waits: each position as long as the next one; infinite if
        a search of all workers waits."""
        if self._long or not self._waiting:
            return math.inf if self._long else 0.0
        level = self._levels.get(self.level_of(self._waiting[0][2]))
        slowness = level.slowness if level else 1.0
        return slowness * self.takes_s(self._waiting[0][2]) * len(self._waiting)

    def move_to(self, executor: Executor, queue: PoolQueue) -> None:
        """Go on with another executor and its queue, which get all positions that are pending; no search of
        all workers may run."""
        for priority, level in self._levels.items():
            queue.open(level.context, priority, bundle_s=SHARED_BUNDLE_S)
        self.executor, self.queue = executor, queue
        self._drive.move_to(executor)

    def level_of(self, position: Position) -> int:
        """The priority of a position among all tasks of the executor."""
        return position.priority

    def aside(self, opened: Callable[[], Callable[[], None]]) -> None:
        """Call ``opened``, in any thread, and then what it returns, in that of `feed`."""
        opened()()

    def begun(self, machine: Level | LongSearch) -> None:
        """Note that the tasks of a machine may run from now on."""

    def ended(self, machine: LongSearch) -> None:
        """Note that a search of all workers is over."""

    def fail(self, error: Exception) -> None:
        """Handle an exception that is not about one position."""
        raise error

    def close(self) -> None:
        """End all searches, without further answers."""
        self._closed = True
        self._waiting, self._long = [], []
        machines: list[Level | LongSearch] = [*self._levels.values(), *self._running]
        for machine in machines:
            self._remove(machine)
        self._levels, self._running = {}, []

    @property
    def _lanes(self) -> int:
        """Lanes of the long searches that run."""
        return sum(session.search.plan.lanes for session in self._running)

    def _new_level(self, priority: int) -> Level:
        key = next(self._keys)
        level = self._levels[priority] = Level(key, self)
        self.queue.open(key, priority, bundle_s=SHARED_BUNDLE_S)
        self.begun(level)
        self._drive.add(level)
        return level

    def _open(self, position: Position) -> Callable[[], None]:
        """Open the search of a position by all workers; returns what begins it, or answers."""
        context = self.context
        try:
            request = for_workers(position.request(context.defaults), self.executor.num_workers)
            search = open_search(request, source=context.source, whole_spec=context.game)
        except InvalidInput as error:
            return partial(self._opened, partial(self.finish, position, refusal(position, error)))
        except Exception as error:
            # Rules of others may raise anything, and the memory may not be there.
            reason = f"{type(error).__name__}: {error}"
            return partial(self._opened, partial(self.finish, position, failure(position, reason)))
        return partial(self._opened, partial(self._begin, position, search))

    def _opened(self, then: Callable[[], None]) -> None:
        self._opening = False
        if not self._closed:
            then()

    def _begin(self, position: Position, search: Search) -> None:
        """Begin the search of a position on all workers."""
        key, coordinator = next(self._keys), Coordinator(search, self.executor.num_workers)
        session = LongSearch(coordinator, self.executor, context=key, work_unit_s=WORK_UNIT_S)
        session.engine, session.position = self, position
        self._running.append(session)
        self.queue.open(key, self.level_of(position))
        self.begun(session)
        self._drive.add(session)

    def looked(self, machine: Level | LongSearch) -> None:
        """Take the answer of a search that is over, or write one that is due meanwhile."""
        if not isinstance(machine, LongSearch):
            return
        position, search = machine.position, machine.search
        if machine.finished:
            result = machine.end()
            found = answer_to(position, search, result) if result.move else without_results(position)
            self._ended(machine, found)
        elif machine.due and (done := machine.coordinator.counters.simulations):
            machine.told_s = machine.elapsed_s
            self._write(during(position, search, answer(search), done))

    def failed(self, machine: Level | LongSearch, error: Exception) -> None:
        """Handle an exception of a machine."""
        if not isinstance(machine, LongSearch):
            self.fail(error)
        elif machine in self._running:
            self._ended(machine, failure(machine.position, f"{type(error).__name__}: {error}"))

    def _ended(self, session: LongSearch, answer: dict[str, Any]) -> None:
        self._remove(session)
        self._running.remove(session)
        self.ended(session)
        self.finish(session.position, answer)

    def _remove(self, machine: Level | LongSearch) -> None:
        self._drive.remove(machine)
        self.queue.close(machine.context)

    def _terminate(self, action: Action) -> None:
        """End positions: those that wait without results, long searches with those that they have."""
        for waiting in (self._waiting, self._long):
            ended = [entry for entry in waiting if action.ends(entry[2])]
            if ended:
                waiting[:] = [entry for entry in waiting if not action.ends(entry[2])]
                heapq.heapify(waiting)
            for _, _, position in sorted(ended, key=lambda entry: entry[1]):
                self.finish(position, without_results(position))
        for session in self._running:
            if action.ends(session.position):
                session.cancel()
