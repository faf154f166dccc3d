"""Keeps as many workers as wanted: starts, deadlines, losses and restarts of worker processes.

Decisions only, without Ray: starting and killing a process are functions passed in.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cluster.runtime.tasks import Event, JobDone, JobLost, Task, counted_of, jobs_of
from cluster.runtime.worker_state import WorkerLog, WorkerState, WorkerStatus
from cluster.runtime.workers import Workers
from games.errors import counted


@dataclass
class Bundle:
    """The jobs of one call."""

    jobs: list[Task]
    sent_s: float = 0.0
    """When the call was made, by the clock of `Slots`."""
    deadline_s: float | None = None
    """Time limit by `Process.clock`; set when the bundle becomes the first in its worker's queue."""


@dataclass(eq=False)
class Process:
    """One actor: a process that runs the workers of some slots, each in a thread."""

    actor: Any
    preparing: Any
    """The future of its latest `prepare` call."""
    ready_by_s: float
    """When the process counts as hung if `preparing` has not returned, by `clock`."""
    waited_s: Callable[[Process], float] = lambda process: 0.0
    """Returns the seconds in which a process was ready to run and had no core."""
    now_s: Callable[[], float] = time.monotonic
    """The clock of `Slots`."""
    extensions: int = 0
    """How often ``ready_by_s`` was put off, because the machine is crowded."""
    slots: list[Slot] = field(default_factory=list, repr=False)
    """The slots of its workers, in order."""
    threads: int = 1
    """How many of its workers, the first ones, get jobs."""
    began_s: float = 0.0
    """When it was started, by the clock of `Slots`."""
    rate: float = 0.0
    """Work per second of one worker, for the size of bundles."""
    pid: int = 0
    node_id: str = ""
    """Ray's id of its machine; empty until it is known."""
    contexts: set[int] = field(default_factory=set)
    """Keys of the contexts that were sent to the process."""
    common_key: Hashable = None
    """Key of the common part that was sent to the process last."""
    bundles: dict[Any, Bundle] = field(default_factory=dict)
    """Pending bundles by the future of their call, in the order in which they were sent."""
    at_once: int = 1
    """How many jobs are begun before the first has ended. If several, one bundle is in flight."""
    begun: dict[tuple[int, int], Task] = field(default_factory=dict)
    """Jobs whose call has returned, but which await something and have not ended, by `Task.key`."""
    ended_s: float = 0.0
    """While jobs are ``begun``: when a job last ended or, if none has, when the first began, by `clock`."""

    @property
    def clock(self) -> float:
        """The time without the seconds in which the process waited for a core: on a busy machine a worker,
        which gives way to other programs, is slow, and does not hang."""
        return self.now_s() - self.waited_s(self)

    @property
    def head(self) -> Bundle | None:
        """The pending bundle that was sent first: what the process works on."""
        return next(iter(self.bundles.values()), None)

    @property
    def jobs(self) -> list[Task]:
        """All pending jobs of the process."""
        return [*self.begun.values(), *(job for bundle in self.bundles.values() for job in bundle.jobs)]

    @property
    def idle(self) -> bool:
        """Whether it has no jobs, and no call."""
        return not self.bundles and not self.begun

    @property
    def current(self) -> bool:
        """Whether it has not been replaced or ended."""
        return self.slots[0].process is self

    @property
    def ready(self) -> bool:
        """Whether it can take jobs."""
        return self.slots[0].status.state.ready

    def become(self, state: WorkerState, reason: str = "") -> None:
        """Change the state of all its workers."""
        for slot in self.slots:
            slot.status.become(state, reason)

    def leave(self, state: WorkerState, reason: str) -> list[Slot]:
        """Empty its slots and return them, because the process has ended or is no longer used."""
        for slot in self.slots:
            slot.process = None
        self.become(state, reason)
        return self.slots

    def work(self) -> None:
        """Set the state of its workers to busy, with the context of the bundle that was sent first."""
        head = self.head
        for slot in self.slots[: self.threads]:
            if head is not None and head.jobs:
                slot.status.context = head.jobs[0].context
            slot.status.become(WorkerState.BUSY)

    def rest(self) -> None:
        """Set busy workers to idle if no jobs are left, otherwise to what they work on next."""
        if self.slots[0].status.state is WorkerState.BUSY:
            if self.idle:
                self.become(WorkerState.IDLE)
            else:
                self.work()

    def forget(self) -> None:
        """Forget all jobs and calls."""
        self.bundles.clear()
        self.begun.clear()

    def take(self, bundle: Bundle, ended: Iterable[tuple[int, int]]) -> list[Task]:
        """Note that the call of a bundle has returned with events of the jobs whose keys are ``ended``.

        Returns these jobs. The other jobs of the bundle are ``begun`` from now on.
        """
        now_s = self.clock
        if not self.begun:
            self.ended_s = now_s
        self.begun.update({task.key: task for task in bundle.jobs})
        found = [self.begun.pop(key) for key in ended]
        if found:
            self.ended_s = now_s
        return found


