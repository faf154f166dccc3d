"""The simulated executor: runs a search on a virtual clock, as if it had any number of workers.

Coordinator, strategies, dispatcher and slots are those of a search on Ray, and so is what a worker's process
does with a call; only time, and the way of calls and answers, is simulated. Each action of the coordinator
advances the clock by its cost (there is one coordinator, so it can saturate), and each process, with a thread
for each of its workers, is busy with a bundle for the cost of its jobs. Results of jobs come from a real
worker (the search then gives its real answer) or from a null worker, when only time matters.
"""

from __future__ import annotations

import heapq
import itertools
import math
import pickle
import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any

from cluster.lab.predict.costs import Costs
from cluster.runtime.broadcast import Call
from cluster.runtime.queue import IN_FLIGHT
from cluster.runtime.tasks import Event, Executor, JobDone, Task
from cluster.runtime.worker_state import WorkerStatus
from cluster.runtime.workers import exactly
from cluster.workers.dispatcher import Dispatcher
from cluster.workers.process import pack_answer
from cluster.workers.slots import Process, Slot, Slots
from cluster.workers.worker_process import WorkerProcess
from search.job import Job, JobResult, RoundJob

SENDING, RECEIVING, MERGING, SNAPSHOTS, MAKING = "sending", "receiving", "merging", "snapshots", "making jobs"
COORDINATOR = (SENDING, RECEIVING, MERGING, SNAPSHOTS, MAKING)
"""Kinds of work of the coordinator's thread."""
WORKING, CALLS, WAITING = "simulations", "calls", "waiting"
"""Uses of the workers' time."""


class _TimedWorker:
    """A worker whose jobs take as long as the costs say; it knows the pieces of lanes that it has grown."""

    def __init__(self, worker: Any, duration_s: Callable[[int], float]) -> None:
        """``duration_s``: seconds of a job of that many simulations."""
        self._worker = worker
        self._duration_s = duration_s
        self._pieces: dict[int, int] = {}
        """Strategy root: number of pieces grown in each lane's tree, by lane."""
        self.threads = 1
        self.ran = 0
        """Number of jobs of the last call."""
        self.busy_s = [0.0]
        """How long each thread has had jobs of the last call."""

    def begin_call(self) -> None:
        self.busy_s, self.ran = [0.0] * self.threads, 0

    def prepare(self, context: Any) -> None:
        self._worker.prepare(context)

    def run(self, context: Any, job: Job) -> JobResult:
        simulations = job.simulations
        if job.lane is not None and (pieces := job.pieces):
            have = self._pieces.get(job.lane, 0)
            simulations = sum(pieces[have:] if have < len(pieces) else pieces)
            self._pieces[job.lane] = len(pieces)
        duration_s = self._duration_s(simulations)
        if job.divided or (isinstance(job, RoundJob) and not context.hidden):
            self.busy_s = [each + duration_s / self.threads for each in self.busy_s]
        else:
            self.busy_s[self.busy_s.index(min(self.busy_s))] += duration_s
        done: JobResult = self._worker.run(context, job)
        self.ran += done.jobs
        return replace(done, duration_s=duration_s)

    def together(self, context: Any, jobs: Sequence[Job], threads: int, sent: bool) -> Job | None:
        found: Job | None = self._worker.together(context, jobs, threads, sent)
        return found

    def hand_over(self, context: Any, lane: int) -> int | None:
        return self._pieces.pop(lane, None)

    def take_over(self, context: Any, lane: int, pieces: int) -> None:
        self._pieces[lane] = pieces


@dataclass(eq=False)
class _Actor:
    """A simulated process of a worker."""

    worker: _TimedWorker
    process: WorkerProcess
    free_s: float = 0.0
    """When it has done all its work, on the clock without slip."""
    calls: int = 0
    """Bundles that it has not answered."""


@dataclass(eq=False)
class _Put:
    """Bytes that are sent once for many calls."""

    data: bytes
    published: bool = False


@dataclass(order=True)
class _Answer:
    """An answer of a process to a call."""

    at_s: float
    number: int
    actor: int = field(compare=False)
    call: Future[bytes] = field(compare=False)
    data: bytes = field(compare=False)
    busy_s: float | None = field(compare=False, default=None)
    """Duration of its jobs; None where the call has none."""
    call_s: float = field(compare=False, default=0.0)
    """Time of the worker for the call itself."""


