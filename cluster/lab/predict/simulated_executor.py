"""The simulated executor: runs a search on a virtual clock, as if it had any number of workers.

Coordinator, strategies and queue are real; only time is simulated. Each action of the coordinator advances
the clock by its cost (there is one coordinator, so it can saturate), and each worker is busy with a bundle
for the cost of its jobs. Bundles are formed, and two are kept in flight, as in
`cluster.ray_backend.executor`. Results of jobs come from a real worker (the search then gives its real
answer) or from a null worker, when only time matters.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from cluster.lab.predict.costs import Costs, FaultModel
from cluster.lab.predict.shared_cores import SharedCores
from cluster.lab.predict.worker_time import MAKING, MERGING, RECEIVING, SENDING, SNAPSHOTS, WorkerTime
from cluster.runtime.context_workers import ContextWorkers
from cluster.runtime.queue import BUNDLE_S, IN_FLIGHT, BundlesAhead, TaskQueue
from cluster.runtime.tasks import Event, JobDone, JobLost, Task, TaskWorker
from cluster.runtime.worker_state import WorkerLog, WorkerState, WorkerStatus


@dataclass
class _Slot:
    status: WorkerStatus
    free_s: float = 0.0
    """When the worker has done all its work, on the clock without slip."""
    bundles: int = 0
    rate: float = 0.0
    generation: int = 0
    """How often the worker's process was lost."""
    pieces: dict[int, int] = field(default_factory=dict)
    """Strategy root: number of pieces grown in each lane's tree on this worker, by lane."""
    shared: Hashable = None
    """Key of the shared part on the worker; with strategy tree, a snapshot."""


@dataclass(order=True)
class _Arrival:
    """An answer of a worker, or the notice of its loss."""

    at_s: float
    number: int
    slot: _Slot = field(compare=False)
    generation: int = field(compare=False)
    jobs: list[Task] = field(compare=False)
    busy_s: float = field(compare=False)
    """Duration of the jobs; with shared cores it is set when they are done."""
    call_s: float = field(compare=False)
    """Time of the worker for the call itself."""
    travel_s: float = field(compare=False)
    """Travel time of the call."""
    needed_s: float = field(compare=False)
    """When the first of the jobs could have been made."""
    lost: bool = field(compare=False, default=False)


