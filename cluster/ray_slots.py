"""The life of the workers that the executor over Ray keeps: when one counts as lost, and what becomes of
its jobs and its slot. Plain values and decisions, without Ray: how a process is started and ended is given.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cluster.executor import Event, JobLost, Outcome, Task, WorkerStatus
from cluster.shared_parts import job_in
from search.job import GrowJob

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
        count: int,
        job_timeout_s: float,
        start: Callable[[], Process],
        kill: Callable[[Process], None],
    ) -> None:
        """``start`` starts a process; ``kill`` ends one that may be stopped and hear nothing."""
        self.all = [Slot(WorkerStatus(slot=i)) for i in range(count)]
        self.used = self.all
        """Those that get jobs."""
        self.retired: list[tuple[Process, float]] = []
        """With the time when they are to be ended."""
        self._job_timeout_s = job_timeout_s
        self._start = start
        self._kill = kill

    def start(self, slot: Slot) -> None:
        """Put a process into an empty slot."""
        slot.process = self._start()
        slot.status.state = "starting"

    def ready(self, slot: Slot) -> None:
        """Its process can take jobs."""
        slot.status.alive = True
        slot.status.state = "idle"

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
        return [JobLost(job.index, reason) for job in jobs]

    def check_deadlines(self) -> list[Event]:
        """Replace what hangs, and end what was given up long enough ago; the jobs that are lost by it."""
        now = time.monotonic()
        events: list[Event] = []
        for slot in self.used:
            process = slot.process
            if process is None:
                continue
            if process.starting is not None:
                if now > process.ready_by_s:
                    self._kill(process)
                    self._replace(slot)
                continue
            head = next(iter(process.bundles.values()), None)
            if head is not None and head.deadline_s is not None and now > head.deadline_s:
                jobs = process.jobs
                self.retired.append((process, now + self._job_timeout_s))
                self._replace(slot)
                events.extend(JobLost(job.index, "its deadline passed") for job in jobs)
        for process, until_s in list(self.retired):
            if now > until_s or not process.bundles:
                self._kill(process)
                self.retired.remove((process, until_s))
        return events

    def check_alive(self) -> None:
        """Raises ConnectionError if no slot in use has a process."""
        if all(slot.process is None for slot in self.used):
            raise ConnectionError("no worker could be kept alive")

    def _replace(self, slot: Slot) -> None:
        slot.failures += 1
        slot.status.restarts += 1
        slot.status.alive = False
        slot.process = None
        if slot.failures <= MAX_RESTARTS_IN_A_ROW:
            self.start(slot)
        else:
            slot.status.state = "given up"
