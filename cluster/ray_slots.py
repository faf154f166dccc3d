"""The life of the workers that the executor over Ray keeps: when one counts as lost, and what becomes of
its jobs and its slot. Plain values and decisions, without Ray: how a process is started and ended is given.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from cluster.executor import Event, JobLost, Outcome, Task, WorkerStatus
from cluster.shared_parts import job_in
from cluster.workers import Workers
from search.job import GrowJob

READY_S = 120.0
"""How long a worker may take to start: its process, its imports, and perhaps to compile kernels."""
LATECOMER_S = 10.0
"""How long a search that has enough workers waits for more that have been started."""
ALONE_S = 300.0
"""How long a search waits for machines when it has too few: a cloud takes minutes to bring one."""
GIVEN_BACK = "given back"
"""The state of a slot whose worker had nothing to do for long."""
PULSE_S = 2.0
"""How often an idle worker is asked whether it is there."""
MAX_RESTARTS_IN_A_ROW = 5
"""A slot whose workers die this often without finishing a job is given up."""


@dataclass
class Bundle:
    """Jobs that travel in one call."""

    jobs: list[Task]
    deadline_s: float | None = None
    """Set when the bundle comes to the head of its worker's queue."""


@dataclass
class Process:
    """One actor: a worker process in a slot."""

    actor: Any
    starting: Any
    """The ObjectRef of its first call, until that has returned; then None."""
    ready_by_s: float
    """When it counts as hung if that call has not returned."""
    pid: int = 0
    node_id: str = ""
    part_key: Hashable = None
    """Of what its jobs share (shared_parts.py), as it was sent last."""
    bundles: dict[Any, Bundle] = field(default_factory=dict)
    """By ObjectRef, in the order in which they were sent."""

    @property
    def jobs(self) -> list[Task]:
        """All that it has been given."""
        return [job for bundle in self.bundles.values() for job in bundle.jobs]


@dataclass
class Slot:
    status: WorkerStatus
    process: Process | None = None
    failures: int = 0
    """Processes lost in a row without a finished job."""
    rate: float = 0.0
    """Simulations a second, for the size of bundles."""


