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
from bisect import bisect_right
from collections import deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from cluster.lab.predict.costs import Costs, FaultModel
from cluster.runtime.queue import BUNDLE_S, IN_FLIGHT, BundlesAhead, TaskQueue
from cluster.runtime.tasks import Event, Executor, JobDone, JobLost, Task, TaskWorker
from cluster.runtime.worker_state import WorkerLog, WorkerState, WorkerStatus

WORKING, CALLS, OTHERS, TRAVEL = "simulations", "calls on workers", "others' jobs", "travel"
SENDING, RECEIVING, MERGING, SNAPSHOTS, MAKING = "sending", "receiving", "merging", "snapshots", "making jobs"
COORDINATOR = (SENDING, RECEIVING, MERGING, SNAPSHOTS, MAKING)
"""Kinds of work of the coordinator's thread."""
REST = "rest"
"""Work lost with a worker, and the time in which the coordinator used a worker's core."""
PARTS = (WORKING, CALLS, OTHERS, *COORDINATOR, TRAVEL, REST)


class WorkerTime:
    """The use of the workers' time: seconds of all by PARTS, and of the coordinator by COORDINATOR."""

    def __init__(self) -> None:
        self.spent = dict.fromkeys(PARTS, 0.0)
        self.coordinator = dict.fromkeys(COORDINATOR, 0.0)
        self._begins: list[float] = [0.0]
        self._before: list[tuple[float, ...]] = [(0.0,) * len(COORDINATOR)]
        """The coordinator's totals when each of its steps began."""
        self._steps: list[tuple[int, float]] = [(0, 0.0)]
        """Index into COORDINATOR and duration of each step."""

    def step(self, part: str, begin_s: float, seconds: float) -> None:
        """Add a step of the coordinator from ``begin_s`` on; steps must not overlap and must be in order."""
        self._begins.append(begin_s)
        self._before.append(tuple(self.coordinator.values()))
        self._steps.append((COORDINATOR.index(part), seconds))
        self.coordinator[part] += seconds

    def idle(self, begin_s: float, end_s: float, needed_s: float, travel_s: float) -> None:
        """Add the idle time of a worker from ``begin_s`` to ``end_s``, when its next jobs arrived.

        ``needed_s``: when the last result that those jobs depend on had arrived. ``travel_s``: one-way time
        of a message.
        """
        ended_s = min(max(begin_s, needed_s - travel_s), end_s)
        self.spent[OTHERS] += ended_s - begin_s
        travel_s = min(2 * travel_s, end_s - ended_s)
        self.spent[TRAVEL] += travel_s
        waited_s = end_s - ended_s - travel_s
        now, then = self._until(end_s), self._until(ended_s)
        did = [after - before for after, before in zip(now, then, strict=True)]
        worked_s = sum(did)
        if waited_s <= 0.0 or worked_s <= 0.0:
            self.spent[OTHERS] += waited_s
            return
        for part, seconds in zip(COORDINATOR, did, strict=True):
            self.spent[part] += seconds * min(1.0, waited_s / worked_s)
        self.spent[OTHERS] += max(0.0, waited_s - worked_s)

    def shares(self, total_s: float) -> dict[str, float]:
        """The share of each part in ``total_s``, the time of all workers together."""
        spent = dict(self.spent)
        spent[REST] = max(0.0, total_s - sum(spent.values()))
        return {part: round(seconds / total_s, 4) for part, seconds in spent.items()}

    def _until(self, at_s: float) -> list[float]:
        """Seconds of the coordinator up to ``at_s``, by COORDINATOR."""
        last = bisect_right(self._begins, at_s) - 1
        done = list(self._before[last])
        part, seconds = self._steps[last]
        done[part] += min(seconds, max(0.0, at_s - self._begins[last]))
        return done


@dataclass
class _Slot:
    status: WorkerStatus
    free_s: float = 0.0
    """When the worker has done all its work, on the clock without slip."""
    bundles: int = 0
    rate: float = 0.0
    pieces: dict[int, int] = field(default_factory=dict)
    """Strategy root: number of pieces grown in each lane's tree on this worker, by lane."""
    common: Hashable = None
    """Key of the common part on the worker; with strategy tree, a snapshot."""


@dataclass(order=True)
class _Answer:
    """An answer of a worker to a call, or the notice of its loss."""

    at_s: float
    number: int
    slot: _Slot = field(compare=False)
    jobs: list[Task] = field(compare=False)
    busy_s: float = field(compare=False)
    """Duration of the jobs."""
    call_s: float = field(compare=False)
    """Time of the worker for the call itself."""
    lost: bool = field(compare=False)