@dataclass
class Slot:
    status: WorkerStatus
    process: Process | None = None
    failures: int = 0
    """Consecutive failures without a finished job."""


def _lost_jobs(process: Process, reason: str) -> list[Event]:
    return [JobLost(task.index, reason, task.context) for task in process.jobs]


READY_S = 120.0
"""Time limit in seconds for the start of a worker: process, imports, and compilation of kernels."""
MOST_EXTENSIONS = 5
"""How often a starting worker gets READY_S again on a crowded machine, before it is replaced."""
LATECOMER_S = 10.0
"""Seconds that a search with enough workers waits for others that are starting."""
ALONE_S = 300.0
"""Seconds that a search with too few workers waits for machines: a cloud needs minutes to add one."""
PULSE_S = 2.0
"""Interval in seconds of health checks of idle workers."""
MAX_RESTARTS_IN_A_ROW = 5
"""A slot with more consecutive failures than this, without a finished job, is given up."""
PLACED_S = 5.0
"""Seconds after which a process of several workers that has not got its CPUs, because other programs hold
some, is replaced by processes of one worker."""
FAILED_START = 2
"""Failures counted for a worker that dies before it is ready: the next one will probably die too."""


class Slots:
    """The slots of an executor, and replaced workers that may still answer."""

    def __init__(
        self,
        workers: Workers,
        cpus: int,
        job_timeout_s: float,
        start: Callable[[list[Slot], str], Process],
        kill: Callable[[Process], None],
        crowded: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
        placed: Callable[[Process], bool] = lambda process: True,
        rooms: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        """``start`` starts a process for the workers of some slots, on the machine with that id or, if it is
        empty, on any; ``kill`` kills one, even if it is stopped; ``crowded`` tells whether all cores are in
        use, so that a new process may need long to start; ``placed``, whether a starting one has got its
        CPUs; ``rooms``, how many workers have room on each machine, by Ray's id. Processes and bundles must
        use the same ``clock``."""
        self.log = WorkerLog(clock)
        """The log of all workers. `present` and `at_hand` change only with an entry in it, or by `use`."""
        self.all: list[Slot] = []
        self.used = self.all
        """Slots that get jobs: all, or the first ones."""
        self._workers = workers
        self._cpus = cpus
        self._alone_since_s: float | None = None
        self._feel_due_s = 0.0
        self._check_due_s = 0.0
        self.running = 0
        """Number of jobs on workers, without replaced workers."""
        self._crowded = crowded
        self.clock = clock
        self._placed = placed
        self._grow()
        self.retired: list[tuple[Process, float]] = []
        """Replaced processes, each with the time when it is killed."""
        self._job_timeout_s = job_timeout_s
        self._start = start
        self._kill = kill
        self._rooms = rooms
        self.by_machine = False
        """Whether the workers of a machine are threads of one process."""

    def use(self, count: int) -> None:
        """Give jobs to the first ``count`` slots only; if that is all of them, also to future slots."""
        self.used = self.all if count >= len(self.all) else self.all[:count]

    def follow(self, cpus: int, wanted: int) -> None:
        """Adapt to ``cpus`` CPUs: add slots and start processes in empty ones. No slot is ever removed.

        Slots whose worker was given back are filled only up to ``wanted`` processes.
        """
        if cpus > self._cpus:
            # Workers that failed on the old machines may live on a new one.
            for slot in self.all:
                slot.failures = 0
        self._cpus = cpus
        self._grow()
        for process in self.processes:
            if process.slots[0].status.state is WorkerState.STARTING and self._filled > cpus:
                self._kill(process)
                process.leave(WorkerState.WAITING, "the machine that it was to start on has gone")
        given_back = WorkerState.GIVEN_BACK
        for_all = [slot for slot in self.empty if slot.status.state is not given_back]
        spare = [slot for slot in self.empty if slot.status.state is given_back]
        self.fill(for_all)
        self.fill(spare[: max(0, wanted - self._filled)])

    def fill(self, slots: Sequence[Slot]) -> None:
        """Start processes in empty slots, as far as there are CPUs for them."""
        able: list[Slot] = []
        for slot in slots:
            if slot.failures > MAX_RESTARTS_IN_A_ROW:
                slot.status.become(
                    WorkerState.GIVEN_UP, f"{counted(slot.failures, 'failure')} without a finished job"
                )
            elif self._filled + len(able) < self._cpus:
                able.append(slot)
            elif slot.status.state is not WorkerState.GIVEN_BACK:
                slot.status.become(WorkerState.WAITING, "no CPU is free")
        while able:
            machine, workers = self._widest() if self.by_machine else ("", 1)
            self._begin(able[:workers], machine)
            able = able[workers:]

    def _begin(self, slots: list[Slot], machine: str) -> None:
        """Start a process in these slots."""
        process = self._start(slots, machine)
        process.slots, process.node_id, process.began_s = slots, machine, self.clock()
        for slot in slots:
            slot.process = process
        process.become(WorkerState.STARTING)

    def _widest(self) -> tuple[str, int]:
        """The machine that has room for the most workers, and for how many; ("", 1) if none is known."""
        free = dict(self._rooms())
        here = dict.fromkeys(slot.process for slot in self.all if slot.process is not None)
        for process in [*here, *(process for process, _ in self.retired)]:
            free[process.node_id] = free.get(process.node_id, 0) - len(process.slots)
        free.pop("", None)
        machine = max(free, key=lambda each: free[each], default="")
        return (machine, free[machine]) if free.get(machine, 0) > 0 else ("", 1)

    def give_back(self, wanted: int) -> None:
        """End idle processes, the last slots first, as long as there are more workers than ``wanted``."""
        for process in reversed(self.processes):
            more = self._filled - wanted
            if more > 0 and process.slots[0].status.state is WorkerState.IDLE:
                self._kill(process)
                slots = process.leave(WorkerState.GIVEN_BACK, "it had nothing to do")
                # A process ends as a whole.
                self.fill(slots[: max(0, len(slots) - more)])

    def regroup(self, by_machine: bool) -> None:
        """Set whether the workers of a machine are one process; a change ends all processes."""
        if by_machine != self.by_machine:
            self.by_machine = by_machine
            for process in dict.fromkeys(slot.process for slot in self.all if slot.process is not None):
                self._kill(process)
                before = process.slots[0].status.state
                gone = WorkerState.GIVEN_BACK if before.alive else WorkerState.WAITING
                process.leave(gone, "for another kind of search")

    @property
    def processes(self) -> list[Process]:
        """The processes of the used slots, in the order of the slots."""
        return list(dict.fromkeys(slot.process for slot in self.used if slot.process is not None))

    @property
    def empty(self) -> list[Slot]:
        """The used slots without a process."""
        return [slot for slot in self.used if slot.process is None]

    @property
    def present(self) -> list[int]:
        """Numbers of the used slots that have a process, ready or not."""
        return [slot.status.slot for slot in self.used if slot.process is not None]

    @property
    def at_hand(self) -> list[int]:
        """Numbers of the used slots whose process can take jobs."""
        return [slot.status.slot for slot in self.used if slot.status.state.ready]

    @property
    def jobs(self) -> list[Task]:
        """All pending jobs of the used slots."""
        return [job for process in self.processes for job in process.jobs]

    @property
    def starting(self) -> bool:
        """Whether a process is starting in a used slot."""
        return len(self.at_hand) < len(self.present)

    def to_call(self) -> list[Process]:
        """Processes without a call that need one: those that have begun jobs, for the outcomes, and idle ones
        whose health check is due, because the loss of a process is noticed by calls only."""
        now = self.clock()
        is_due = now >= self._feel_due_s
        if is_due:
            self._feel_due_s = now + PULSE_S
        return [
            process
            for process in self.processes
            if not process.bundles
            and (process.begun or (is_due and process.slots[0].status.state is WorkerState.IDLE))
        ]

    def opened(self, waited_s: float, why_not: str = "") -> bool:
        """Whether the first job can be sent after ``waited_s`` seconds. Raises ConnectionError if too few
        workers come; ``why_not`` is the end of its text."""
        self.check_alive()
        ready, least = len(self.at_hand), min(self._workers.least, len(self.used))
        if ready < least and waited_s > ALONE_S:
            raise ConnectionError(
                f"only {ready} of {counted(least, 'worker')} came in {ALONE_S:.0f} s{why_not}"
            )
        if ready >= least and waited_s > LATECOMER_S and not self._workers.fixed:
            return True
        return ready == len(self.present) and (ready >= least or not self._waiting)

    def set_deadline(self, process: Process) -> None:
        """Set the deadline of the first pending bundle."""
        head = process.head
        if head is not None and head.deadline_s is None:
            # A lane whose state was lost is grown again from its first piece.
            pieces = sum(len(task.pieces) or 1 for task in head.jobs) / process.threads
            head.deadline_s = process.clock + self._job_timeout_s * (1 + pieces / 100)

    def done(self, process: Process, bundle: Bundle, jobs: list[Task], events: list[Event]) -> float:
        """Note that a bundle has returned with the events of ``jobs``, some of which earlier calls began.

        Returns the seconds that the workers were busy with the bundle, added up.
        """
        self.running -= len(jobs)
        results = [event.result for event in events if isinstance(event, JobDone)]
        if process.at_once > 1:
            # Its jobs run side by side, but its calls do not.
            busy_s = self.clock() - bundle.sent_s
        else:
            busy_s = sum(result.duration_s for result in results)
            if busy_s > 0 and sum(map(jobs_of, results)) == len(jobs):
                process.rate = sum(task.work for task in jobs) / busy_s
        working = process.slots[: process.threads]
        cpu_s, done, simulations = counted_of(events)
        for place, slot in enumerate(working):
            slot.failures = 0
            # Threads share out what there is.
            own = [each // len(working) + (place < each % len(working)) for each in (done, simulations)]
            slot.status.worked(busy_s / len(working), cpu_s / len(working), *own)
        process.rest()
        return busy_s

    def lost(self, process: Process, reason: str) -> list[Event]:
        """Note that a process died; unless it was replaced before, returns its jobs as lost and refills its
        slots."""
        events: list[Event] = []
        if process.current:
            events = self._replace(process, reason)
        else:
            self.retired = [entry for entry in self.retired if entry[0] is not process]
        process.forget()
        return events

    def abandon(self, reason: str) -> list[Event]:
        """Note that all processes have ended, and none can start before `refill`; returns the lost jobs."""
        events: list[Event] = []
        for slot in self.all:
            if slot.process is not None:
                events += _lost_jobs(slot.process, reason)
                slot.process.leave(WorkerState.LOST, reason)
            slot.status.become(WorkerState.WAITING, reason)
        self.retired.clear()
        self.running = 0
        return events

    def refill(self) -> None:
        """Start processes in empty slots, as long as there are CPUs."""
        # One of several workers has those that later searches use too.
        self.fill([slot for slot in (self.all if self.by_machine else self.used) if slot.process is None])

    def check_deadlines(self, every_s: float = 0.0) -> list[Event]:
        """Replace hanging workers and kill those replaced long enough ago; returns the lost jobs.

        Visits all workers, so it does so at most once in ``every_s`` seconds.
        """
        now = self.clock()
        if now < self._check_due_s and every_s > 0:
            return []
        self._check_due_s = now + every_s
        events: list[Event] = []
        for process in self.processes:
            if not process.ready:
                if process.slots[0].status.state is WorkerState.STARTING and not self._placed(process):
                    # While it waits for a CPU that others hold, its time has not begun.
                    process.ready_by_s = process.clock + READY_S
                    late = now > process.began_s + PLACED_S and not self.retired
                    if late and len(process.slots) > 1:
                        self._kill(process)
                        for slot in process.leave(WorkerState.WAITING, "its CPUs are not free at once"):
                            self._begin([slot], "")
                        continue
                if now <= process.ready_by_s or process.clock <= process.ready_by_s:
                    continue
                if process.extensions < MOST_EXTENSIONS and self._crowded():
                    # It waits for a core.
                    process.ready_by_s = process.clock + READY_S
                    process.extensions += 1
                else:
                    self._kill(process)
                    events += self._replace(process, f"a worker was not ready after {READY_S:.0f} s")
            elif self._hangs(process, now):
                self.retired.append((process, now + self._job_timeout_s))
                events += self._replace(process, "its deadline passed")
        for process, until_s in list(self.retired):
            if now > until_s or not process.bundles:
                self._kill(process)
                self.retired.remove((process, until_s))
        return events

    def _hangs(self, process: Process, now: float) -> bool:
        """Whether the deadline of a call has passed, or none of several begun jobs ends any more.

        If one of them hangs, the others end first, and the search makes no more jobs for want of its result.
        """
        head = process.head
        due_s = math.inf if head is None or head.deadline_s is None else head.deadline_s
        if process.begun:
            due_s = min(due_s, process.ended_s + self._job_timeout_s)
        return now > due_s and process.clock > due_s

    def check_alive(self) -> None:
        """Raise ConnectionError if no used slot has a process or will get one soon."""
        if self.present:
            self._alone_since_s = None
            return
        if not self._waiting:
            reason = self.log.last_loss()
            error = ConnectionError(f"no worker could be kept alive{': ' if reason else ''}{reason}")
            error.add_note("\n".join(map(str, self.log.changes)))
            raise error
        now = self.clock()
        if self._alone_since_s is None:
            self._alone_since_s = now
        if now > self._alone_since_s + ALONE_S:
            raise ConnectionError(f"no machine has had room for a worker for {ALONE_S:.0f} s")

    def _replace(self, process: Process, reason: str) -> list[Event]:
        """Take away a process and start another; returns the lost jobs."""
        if not process.extensions or process.ready:
            for slot in process.slots:
                slot.failures += 1 if process.ready else FAILED_START
        self.fill(process.leave(WorkerState.LOST, reason))
        events = _lost_jobs(process, reason)
        self.running -= len(events)
        return events

    def _grow(self) -> None:
        for number in range(len(self.all), max(self._workers.within(self._cpus), self._workers.least)):
            self.all.append(Slot(WorkerStatus(slot=number, log=self.log)))

    @property
    def _filled(self) -> int:
        return sum(slot.process is not None for slot in self.all)

    @property
    def _waiting(self) -> bool:
        return any(slot.status.state is WorkerState.WAITING for slot in self.used)
