"""The Ray executor: sends bundles of jobs to workers in slots, and returns their outcomes as events.

Faults: the memory of a worker is only a cache (search/worker.py). Ray neither restarts actors nor retries
calls (max_restarts=0, max_task_retries=0), because it would run jobs again without the executor's knowledge,
and a restarted actor needs seconds. A dead worker is noticed within milliseconds by the errors of its calls.
A worker that hangs (or is stopped, or disconnected) causes no error, so each bundle has a deadline, counted
from the time when it is first in its worker's queue. The seconds in which the worker was ready to run and had
no core do not count, if it is on this machine: on a busy machine a search is slow, and no worker hangs. When
the deadline passes, the jobs are reported as lost, the slot gets a new worker, and the old one is kept for
another such period: its results are still passed on (the coordinator drops those no longer pending). Then it
is killed.

When Ray itself ends, locally or at the address, all jobs on workers are reported as lost. Ray is started or
joined again, and its workers continue the search.
"""

from __future__ import annotations

import math
import os
import pickle
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from cluster.runtime.queue import IN_FLIGHT, TaskQueue
from cluster.runtime.tasks import DEFAULT_JOB_TIMEOUT_S, Event, Task, TaskWorker
from cluster.runtime.worker_state import WorkerLog, WorkerState, WorkerStatus
from cluster.runtime.workers import AUTO, ONE_CPU, Resources, Workers, exactly
from cluster.system.processes import num_cores, waited_s
from cluster.workers.dispatcher import Dispatcher
from cluster.workers.joining import Revival, connect
from cluster.workers.slots import ALONE_S, LATECOMER_S, READY_S, Process, Slot, Slots
from games.errors import InvalidInput, counted
from search.worker import Worker, runs_in_threads

LOOK_S = 0.25
"""Interval in seconds of counting CPUs, which is a call of 1 to 2 ms to the cluster's head."""
GIVE_BACK_S = 120.0
"""Seconds after which surplus workers end: starting a worker takes seconds, bringing a machine minutes."""