class SimulatedExecutor(Executor):
    """An executor with simulated workers. Its session must use `clock`."""

    name, threads_here = "simulated", 0
    address: str | None = None

    def __init__(
        self,
        workers: int,
        costs: Costs,
        worker: Any,
        *,
        shared_cores: int | None = None,
        cores: int = 1,
        together: bool = True,
        seed: int = 0,
    ) -> None:
        """``worker``: one that can join jobs. ``shared_cores``: number of cores, no fewer than workers, of
        the one machine on which everything runs; None: each worker and the coordinator have their own core,
        on machines of ``cores``. ``together``: whether the workers of a machine are one process."""
        self._costs, self._worker = costs, worker
        self._random = random.Random(seed)
        self._now_s = 0.0
        self._actors: dict[int, _Actor] = {}
        each = shared_cores or cores
        self._crew = Slots(
            exactly(workers),
            workers,
            math.inf,
            self._start,
            kill=lambda process: None,
            crowded=lambda: False,
            clock=self.clock,
            rooms=lambda: {str(machine): each for machine in range(-(-workers // each))},
        )
        self._crew.together = together
        self.dispatcher = Dispatcher(self, self._crew, None, IN_FLIGHT, lambda: None)
        self._answers: list[_Answer] = []
        """A heap of the answers that are under way."""
        self._numbers = itertools.count()
        """Of actors, and of answers."""
        self._snapshots = 0
        """How many have been published."""
        self._robbed = 0.0
        """Share of a second that a worker loses for a second of the coordinator, which uses its core."""
        if shared_cores is not None:
            self._robbed = max(0.0, (workers + 1 - shared_cores) / workers)
        self._slip_s = 0.0
        """Delay of all workers because the coordinator used a core of theirs."""
        self._way_s = 0.0
        """Travel time of a snapshot to a worker; each machine that has it forwards it to another one."""
        if shared_cores is None:
            hops = math.ceil(math.log2(workers / cores + 1))
            self._way_s = hops * costs.snapshot_bytes / costs.link_bytes_per_s
        crowded = shared_cores is None or workers == shared_cores
        self.simulation_s = costs.crowded_simulation_s if crowded else costs.simulation_s
        """Time of one simulation on a worker."""
        self.spent = dict.fromkeys((WORKING, CALLS, *COORDINATOR), 0.0)
        """Seconds of all workers, and of the coordinator's thread."""
        self._received: deque[Event] = deque()
        """Events of the last look. The session gets one at a time."""

    @property
    def coordinator_s(self) -> float:
        """Seconds in which the coordinator's thread was busy."""
        return sum(self.spent[part] for part in COORDINATOR)

    @property
    def num_workers(self) -> int:
        return len(self._crew.used)

    @property
    def workers(self) -> list[WorkerStatus]:
        return [slot.status for slot in self._crew.used]

    def clock(self) -> float:
        """Virtual seconds since the beginning."""
        return self._now_s

    def use(self, workers: int) -> None:
        """Give jobs to this number of workers only."""
        self._crew.use(workers)

    def open(self, context: Any) -> None:
        self.dispatcher.open(context)
        self._crew.refill()
        self._receive()

    def submit(self, tasks: Iterable[Task]) -> None:
        tasks = list(tasks)
        self.dispatcher.submit(tasks)
        self._charge(MAKING, self._costs.make_s * len(tasks))

    def wait(self, timeout_s: float) -> list[Event]:
        if not self._received:
            self.dispatcher.settle()
            self.dispatcher.dispatch()
            self._look(timeout_s)
        if not self._received:
            self._crew.check_alive()
            return []
        return [self._take()]

    def drop(self) -> None:
        self.dispatcher.drop()
        self._crew.running = 0
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
        self._receive()

    def _due_s(self) -> float:
        """The time of the next answer; infinity if none is under way."""
        return self._answers[0].at_s + self._slip_s if self._answers else math.inf

    def _take(self) -> Event:
        """The next event; charges the coordinator's work on it."""
        event = self._received.popleft()
        if isinstance(event, JobDone):
            self._charge(MERGING, self._costs.merge_s(event.result.jobs))
        return event

    def _charge(self, part: str, seconds: float, beside_s: float = 0.0) -> None:
        """Advance the clock: the coordinator's thread works ``seconds``, its other threads ``beside_s``."""
        self.spent[part] += seconds
        self._now_s += seconds
        self._slip_s += (seconds + beside_s) * self._robbed

    def _start(self, slots: list[Slot], machine: str) -> Process:
        """Start a process, at once."""
        number = next(self._numbers)
        one = _TimedWorker(self._worker, self._duration_s)
        self._actors[number] = _Actor(one, WorkerProcess(lambda: one, clock=lambda: max(one.busy_s)))
        process = Process(number, None, math.inf, now_s=self.clock)
        process.slots = slots
        process.preparing = self.dispatcher.prepare(process)
        return process

    def put(self, data: bytes) -> _Put:
        """What the dispatcher calls instead of Ray's process."""
        return _Put(data)

    def call(self, actor: int, method: str, *arguments: Any) -> Future[bytes]:
        """What the dispatcher calls instead of Ray's process. What the answer is, is found at once; it comes
        when the costs say."""
        called, answer = self._actors[actor], Future[bytes]()
        if method == "run_call":
            self._answer_later(actor, called, answer, *arguments)
            return answer
        given = [each.data if isinstance(each, _Put) else each for each in arguments]
        if method == "prepare":
            # Its threads are simulated too.
            called.worker.threads, given[0] = arguments[0], 1
        data = pack_answer(lambda: getattr(called.process, method)(*given))
        at_s = called.free_s if method == "prepare" else self._now_s - self._slip_s + self._costs.latency_s
        heapq.heappush(self._answers, _Answer(at_s, next(self._numbers), actor, answer, data))
        return answer

    def _answer_later(
        self, number: int, actor: _Actor, answer: Future[bytes], packed: bytes, *values: _Put
    ) -> None:
        """Send a bundle; determines when the worker runs it, and whether the worker dies meanwhile."""
        costs, worker = self._costs, actor.worker
        call_s, travel_s = costs.worker_call_s, costs.latency_s / 2
        head: Call = pickle.load(BytesIO(packed))
        if head.brings_common:
            if not values[-1].published:
                values[-1].published = True
                self._charge(MAKING, costs.plan_s)
                # The first snapshot costs no round: its tree has no visits.
                self._charge(SNAPSHOTS, (costs.round_s if self._snapshots else 0.0) + costs.publish_s)
                self._snapshots += 1
            call_s += costs.fetch_s
            travel_s += self._way_s
        worker.begin_call()
        data = pack_answer(lambda: actor.process.run_call(packed, *(value.data for value in values)))
        self._charge(SENDING, costs.send_s + costs.call_job_s * (worker.ran - 1), costs.beside_call_s)
        actor.calls += 1
        began_s = max(actor.free_s, self._now_s - self._slip_s + travel_s)
        ended_s = began_s + call_s + max(worker.busy_s)
        actor.free_s = ended_s
        arrives = _Answer(ended_s + costs.latency_s / 2, next(self._numbers), number, answer, data)
        arrives.busy_s, arrives.call_s = sum(worker.busy_s), call_s * worker.threads
        heapq.heappush(self._answers, arrives)

    def _duration_s(self, simulations: int) -> float:
        """Seconds of a job of that many simulations."""
        mean_s = simulations * self.simulation_s
        spread = self._costs.job_spread
        if spread > 0:
            # Log-normal: durations have a lower limit and a tail.
            sigma = math.sqrt(math.log1p(spread * spread))
            mean_s *= self._random.lognormvariate(-sigma * sigma / 2, sigma)
        return mean_s

    def _receive(self) -> None:
        """Hear the answers that have arrived; those that arrive meanwhile wait for the next look."""
        look_s = self._now_s
        while self._due_s() <= look_s:
            answer = heapq.heappop(self._answers)
            if answer.busy_s is not None:
                self._actors[answer.actor].calls -= 1
                self.spent[WORKING] += answer.busy_s
                self.spent[CALLS] += answer.call_s
                self._charge(RECEIVING, self._costs.receive_s)
            answer.call.set_result(answer.data)
            self._received.extend(self.dispatcher.hear(0.0))