class SimulatedExecutor(Executor):
    """An executor with simulated workers. Its session must use `clock`."""

    name, threads_here = "simulated", 0

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
        self._costs, self._worker = costs, worker
        self._faults = faults or FaultModel()
        self._random = random.Random(seed)
        self._context: Any = None
        self.log = WorkerLog(self.clock)
        self._slots = [
            _Slot(WorkerStatus(slot=i, state=WorkerState.IDLE, log=self.log)) for i in range(workers)
        ]
        self._queue = TaskQueue()
        self._ahead = BundlesAhead(IN_FLIGHT)
        self._answers: list[_Answer] = []
        """A heap of the answers that are under way."""
        self._published: set[Hashable] = set()
        self._now_s = 0.0
        self._running = 0
        """Number of jobs on workers."""
        demand = workers * costs.job_cpu_share
        self._cores = shared_cores if shared_cores is not None and workers > shared_cores else None
        """Cores that more workers share, because they wait most of the time; None without such workers."""
        self._cores_used_s = 0.0
        """When the shared cores have done all work that was given to workers."""
        self._robbed = 0.0
        """Share of a second that a worker loses for a second of the coordinator, which uses its core."""
        if shared_cores is not None and self._cores is None:
            self._robbed = min(1.0, max(0.0, (demand + 1 - shared_cores) / workers))
        self._slip_s = 0.0
        """Delay of all workers because the coordinator used a core of theirs."""
        self._way_s = 0.0
        """Travel time of a snapshot to a worker; each machine that has it forwards it to another one."""
        if shared_cores is None:
            hops = math.ceil(math.log2(workers + 1))
            self._way_s = hops * costs.snapshot_bytes / costs.link_bytes_per_s
        # Half a core of tolerance: measured CPU shares never reach 1.
        crowded = shared_cores is None or demand > shared_cores - 0.5
        self.simulation_s = costs.crowded_simulation_s if crowded else costs.simulation_s
        """Time of one simulation on a worker."""
        self.time = WorkerTime()
        """The use of the workers' time, without delays by a coordinator that uses one of their cores."""
        self._received: deque[tuple[Event, float]] = deque()
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
    def workers(self) -> list[WorkerStatus]:
        return [slot.status for slot in self._slots]

    def clock(self) -> float:
        """Virtual seconds since the beginning."""
        return self._now_s

    def use(self, workers: int) -> None:
        """Give jobs to this number of workers only."""
        self._slots = self._slots[:workers]

    def open(self, context: Any) -> None:
        self._context = context
        self._worker.prepare(context)

    def submit(self, tasks: Iterable[Task]) -> None:
        tasks = list(tasks)
        self._queue.add(tasks)
        self._needs |= {task.index: self._needed_s for task in tasks}
        self._charge(MAKING, self._costs.make_s * len(tasks))

    def wait(self, timeout_s: float) -> list[Event]:
        if not self._received:
            self._dispatch()
            self._look(timeout_s)
        return [self._take()] if self._received else []

    def drop(self) -> None:
        now_s = self._now_s - self._slip_s
        for slot in self._slots:
            if not slot.bundles and slot.free_s < now_s:
                # The worker got no more work; later actions of the coordinator do not concern it.
                self.time.idle(slot.free_s, now_s, slot.free_s, 0.0)
                slot.free_s = now_s
        self._queue.clear()
        self._running = 0
        self._answers.clear()
        self._received.clear()

    def close(self) -> None:
        self.drop()

    def _look(self, timeout_s: float) -> None:
        """Receive arrived answers, or advance the clock to the next one."""
        due_s, until_s = self._due_s(), self._now_s + timeout_s
        if due_s > until_s:
            self._now_s = until_s
            return
        if due_s > self._now_s:
            self._now_s = due_s
            self._charge(RECEIVING, self._costs.turn_s)
        # Answers that arrive during this look wait for the next one.
        look_s = self._now_s
        while self._due_s() <= look_s:
            answer = heapq.heappop(self._answers)
            self._received.extend((event, answer.at_s) for event in self._receive(answer))

    def _due_s(self) -> float:
        """The time of the next answer; infinity if none is under way."""
        return self._answers[0].at_s + self._slip_s if self._answers else math.inf

    def _take(self) -> Event:
        """The next event; charges the coordinator's work on it."""
        event, at_s = self._received.popleft()
        if isinstance(event, JobDone):
            self._charge(MERGING, self._costs.absorb_s)
            if event.result.index >= self._absorbed:
                self._arrived[event.result.index] = at_s
            while self._absorbed in self._arrived:
                self._needed_s = max(self._needed_s, self._arrived.pop(self._absorbed))
                self._absorbed += 1
        return event

    def _charge(self, part: str, seconds: float, beside_s: float = 0.0) -> None:
        """Advance the clock: the coordinator's thread works ``seconds``, its other threads ``beside_s``."""
        self.time.step(part, self._now_s - self._slip_s, seconds)
        self._use_cores(seconds + beside_s)
        self._now_s += seconds * (self._costs.together if self._cores else 1.0)
        self._slip_s += (seconds + beside_s) * self._robbed

    def _use_cores(self, cpu_s: float) -> None:
        """Give work to the shared cores; all of them together do it after what they were given before."""
        if self._cores is not None:
            work_s = self._costs.together * cpu_s / self._cores
            self._cores_used_s = max(self._cores_used_s, self._now_s) + work_s

    def _dispatch(self) -> None:
        """Send bundles from the queue to workers that have room."""
        bundles = self._ahead.number(len(self._queue) + self._running, len(self._slots))
        for have in range(bundles):
            share = self._queue.bundle_size(bundles * len(self._slots), self._running)
            for slot in self._slots:
                if not len(self._queue):
                    return
                if slot.bundles > have:
                    continue
                jobs = self._queue.take(slot.status.slot, len(self._slots), share, slot.rate * BUNDLE_S)
                if jobs:
                    self._send(slot, jobs)

    def _send(self, slot: _Slot, jobs: list[Task]) -> None:
        """Send a bundle; determines when the worker runs it, and whether the worker dies meanwhile."""
        costs, first = self._costs, jobs[0]
        call_s, travel_s = costs.worker_call_s, costs.latency_s / 2
        if first.common is not None:
            if first.common_key not in self._published:
                self._published.add(first.common_key)
                self._charge(MAKING, costs.plan_s)
                # The first snapshot costs no round: its tree has no visits.
                self._charge(SNAPSHOTS, (costs.round_s if first.common.key else 0.0) + costs.publish_s)
            if slot.common != first.common_key:
                slot.common = first.common_key
                call_s += costs.fetch_s
                travel_s += self._way_s
        self._charge(SENDING, costs.send_s + costs.call_job_s * (len(jobs) - 1), costs.beside_call_s)
        self.calls += 1
        slot.bundles += 1
        self._running += len(jobs)
        slot.status.become(WorkerState.BUSY)
        began_s = max(slot.free_s, self._now_s - self._slip_s + travel_s)
        jobs_s = sum(self._duration_s(slot, job) for job in jobs)
        ended_s = began_s + call_s + jobs_s
        if self._cores is not None:
            cpu_s = min(call_s, costs.worker_call_cpu_s) + costs.job_cpu_share * jobs_s
            self._use_cores(cpu_s)
            ended_s = max(ended_s + (costs.together - 1.0) * cpu_s, self._cores_used_s)
        self.time.idle(slot.free_s, began_s, self._needs.get(first.index, 0.0), travel_s)
        slot.free_s = ended_s
        took_s = ended_s - began_s
        lost = self._random.random() < -math.expm1(-took_s * self._faults.failures_per_hour / 3600)
        at_s = began_s + took_s * self._random.random() if lost else ended_s + costs.latency_s / 2
        answer = _Answer(at_s, self.calls, slot, jobs, took_s - call_s, call_s, lost)
        heapq.heappush(self._answers, answer)

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
        if self._faults.straggler_share and self._random.random() < self._faults.straggler_share:
            mean_s *= self._faults.straggler_factor
        return mean_s

    def _receive(self, answer: _Answer) -> list[Event]:
        if answer.lost:
            return self._lose(answer)
        slot, jobs = answer.slot, answer.jobs
        slot.bundles -= 1
        self._running -= len(jobs)
        slot.status.jobs_done += len(jobs)
        slot.status.busy_s += answer.busy_s
        self.time.spent[WORKING] += answer.busy_s
        self.time.spent[CALLS] += answer.call_s
        if answer.busy_s > 0:
            slot.rate = sum(task.work for task in jobs) / answer.busy_s
        self._ahead.note(jobs, answer.busy_s)
        if not slot.bundles:
            slot.status.become(WorkerState.IDLE)
        self._charge(RECEIVING, self._costs.receive_s)
        return [JobDone(self._worker.run(self._context, task.job), task.context) for task in jobs]

    def _lose(self, answer: _Answer) -> list[Event]:
        """Handle the death of a process: its jobs and its cached state are lost."""
        slot, reason = answer.slot, "its worker died"
        behind = sorted(each for each in self._answers if each.slot is slot)
        self._answers = [each for each in self._answers if each.slot is not slot]
        heapq.heapify(self._answers)
        slot.bundles = 0
        slot.pieces.clear()
        slot.common = None
        slot.status.become(WorkerState.LOST, reason)
        # The new process is ready at once, and its first job waits until it has started.
        slot.status.become(WorkerState.STARTING)
        slot.status.become(WorkerState.IDLE)
        slot.free_s = self._now_s - self._slip_s + self._faults.restart_s
        lost = [task for each in (answer, *behind) for task in each.jobs]
        self._running -= len(lost)
        return [JobLost(task.index, reason, task.context) for task in lost]