class Elasticity:
    """Adapts the slots of an executor to the CPUs of the cluster, and requests machines while lanes wait.

    Decisions only, without Ray: counting CPUs and requesting them are functions passed in.
    """

    def __init__(
        self,
        workers: Workers,
        slots: Slots,
        look: Callable[[], int],
        ask: Callable[[int], None],
        give_back_s: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``look`` counts the CPUs of the cluster. ``ask`` requests a number of workers from its autoscaler;
        0 withdraws the request; without an autoscaler it has no effect. Workers that were not needed for
        ``give_back_s`` seconds end, so that the autoscaler can remove their machines."""
        self._workers = workers
        self._slots = slots
        self._look = look
        self._ask = ask
        self._give_back_s = give_back_s
        self._clock = clock
        self._due_s = 0.0
        self._asked = 0
        self._needed_at_s = -math.inf
        """The last time when all workers were needed."""
        self._needed_since = 0
        """The largest number of workers needed since then."""

    def follow(self, lanes: Callable[[], int]) -> None:
        """Adapt to the cluster, every LOOK_S seconds. ``lanes`` counts the workers that could be busy."""
        now = self._clock()
        if now < self._due_s:
            return
        self._due_s = now + LOOK_S
        cpus = self._look()
        wanted = max(self._workers.least, self._workers.within(lanes()))
        self._slots.follow(cpus, wanted)
        if wanted >= max(len(self._slots.present), self._asked) or self._needed_at_s == -math.inf:
            self._needed_at_s, self._needed_since = now, 0
        else:
            self._needed_since = max(self._needed_since, wanted)
        if now > self._needed_at_s + self._give_back_s:
            needed = self._needed_since
            self._slots.give_back(needed)
            if self._asked > needed:
                self.request(needed if needed > self._workers.least else 0)
            self._needed_at_s, self._needed_since = now, 0
        if wanted > max(cpus, self._asked):
            self.request(wanted)

    def request(self, wanted: int) -> None:
        """Request ``wanted`` workers; 0 withdraws the request, and the autoscaler removes idle machines."""
        if wanted != self._asked:
            self._asked = wanted
            self._ask(wanted)


CHECK_S = 0.05
"""Interval in seconds of checking deadlines, which visits all workers."""
BUSY = 2.0
"""Load average per core above which the start of a worker may take minutes."""
START_S = 10.0
"""Extra seconds, beyond the job timeout, for a running worker to get ready for another search."""


class RayExecutor:
    """Runs tasks on an embedded Ray, or on the cluster at ``address``, whose machines its slots follow."""

    name = "ray"
    threads_here = 0

    def __init__(
        self,
        workers: Workers = AUTO,
        address: str | None = None,
        job_timeout_s: float = DEFAULT_JOB_TIMEOUT_S,
        make_worker: Callable[[], TaskWorker] = Worker,
        in_flight: int = IN_FLIGHT,
        resources: Resources = ONE_CPU,
        queue: TaskQueue | None = None,
        standing: bool = False,
        notify: Callable[[str], None] | None = None,
        cancelled: threading.Event | None = None,
    ) -> None:
        """See `make_executor` for the arguments.

        Raises InvalidInput (address, workers, or a resource option), and ConnectionError if Ray could not be
        started or ``cancelled`` was set.
        """
        self._standing = standing
        self._job_timeout_s = job_timeout_s
        self.waiting: Callable[[str], None] | None = None
        """Called with a progress text while `open` waits for workers."""
        cpus = max(math.ceil(workers.least * resources.cpus), num_cores())
        join = partial(connect, address, cpus, cancelled)
        self._ray = join()
        self._revival = Revival(join, address, notify)
        try:
            # A cluster without free CPUs may get some later; one without GPUs is refused at once.
            grows = address is not None and not workers.fixed and not (resources.gpus or resources.others)
            machines = self._ray.latest("machines").values()
            # Whether other programs held nothing when this one joined.
            self._all_free = not resources.held_in(machines, self._ray.latest("available"), 0)
            room = resources.room_in(machines) if grows else resources.workers_in(machines)
            if workers.fixed and workers.least > room:
                accepted = f"a whole number from 1 to {room} (what the cluster has room for), or a range"
                raise InvalidInput("workers", workers.said, f"{accepted} such as 1..{workers}")
        except BaseException:
            self._ray.close()
            raise
        if address is None:
            workers = exactly(max(workers.least, workers.within(room)))
        self._resources = resources
        # Where searches of many kinds share the workers, each may need a process of its own; and other
        # resources than a core cannot always be reserved for several workers.
        self._one_search = make_worker is Worker and not standing and resources == ONE_CPU
        self._make_worker = pickle.dumps(make_worker)
        self._crew = Slots(
            workers,
            room,
            job_timeout_s,
            self._start,
            self._kill,
            self._crowded,
            placed=lambda process: process.actor in self._ray.latest("placed"),
            rooms=lambda: resources.rooms_in(self._ray.latest("machines")),
        )
        self._elasticity: Elasticity | None = None
        if address is not None:
            give_back_s = GIVE_BACK_S if standing else math.inf
            self._elasticity = Elasticity(
                workers,
                self._crew,
                look=lambda: resources.room_in(self._ray.latest("machines").values()),
                ask=lambda number: self._ray.want([resources.bundle()] * number),
                give_back_s=give_back_s,
            )
        self.dispatcher = Dispatcher(self._ray, self._crew, queue, in_flight, self._revival.worked)

    def use(self, workers: int) -> None:
        """Give jobs to the first ``workers`` slots only, from the next search on; the others stay idle."""
        self.drop()
        self._crew.use(workers)

    @property
    def num_workers(self) -> int:
        return len(self._crew.used)

    @property
    def workers(self) -> list[WorkerStatus]:
        return [slot.status for slot in self._crew.used]

    @property
    def log(self) -> WorkerLog:
        """The latest changes of the workers' states, with their reasons."""
        return self._crew.log

    def worker_pids(self) -> list[int]:
        """Process ids of the workers by slot; 0 for a slot without a worker."""
        return [slot.process.pid if slot.process else 0 for slot in self._crew.used]

    def latest(self, question: str) -> Any:
        """What is known of Ray; see `RayProcess.latest`."""
        return self._ray.latest(question)

    def poll_retired(self) -> int:
        """Number of replaced workers that are not ended yet; ends those whose time is over."""
        self.dispatcher.hear(0.0)
        self._crew.check_deadlines()
        return len(self._crew.retired)

    def open(self, context: Any) -> None:
        """Start missing workers and wait until all of them, or enough, can take jobs.

        Raises ConnectionError if too few workers come.
        """
        began_s = time.monotonic()
        self.dispatcher.open(context)
        self._crew.regroup(self._one_search and runs_in_threads(context))
        for slot in self._crew.used:
            slot.failures = 0
        for process in self._crew.processes:
            process.rate = 0.0
            process.preparing = self.dispatcher.prepare(process)
            # The worker first finishes its jobs of an older search.
            process.ready_by_s = process.clock + self._job_timeout_s + START_S
            if process.slots[0].status.alive:
                process.become(WorkerState.PREPARING, "for another search")
        self._crew.refill()
        while not self._crew.opened(waited_s := time.monotonic() - began_s, why := self._why_not(waited_s)):
            if self._standing and (waited_s > LATECOMER_S or not self._crew.starting):
                break
            if self.waiting is not None:
                ends = f", gives up in {ALONE_S - waited_s:.0f} s" if waited_s > LATECOMER_S else ""
                self.waiting(
                    f"{len(self._crew.at_hand)} of {counted(len(self._crew.used), 'worker')} ready{why}{ends}"
                )
            if self._ray.ended.is_set():
                self._revive(0.1)
                continue
            self._follow()
            self.dispatcher.hear(0.1)
            self._crew.check_deadlines()

    def _why_not(self, waited_s: float) -> str:
        """Why workers are not ready after ``waited_s`` seconds, in brackets; empty if it is not known."""
        placed = self._ray.latest("placed")
        coming = [process for process in self._crew.processes if not process.ready]
        loading = sum(len(process.slots) for process in coming if process.actor in placed)
        parts = [f"{loading} loading or compiling the game"] * (loading > 0)
        # Ray reserves a CPU a moment before it says for whom: on a free cluster that is no other program.
        if any(process.actor not in placed for process in coming) and waited_s > LATECOMER_S * self._all_free:
            held = self._resources.held_in(
                self._ray.latest("machines").values(),
                self._ray.latest("available"),
                sum(len(process.slots) for process in self._crew.processes if process.actor in placed),
            )
            parts += [held] * bool(held)
        return f" ({'; '.join(parts)})" if parts else ""

    def add_context(self, key: int, context: Any) -> None:
        self.dispatcher.add_context(key, context)

    def forget_context(self, key: int) -> None:
        self.dispatcher.forget_context(key)

    def submit(self, tasks: Iterable[Task]) -> None:
        self.dispatcher.submit(tasks)

    def wait(self, timeout_s: float) -> list[Event]:
        if self._ray.ended.is_set():
            return self._revive(timeout_s)
        self._follow()
        self.dispatcher.dispatch()
        self.dispatcher.check_health()
        events = self.dispatcher.hear(timeout_s)
        events.extend(self._crew.check_deadlines(CHECK_S))
        if not events:
            self._crew.check_alive()
        self.dispatcher.dispatch()
        return events

    def drop(self) -> None:
        """Forget all jobs. Running jobs are not interrupted; they end soon, and their results are ignored."""
        self.dispatcher.drop()
        self._crew.running = 0
        if self._elasticity is not None:
            self._elasticity.request(0)

    def close(self) -> None:
        """End all workers, and Ray if it is embedded."""
        self._crew.use(len(self._crew.all))
        for process in self._crew.processes:
            # A busy process may hang, so it is killed; an idle one ends with its actor.
            self._ray.kill(process.actor, 0 if process.idle else process.pid, process.node_id)
            process.leave(WorkerState.ENDED, "with the executor")
        self.drop()
        for process, _ in self._crew.retired:
            self._kill(process)
        self._crew.retired.clear()
        self._revival.close()
        self._ray.close()

    def _start(self, slots: list[Slot], machine: str) -> Process:
        options = self._resources.actor_options(len(slots))
        actor = self._ray.start(options, machine, self._make_worker, self._standing)
        process = Process(actor, None, self._crew.clock() + READY_S, self._waited_s, self._crew.clock)
        process.slots = slots
        process.preparing = self.dispatcher.prepare(process)
        return process

    def _revive(self, timeout_s: float) -> list[Event]:
        """Handle the end of Ray: wait for its return, and report lost jobs.

        Raises ConnectionError if Ray does not come back.
        """
        if not self._revival.active:
            reason = self._ray.reason
            events = self._crew.abandon(f"Ray has ended: {reason}")
            self.dispatcher.forget_ray()
            self._ray.close()
            self._revival.begin(reason, self._ray.answered_s)
            return events
        found = self._revival.poll(timeout_s)
        if found is not None:
            self._ray = self.dispatcher.ray = found
            self._crew.refill()
        return []

    def _follow(self) -> None:
        """Adapt workers, and the lanes assigned to them, to the machines of the cluster."""
        if self._elasticity is not None:
            # The number of lanes is the number of workers that could be busy.
            self._elasticity.follow(self.dispatcher.num_lanes)
        self.dispatcher.settle()

    def _kill(self, process: Process) -> None:
        """End a worker process, even if it is stopped and handles no messages."""
        self._ray.kill(process.actor, process.pid, process.node_id)

    def _crowded(self) -> bool:
        """Whether other programs use the cores of this machine, where all workers are."""
        return self._ray.address is None and os.getloadavg()[0] > BUSY * num_cores()

    def _waited_s(self, process: Process) -> float:
        """See `Process.waited_s`; 0 for a process on another machine, which is not seen from here."""
        here = process.pid and process.node_id == self._ray.node
        # Jobs that await something, and those of several workers, run in threads of their own.
        several = process.at_once > 1 or process.threads > 1
        return waited_s(process.pid, every_thread=several) if here else 0.0