class Slots:
    """The slots of an executor, and the workers that were given up and may still answer."""

    def __init__(
        self,
        workers: Workers,
        cpus: int,
        job_timeout_s: float,
        start: Callable[[Slot], Process],
        kill: Callable[[Process], None],
        crowded: Callable[[], bool],
    ) -> None:
        """``start`` starts a process; ``kill`` ends one that may be stopped and hear nothing; ``crowded``
        says whether others have all CPUs, so that a process waits for one."""
        self.changed = True
        """Whether `present` or `at_hand` may say something else than when this was last set to False."""
        self.all: list[Slot] = []
        self.used = self.all
        """Those that get jobs: all, or the first few."""
        self._workers = workers
        self._cpus = cpus
        self._alone_since_s: float | None = None
        self._feel_due_s = 0.0
        self._check_due_s = 0.0
        self.running = 0
        """Jobs that workers have, but for those that were given up."""
        self._crowded = crowded
        self._grow()
        self.retired: list[tuple[Process, float]] = []
        """With the time when they are to be ended."""
        self._job_timeout_s = job_timeout_s
        self._start = start
        self._kill = kill

    def use(self, count: int) -> None:
        """Give jobs to the first so many slots only, or to all there are and will be."""
        self.used = self.all if count >= len(self.all) else self.all[:count]
        self.changed = True

    def follow(self, cpus: int, wanted: int) -> None:
        """Fill the slots that so many CPUs have room for; new ones are made, none is ever taken away.

        Of those whose worker was given back, as many as bring the processes to ``wanted``.
        """
        if cpus > self._cpus:
            # What could not be kept alive on the machines that there were may be on this one.
            for slot in self.all:
                slot.failures = 0
        self._cpus = cpus
        self._grow()
        for slot in self.used:
            if slot.process is None:
                if slot.status.state != GIVEN_BACK or self._processes < wanted:
                    self.fill(slot)
            elif not slot.process.pid and self._processes > cpus:
                # Meant for a machine that has gone in the meantime.
                self._kill(slot.process)
                slot.process = None
                slot.status.state = "waiting"
                self.changed = True

    def fill(self, slot: Slot) -> None:
        """Start a process in an empty slot, if there is a CPU for one."""
        if slot.failures > MAX_RESTARTS_IN_A_ROW:
            slot.status.state = "given up"
        elif self._processes < self._cpus:
            slot.process = self._start(slot)
            slot.status.state = "starting"
        elif slot.status.state != GIVEN_BACK:
            slot.status.state = "waiting"
        self.changed = True

    def give_back(self, wanted: int) -> None:
        """End idle processes, the last slots first, as long as there are more than ``wanted``."""
        for slot in reversed(self.used):
            process = slot.process
            if self._processes <= wanted:
                return
            if process is not None and process.starting is None and not process.jobs:
                self._kill(process)
                slot.process = None
                slot.status.alive = False
                slot.status.state = GIVEN_BACK
                self.changed = True

    @property
    def present(self) -> list[int]:
        """The slots in use that have a process, ready or not."""
        return [slot.status.slot for slot in self.used if slot.process is not None]

    @property
    def at_hand(self) -> list[int]:
        """Those of them that can take jobs."""
        return [slot.status.slot for slot in self.used if slot.process and slot.process.starting is None]

    @property
    def jobs(self) -> list[Task]:
        """All that they have been given."""
        return [job for slot in self.used if slot.process is not None for job in slot.process.jobs]

    @property
    def starting(self) -> bool:
        """Whether there are some that will before long."""
        return len(self.at_hand) < len(self.present)

    def to_feel(self) -> list[tuple[Slot, Process]]:
        """Idle processes that are to be asked whether they are there, now and then: only a call can fail."""
        now = time.monotonic()
        if now < self._feel_due_s:
            return []
        self._feel_due_s = now + PULSE_S
        processes = [(slot, slot.process) for slot in self.used if slot.process is not None]
        return [(slot, each) for slot, each in processes if each.starting is None and not each.bundles]

    def opened(self, waited_s: float) -> bool:
        """Whether the first job can be sent, after so long. Raises ConnectionError if it never will be."""
        self.check_alive()
        ready, least = len(self.at_hand), min(self._workers.least, len(self.used))
        if ready < least and waited_s > ALONE_S:
            raise ConnectionError(f"of {least} workers {ready} have come in {ALONE_S:.0f} s")
        if ready >= least and waited_s > LATECOMER_S and not self._workers.fixed:
            return True
        return ready == len(self.present) and (ready >= least or not self._waiting)

    def ready(self, slot: Slot) -> None:
        """Its process can take jobs."""
        slot.status.alive = True
        slot.status.state = "idle"
        self.changed = True

    def set_deadline(self, process: Process) -> None:
        """Start the clock of the bundle at the head of the queue."""
        head = next(iter(process.bundles.values()), None)
        if head is not None and head.deadline_s is None:
            # A lane whose tree was lost is grown again from its first piece.
            pieces = sum(len(job.sizes) if isinstance(job, GrowJob) else 1 for job in map(job_in, head.jobs))
            head.deadline_s = time.monotonic() + self._job_timeout_s * (1 + pieces / 100)

    def done(self, slot: Slot, results: list[Outcome]) -> None:
        """Note what a bundle brought."""
        slot.failures = 0
        self.running -= len(results)
        busy_s = sum(result.duration_s for result in results)
        simulations = sum(result.simulations for result in results)
        slot.status.jobs_done += len(results)
        slot.status.simulations += simulations
        slot.status.busy_s += busy_s
        if busy_s > 0:
            slot.rate = simulations / busy_s
        if slot.process is not None and not slot.process.bundles:
            slot.status.state = "idle"

    def lost(self, slot: Slot | None, process: Process, reason: str) -> list[Event]:
        """A process died: its jobs are given back, its slot (None: it was retired) gets another."""
        jobs = process.jobs
        process.bundles.clear()
        if slot is None:
            self.retired = [entry for entry in self.retired if entry[0] is not process]
            return []
        self._replace(slot)
        self.running -= len(jobs)
        return [JobLost(job.index, reason) for job in jobs]

    def check_deadlines(self, every_s: float = 0.0) -> list[Event]:
        """Replace what hangs, and end what was given up long enough ago; the jobs that are lost by it.

        Looks at all workers, and so at most once in ``every_s``.
        """
        now = time.monotonic()
        if now < self._check_due_s and every_s > 0:
            return []
        self._check_due_s = now + every_s
        events: list[Event] = []
        for slot in self.used:
            process = slot.process
            if process is None:
                continue
            if process.starting is not None:
                if now > process.ready_by_s and self._crowded():
                    # It has not even been started.
                    process.ready_by_s = now + READY_S
                elif now > process.ready_by_s:
                    self._kill(process)
                    self._replace(slot)
                continue
            head = next(iter(process.bundles.values()), None)
            if head is not None and head.deadline_s is not None and now > head.deadline_s:
                jobs = process.jobs
                self.retired.append((process, now + self._job_timeout_s))
                self._replace(slot)
                self.running -= len(jobs)
                events.extend(JobLost(job.index, "its deadline passed") for job in jobs)
        for process, until_s in list(self.retired):
            if now > until_s or not process.bundles:
                self._kill(process)
                self.retired.remove((process, until_s))
        return events

    def check_alive(self) -> None:
        """Raises ConnectionError if no slot in use has a process, or will get one before long."""
        if self.present:
            self._alone_since_s = None
            return
        if not self._waiting:
            raise ConnectionError("no worker could be kept alive")
        now = time.monotonic()
        self._alone_since_s = self._alone_since_s or now
        if now > self._alone_since_s + ALONE_S:
            raise ConnectionError(f"no machine has had room for a worker for {ALONE_S:.0f} s")

    def _replace(self, slot: Slot) -> None:
        slot.failures += 1
        slot.status.restarts += 1
        slot.status.alive = False
        slot.process = None
        self.fill(slot)

    def _grow(self) -> None:
        for number in range(len(self.all), max(self._workers.within(self._cpus), self._workers.least)):
            self.all.append(Slot(WorkerStatus(slot=number)))

    @property
    def _processes(self) -> int:
        return sum(slot.process is not None for slot in self.all)

    @property
    def _waiting(self) -> bool:
        return any(slot.process is None and slot.status.state == "waiting" for slot in self.used)
