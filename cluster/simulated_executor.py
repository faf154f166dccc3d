"""The executor with a virtual clock: what a search would take on so many workers, without having them.

Coordinator, strategies and queue are the real ones. What is made up is time: what the coordinator
does moves the clock by what it costs (there is one of it, so that is how it saturates), and each
worker is busy with a bundle for what its jobs cost. Bundles are made, and kept two deep, as
`cluster.ray_executor` does. What jobs return comes from a real worker, whose answer then is the search's
own, or from one that returns nothing of worth, when only time is of interest.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from cluster.executor import Event, JobDone, JobLost, Task, TaskWorker, WorkerStatus
from cluster.job_queue import BUNDLE_S, IN_FLIGHT, JobQueue
from cluster.measuring.costs import Costs, Mishaps
from cluster.measuring.shared_cores import SharedCores
from cluster.measuring.worker_time import MAKING, MERGING, RECEIVING, SENDING, SNAPSHOTS, WorkerTime
from search.job import GrowJob, RoundJob


@dataclass
class _Slot:
    status: WorkerStatus
    free_s: float = 0.0
    """When it has done all that it was given; on the clock without slip."""
    bundles: int = 0
    rate: float = 0.0
    generation: int = 0
    """How often its process was lost."""
    pieces: dict[int, int] = field(default_factory=dict)
    """root: how far it has grown the trees of the lanes that it keeps."""
    snapshot: int = -1
    """tree: the snapshot that it has got."""


@dataclass(order=True)
class _Arrival:
    """An answer, or the news that there will be none."""

    at_s: float
    number: int
    slot: _Slot = field(compare=False)
    generation: int = field(compare=False)
    jobs: list[Task] = field(compare=False)
    busy_s: float = field(compare=False)
    """What the jobs take; where cores are shared that is known when they have been done."""
    call_s: float = field(compare=False)
    """What the worker does for the call."""
    travel_s: float = field(compare=False)
    """How long the call was on its way."""
    needed_s: float = field(compare=False)
    """When the first of the jobs could be made."""
    lost: bool = field(compare=False, default=False)


class SimulatedExecutor:
    """``workers`` that are not there. `clock` is what a session has to go by."""

    name = "simulated"

    def __init__(
        self,
        workers: int,
        costs: Costs,
        worker: TaskWorker,
        *,
        mishaps: Mishaps | None = None,
        shared_cores: int | None = None,
        in_flight: int = IN_FLIGHT,
        seed: int = 0,
    ) -> None:
        """``shared_cores``: of the one machine on which everything runs; None gives each worker, and the
        coordinator, a core of its own."""
        self._costs = costs
        self._mishaps = mishaps or Mishaps()
        self._worker = worker
        self._in_flight = in_flight
        self._random = random.Random(seed)
        self._slots = [
            _Slot(WorkerStatus(slot=i, alive=True, state="idle", simulations=0)) for i in range(workers)
        ]
        self._queue = JobQueue()
        self._context: Any = None
        self._arrivals: list[_Arrival] = []
        self._published: set[int] = set()
        self._now_s = 0.0
        self._number = 0
        self._running = 0
        """Jobs that workers have."""
        self._slip_s = 0.0
        """How much later all workers end because the coordinator took a core from them."""
        demand = workers * costs.job_cpu_share
        # More workers than cores, because they wait for something else than a core most of the time.
        self._cores = None
        if shared_cores is not None and workers > shared_cores:
            self._cores = SharedCores(shared_cores)
        self._robbed = (
            0.0
            if shared_cores is None or self._cores is not None
            else min(1.0, max(0.0, (demand + 1 - shared_cores) / workers))
        )
        # Half a core short of all of them: shares of CPU are measured, and never quite 1.
        crowded = shared_cores is None or demand > shared_cores - 0.5
        self._way_s = 0.0
        """How long a snapshot is on its way to a worker: each machine that has it passes it on to another."""
        if shared_cores is None:
            hops = math.ceil(math.log2(workers + 1))
            self._way_s = hops * costs.snapshot_bytes / costs.link_bytes_per_s
        self.simulation_s = costs.crowded_simulation_s if crowded else costs.simulation_s
        """What one simulation costs a worker."""
        self.time = WorkerTime()
        """Where the time went, but for how the coordinator slowed workers down by taking a core from them."""
        self._taken: deque[tuple[Event, float]] = deque()
        """Events of the last look, and when they came. The session gets one at a time."""
        self._arrived: dict[int, float] = {}
        """When the results came whose turn it is not, by their index..."""
        self._absorbed = 0
        """...the index of the first that has not come..."""
        self._needed_s = 0.0
        """...and when the last of those before it came."""
        self._needs: dict[int, float] = {}
        """By job: when it could be made."""
        self.calls = 0
        """Bundles sent since the beginning."""

    @property
    def coordinator_s(self) -> float:
        """How long the coordinator's thread was busy."""
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
        """Give jobs to so many of the workers only."""
        self._slots = self._slots[:workers]

    def open(self, context: Any) -> None:
        self._context = context
        self._worker.prepare(context)

    def submit(self, jobs: Iterable[Task]) -> None:
        jobs = list(jobs)
        self._queue.add(jobs)
        for job in jobs:
            self._needs[job.index] = self._needed_s
        self._charge(MAKING, self._costs.make_s * len(jobs))

    def wait(self, timeout_s: float) -> list[Event]:
        if not self._taken:
            self._dispatch()
            self._look(timeout_s)
        return [self._take()] if self._taken else []

    def drop(self) -> None:
        for slot in self._slots:
            if not slot.bundles and slot.free_s < self._now_s - self._slip_s:
                # No more came; whatever the coordinator did since then was not for it.
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
        """Take in what has come, or wait for something to come."""
        until_s = self._now_s + timeout_s
        self._work(until_s)
        if not self._arrivals or self._due_s() > until_s:
            self._now_s = until_s
            return
        if self._due_s() > self._now_s:
            self._now_s = self._due_s()
            self._charge(RECEIVING, self._costs.turn_s)
        # What arrives while this is looked at waits for the next look.
        seen_s = self._now_s
        while self._arrivals and self._due_s() <= seen_s:
            arrival = heapq.heappop(self._arrivals)
            self._taken.extend((event, arrival.at_s) for event in self._receive(arrival))

    def _take(self) -> Event:
        """The next event, with what the coordinator will do with it."""
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
        """The coordinator's thread is busy for ``seconds``, and other threads of it for ``beside_s``."""
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
        """Let workers that share cores go on until the next answer comes, or until then."""
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
        """Fill the workers that have room from the queue."""
        for have in range(self._in_flight):
            share = self._queue.share(self._in_flight * len(self._slots), self._running)
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
        if isinstance(first, RoundJob):
            key = first.snapshot.key
            if key not in self._published:
                self._published.add(key)
                self._charge(SNAPSHOTS, (costs.round_s if key else 0.0) + costs.publish_s)
            if slot.snapshot != key:
                slot.snapshot = key
                call_s += costs.fetch_s
                travel_s += self._way_s
        self._charge(SENDING, costs.send_s + costs.call_job_s * (len(jobs) - 1), costs.beside_call_s)
        self.calls += 1
        slot.bundles += 1
        self._running += len(jobs)
        slot.status.state = "busy"
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
        """A worker has a bundle from then until then: its answer, or the news that there will be none."""
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

    def _duration_s(self, slot: _Slot, job: Task) -> float:
        simulations = job.simulations
        if isinstance(job, GrowJob):
            have = slot.pieces.get(job.lane, 0)
            simulations = sum(job.sizes[have:]) if have < len(job.sizes) else sum(job.sizes)
            slot.pieces[job.lane] = len(job.sizes)
        mean_s = self._costs.job_s + simulations * self.simulation_s
        spread = self._costs.job_spread
        if spread > 0:
            # Log-normal: times have a floor and a tail.
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
        simulations = sum(job.simulations for job in arrival.jobs)
        slot.status.simulations += simulations
        if arrival.busy_s > 0:
            slot.rate = simulations / arrival.busy_s
        if not slot.bundles:
            slot.status.state = "idle"
        self._charge(RECEIVING, self._costs.receive_s)
        return [JobDone(self._worker.run(self._context, job)) for job in arrival.jobs]

    def _lose(self, arrival: _Arrival) -> list[Event]:
        """A process died: what it was given is lost, and what it kept."""
        slot = arrival.slot
        behind = [a for a in self._arrivals if a.slot is slot and a.generation == slot.generation]
        slot.generation += 1
        slot.bundles = 0
        slot.pieces.clear()
        slot.snapshot = -1
        slot.status.restarts += 1
        slot.free_s = self._now_s - self._slip_s + self._mishaps.restart_s
        lost = [job for a in (arrival, *sorted(behind)) for job in a.jobs]
        self._running -= len(lost)
        return [JobLost(job.index, "its worker died") for job in lost]
