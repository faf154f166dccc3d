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
from dataclasses import replace
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
from search.job import Job, JobResult, LaneJob

SENDING, RECEIVING, MERGING, SNAPSHOTS, MAKING = "sending", "receiving", "merging", "snapshots", "making jobs"
COORDINATOR = (SENDING, RECEIVING, MERGING, SNAPSHOTS, MAKING)
"""Kinds of work of the coordinator's thread."""
WORKING, CALLS, WAITING = "simulations", "calls", "waiting"
"""Uses of the workers' time."""


class _Actor:
    """A process of workers, and itself its worker: the results are those of another worker, and jobs take as
    long as the costs say."""

    def __init__(self, worker: Any, duration_s: Callable[[int], float]) -> None:
        """``worker`` makes the results; ``duration_s``: seconds of a job of that many simulations."""
        self._worker = worker
        self._duration_s = duration_s
        self._pieces: dict[int, int] = {}
        """Strategy root: number of pieces grown in each lane's tree, by lane."""
        self.process = WorkerProcess(lambda: self, clock=lambda: max(self.busy_s))
        self.free_s = 0.0
        """When it has done all its work, on the clock without slip."""
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
        if job.divided or (isinstance(job, LaneJob) and not context.hidden):
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


class SimulatedExecutor(Executor):
    """An executor with simulated workers, for one search. Its session must use `clock`."""

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
        self._crew.by_machine = together
        self.dispatcher = Dispatcher(self, self._crew, None, IN_FLIGHT, lambda: None)
        self._answers: list[tuple[float, int, Callable[[], None]]] = []
        """A heap of the answers that are under way: when each arrives, its number, and what it does then."""
        self._numbers = itertools.count()
        """Of answers."""
        self._puts = 0
        """Number of values that were sent once for many calls."""
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
        """Returns one event, so that the coordinator's work on it takes its time before the next."""
        if not self._received:
            self.dispatcher.settle()
            self.dispatcher.dispatch()
            self._look(timeout_s)
        if not self._received:
            return []
        event = self._received.popleft()
        if isinstance(event, JobDone):
            self._charge(MERGING, self._costs.merge_s(event.result.jobs))
        return [event]

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
        return self._answers[0][0] + self._slip_s if self._answers else math.inf

    def _charge(self, part: str, seconds: float, beside_s: float = 0.0) -> None:
        """Advance the clock: the coordinator's thread works ``seconds``, its other threads ``beside_s``."""
        self.spent[part] += seconds
        self._now_s += seconds
        self._slip_s += (seconds + beside_s) * self._robbed

    def _start(self, slots: list[Slot], machine: str) -> Process:
        """Start a process, at once."""
        process = Process(_Actor(self._worker, self._duration_s), None, math.inf, now_s=self.clock)
        process.slots = slots
        process.preparing = self.dispatcher.prepare(process)
        return process

    def put(self, data: bytes) -> bytes:
        """What the dispatcher calls instead of Ray's process: with the context first, then with snapshots."""
        if self._puts:
            self._charge(MAKING, self._costs.plan_s)
            # The first snapshot costs no round: its tree has no visits.
            round_s = self._costs.round_s if self._puts > 1 else 0.0
            self._charge(SNAPSHOTS, round_s + self._costs.publish_s)
        self._puts += 1
        return data

    def call(self, actor: _Actor, method: str, *arguments: Any) -> Future[bytes]:
        """What the dispatcher calls instead of Ray's process. The answer is computed at once, and arrives
        when the costs say."""
        answer = Future[bytes]()
        if method == "run_call":
            self._run_call(actor, answer, *arguments)
            return answer
        at_s = self._now_s - self._slip_s + self._costs.latency_s
        if method == "prepare":
            # Its threads are simulated too.
            actor.threads, *others = arguments
            arguments, at_s = (1, *others), actor.free_s
        data = pack_answer(lambda: getattr(actor.process, method)(*arguments))
        self._later(at_s, lambda: answer.set_result(data))
        return answer

    def _run_call(self, actor: _Actor, answer: Future[bytes], packed: bytes, *values: bytes) -> None:
        """Send a bundle; determines when the worker runs it."""
        costs = self._costs
        call_s, travel_s = costs.worker_call_s, costs.latency_s / 2
        head: Call = pickle.load(BytesIO(packed))
        if head.brings_common:
            call_s += costs.fetch_s
            travel_s += self._way_s
        actor.begin_call()
        data = pack_answer(lambda: actor.process.run_call(packed, *values))
        self._charge(SENDING, costs.send_s + costs.call_job_s * (actor.ran - 1), costs.beside_call_s)
        began_s = max(actor.free_s, self._now_s - self._slip_s + travel_s)
        actor.free_s = began_s + call_s + max(actor.busy_s)
        spent = {WORKING: sum(actor.busy_s), CALLS: call_s * actor.threads}

        def arrive() -> None:
            for part, seconds in spent.items():
                self.spent[part] += seconds
            self._charge(RECEIVING, costs.receive_s)
            answer.set_result(data)

        self._later(actor.free_s + costs.latency_s / 2, arrive)

    def _later(self, at_s: float, arrive: Callable[[], None]) -> None:
        """Let an answer arrive at this time, on the clock without slip."""
        heapq.heappush(self._answers, (at_s, next(self._numbers), arrive))

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
            _, _, arrive = heapq.heappop(self._answers)
            arrive()
            self._received.extend(self.dispatcher.hear(0.0))