class SimulatedExecutor:
    """An executor with simulated workers. Its session must use `clock`."""

    name = "simulated"

    def __init__(
        self,
        workers: int,
        costs: Costs,
        worker: TaskWorker,
        *,
        faults: FaultModel | None = None,
        shared_cores: int | None = None,
        seed: int = 0,
    ) -> None:
        """``shared_cores``: number of cores of the one machine on which everything runs; None: each worker
        and the coordinator have their own core."""
        self._costs = costs
        self._mishaps = faults or FaultModel()
        self._workers = ContextWorkers(lambda: worker)
        self._random = random.Random(seed)
        self.log = WorkerLog(self.clock)
        self._slots = [
            _Slot(WorkerStatus(slot=i, state=WorkerState.IDLE, log=self.log)) for i in range(workers)
        ]
        self._queue = TaskQueue()
        self._ahead = BundlesAhead(IN_FLIGHT)
        self._arrivals: list[_Arrival] = []
        self._published: set[Hashable] = set()
        self._now_s = 0.0
        self._number = 0
        self._running = 0
        """Number of jobs on workers."""
        self._slip_s = 0.0
        """Delay of all workers because the coordinator used a core of theirs."""
        demand = workers * costs.job_cpu_share
        # Set if there are more workers than cores, because they wait most of the time.
        self._cores = None
        if shared_cores is not None and workers > shared_cores:
            self._cores = SharedCores(shared_cores)
        self._robbed = (
            0.0
            if shared_cores is None or self._cores is not None
            else min(1.0, max(0.0, (demand + 1 - shared_cores) / workers))
        )
        # Half a core of tolerance: measured CPU shares never reach 1.
        crowded = shared_cores is None or demand > shared_cores - 0.5
        self._way_s = 0.0
        """Travel time of a snapshot to a worker; each machine that has it forwards it to another one."""
        if shared_cores is None:
            hops = math.ceil(math.log2(workers + 1))
            self._way_s = hops * costs.snapshot_bytes / costs.link_bytes_per_s
        self.simulation_s = costs.crowded_simulation_s if crowded else costs.simulation_s
        """Time of one simulation on a worker."""
        self.time = WorkerTime()
        """The use of the workers' time, without delays by a coordinator that uses one of their cores."""
        self._taken: deque[tuple[Event, float]] = deque()
        """Events of the last look, with their arrival times. The session gets one at a time."""
        self._arrived: dict[int, float] = {}
        """Arrival times of results that wait for earlier ones, by index."""
        self._absorbed = 0
        """Index of the first result that has not arrived."""
        self._needed_s = 0.0
        """Arrival time of the last result before index `_absorbed`."""
        self._needs: dict[int, float] = {}
        """When each job could be made, by index."""
        self.calls = 0
        """Number of bundles sent."""

    @property
    def coordinator_s(self) -> float:
        """Seconds in which the coordinator's thread was busy."""
        return sum(self.time.coordinator.values())

    @property
    def num_workers(self) -> int:
        return len(self._slots)

    @property
    def sharing(self) -> int:
        return 0

    @property
    def workers(self) -> list[WorkerStatus]:
        return [slot.status for slot in self._slots]

    def clock(self) -> float:
        """Virtual seconds since the beginning."""
        return self._now_s

    def use(self, workers: int) -> None:
        """Give jobs to this number of workers only."""
        self._slots = self._slots[:workers]

    def open(self, context: Any) -> None:
        self._workers.open(context)

    def add_context(self, key: int, context: Any) -> None:
        self._workers.add(key, context)

    def forget_context(self, key: int) -> None:
        """Changes nothing: keeping a context does no harm."""

    def submit(self, tasks: Iterable[Task]) -> None:
        tasks = list(tasks)
        self._queue.add(tasks)
        for task in tasks:
            self._needs[task.index] = self._needed_s
        self._charge(MAKING, self._costs.make_s * len(tasks))

    def wait(self, timeout_s: float) -> list[Event]:
        if not self._taken:
            self._dispatch()
            self._look(timeout_s)
        return [self._take()] if self._taken else []

    def drop(self) -> None:
        for slot in self._slots:
            if not slot.bundles and slot.free_s < self._now_s - self._slip_s:
                # The worker got no more work; later actions of the coordinator do not concern it.
                self.time.idle(slot.free_s, self._now_s - self._slip_s, slot.free_s, 0.0)
                slot.free_s = self._now_s - self._slip_s
        self._queue.clear()
        self._running = 0
        self._arrivals.clear()
        self._taken.clear()
        if self._cores is not None:
            self._cores.clear()

    def close(self) -> None:
        self.drop()

    def _look(self, timeout_s: float) -> None:
        """Receive arrived answers, or advance the clock to the next one."""
        until_s = self._now_s + timeout_s
        self._work(until_s)
        if not self._arrivals or self._due_s() > until_s:
            self._now_s = until_s
            return
        if self._due_s() > self._now_s:
            self._now_s = self._due_s()
            self._charge(RECEIVING, self._costs.turn_s)
        # Answers that arrive during this look wait for the next one.
        seen_s = self._now_s
        while self._arrivals and self._due_s() <= seen_s:
            arrival = heapq.heappop(self._arrivals)
            self._taken.extend((event, arrival.at_s) for event in self._receive(arrival))

    def _take(self) -> Event:
        """The next event; charges the coordinator's work on it."""
        event, at_s = self._taken.popleft()
        if isinstance(event, JobDone):
            self._charge(MERGING, self._costs.absorb_s)
            if event.result.index >= self._absorbed:
                self._arrived[event.result.index] = at_s
            while self._absorbed in self._arrived:
                self._needed_s = max(self._needed_s, self._arrived.pop(self._absorbed))
                self._absorbed += 1
        return event

    def _due_s(self) -> float:
        return self._arrivals[0].at_s + self._slip_s

    def _charge(self, part: str, seconds: float, beside_s: float = 0.0) -> None:
        """Advance the clock: the coordinator's thread works ``seconds``, its other threads ``beside_s``."""
        self.time.step(part, self._now_s - self._slip_s, seconds)
        if self._cores is None:
            self._now_s += seconds
            self._slip_s += (seconds + beside_s) * self._robbed
            return
        while self._cores.next_s <= self._now_s:
            self._step()
        now_s = self._now_s
        self._now_s = self._cores.use(now_s, self._costs.together * seconds)
        self._cores.use(now_s, self._costs.together * beside_s)

    def _work(self, until_s: float) -> None:
        """Advance workers on shared cores to the next answer, at most to ``until_s``."""
        while self._cores is not None and self._cores.next_s <= until_s:
            if self._arrivals and self._arrivals[0].at_s <= self._cores.next_s:
                return
            self._step()

    def _step(self) -> None:
        assert self._cores is not None
        done = self._cores.step()
        if done is not None:
            arrival, began_s, ended_s = done
            self._arrive(arrival, began_s, ended_s)

    def _dispatch(self) -> None:
        """Send bundles from the queue to workers that have room."""
        bundles = self._ahead.number(len(self._queue) + self._running, len(self._slots))
        for have in range(bundles):
            share = self._queue.share(bundles * len(self._slots), self._running)
            for slot in self._slots:
                if not len(self._queue):
                    return
                if slot.bundles > have:
                    continue
                jobs = self._queue.take(slot.status.slot, len(self._slots), share, slot.rate * BUNDLE_S)
                if jobs:
                    self._send(slot, jobs)

    def _send(self, slot: _Slot, jobs: list[Task]) -> None:
        costs, first = self._costs, jobs[0]
        call_s, travel_s = costs.worker_call_s, costs.latency_s / 2
        if first.shared is not None:
            if first.shared_key not in self._published:
                self._published.add(first.shared_key)
                self._charge(MAKING, costs.plan_s)
                # The first snapshot costs no round: its tree has no visits.
                self._charge(SNAPSHOTS, (costs.round_s if first.shared.key else 0.0) + costs.publish_s)
            if slot.shared != first.shared_key:
                slot.shared = first.shared_key
                call_s += costs.fetch_s
                travel_s += self._way_s
        self._charge(SENDING, costs.send_s + costs.call_job_s * (len(jobs) - 1), costs.beside_call_s)
        self.calls += 1
        slot.bundles += 1
        self._running += len(jobs)
        slot.status.become(WorkerState.BUSY)
        self._number += 1
        durations = [self._duration_s(slot, job) for job in jobs]
        needed_s = self._needs.get(first.index, 0.0)
        busy_s = sum(durations)
        arrival = _Arrival(0.0, self._number, slot, slot.generation, jobs, busy_s, call_s, travel_s, needed_s)
        begin_s = max(slot.free_s, self._now_s - self._slip_s + travel_s)
        if self._cores is None:
            self._arrive(arrival, begin_s, begin_s + call_s + arrival.busy_s)
            return
        cpu_s, share = min(call_s, costs.worker_call_cpu_s), costs.job_cpu_share
        parts = [(cpu_s, call_s - cpu_s), *((share * each, (1 - share) * each) for each in durations)]
        parts = [(costs.together * each, wait_s) for each, wait_s in parts]
        self._cores.give(slot.status.slot, begin_s, parts, arrival)

    def _arrive(self, arrival: _Arrival, began_s: float, ended_s: float) -> None:
        """Add the answer of a bundle that a worker runs from ``began_s`` to ``ended_s``, or its loss."""
        slot = arrival.slot
        if arrival.generation != slot.generation:
            return
        self.time.idle(slot.free_s, began_s, arrival.needed_s, arrival.travel_s)
        slot.free_s = ended_s
        arrival.busy_s = ended_s - began_s - arrival.call_s
        dies = -math.expm1((began_s - ended_s) * self._mishaps.failures_per_hour / 3600)
        arrival.lost = self._random.random() < dies
        arrival.at_s = ended_s + self._costs.latency_s / 2
        if arrival.lost:
            arrival.at_s = began_s + (ended_s - began_s) * self._random.random()
        heapq.heappush(self._arrivals, arrival)

    def _duration_s(self, slot: _Slot, task: Task) -> float:
        simulations = task.work
        if task.lane is not None and task.pieces:
            have = slot.pieces.get(task.lane, 0)
            simulations = sum(task.pieces[have:]) if have < len(task.pieces) else sum(task.pieces)
            slot.pieces[task.lane] = len(task.pieces)
        mean_s = self._costs.job_s + simulations * self.simulation_s
        spread = self._costs.job_spread
        if spread > 0:
            # Log-normal: durations have a lower limit and a tail.
            sigma = math.sqrt(math.log1p(spread * spread))
            mean_s *= self._random.lognormvariate(-sigma * sigma / 2, sigma)
        if self._mishaps.straggler_share and self._random.random() < self._mishaps.straggler_share:
            mean_s *= self._mishaps.straggler_factor
        return mean_s

    def _receive(self, arrival: _Arrival) -> list[Event]:
        slot = arrival.slot
        if arrival.generation != slot.generation:
            return []
        if arrival.lost:
            return self._lose(arrival)
        slot.bundles -= 1
        self._running -= len(arrival.jobs)
        slot.status.jobs_done += len(arrival.jobs)
        slot.status.busy_s += arrival.busy_s
        self.time.worked(arrival.busy_s, arrival.call_s)
        if arrival.busy_s > 0:
            slot.rate = sum(task.work for task in arrival.jobs) / arrival.busy_s
        self._ahead.note(arrival.jobs, arrival.busy_s)
        if not slot.bundles:
            slot.status.become(WorkerState.IDLE)
        self._charge(RECEIVING, self._costs.receive_s)
        return [JobDone(self._workers.run(task.context, task.job), task.context) for task in arrival.jobs]

    def _lose(self, arrival: _Arrival) -> list[Event]:
        """Handle the death of a process: its jobs and its cached state are lost."""
        slot = arrival.slot
        behind = [a for a in self._arrivals if a.slot is slot and a.generation == slot.generation]
        slot.generation += 1
        slot.bundles = 0
        slot.pieces.clear()
        slot.shared = None
        reason = "its worker died"
        slot.status.become(WorkerState.LOST, reason)
        # The new process is ready at once, and its first job waits until it has started.
        slot.status.become(WorkerState.STARTING)
        slot.status.become(WorkerState.IDLE)
        slot.free_s = self._now_s - self._slip_s + self._mishaps.restart_s
        lost = [job for a in (arrival, *sorted(behind)) for job in a.jobs]
        self._running -= len(lost)
        return [JobLost(task.index, reason, task.context) for task in lost]
