"""The executor over Ray: the only file that knows Ray.

What is sent: a bundle of jobs a call, because a call costs the same whatever it carries
(4 ms of CPU, driver and worker together); what jobs share (shared_parts.py) goes into the
object store once and is passed by reference. What comes back: one result for each job.
Two bundles are in flight for each worker, so that it never waits for the driver.

Who remembers what: a worker's memory is a cache (search/worker.py). Ray neither restarts
actors nor retries calls here (max_restarts=0, max_task_retries=0): it would run jobs again
out of our sight, and a restarted actor answers only after seconds. A dead worker is
noticed by the error that its calls raise, within milliseconds. A worker that hangs (or is
stopped, or cut off) raises nothing: each bundle has a deadline, counted from when it is at
the head of its worker's queue. When it passes, the bundle's jobs are given back, the slot gets a
new worker, and the old one is watched for as long again: what it still delivers is passed
on, and the coordinator drops what is no longer pending. Then it is killed.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import pickle
import secrets
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

from cluster import ray_folder
from cluster.elasticity import GIVE_BACK_S, Elasticity
from cluster.executor import (
    DEFAULT_JOB_TIMEOUT_S,
    Event,
    JobDone,
    JobFailed,
    Outcome,
    Task,
    TaskWorker,
    WorkerStatus,
)
from cluster.inbox import Inbox
from cluster.job_queue import BUNDLE_S, IN_FLIGHT, JobQueue, Queue, lane_of
from cluster.lane_homes import LaneHomes
from cluster.processes import kill
from cluster.ray_address import check_address
from cluster.ray_slots import LATECOMER_S, READY_S, Bundle, Process, Slot, Slots
from cluster.resources import ONE_CPU, Resources
from cluster.shared_parts import Published, part_key, part_of, without_part
from cluster.worker_process import WorkerProcess, pack
from cluster.workers import AUTO, Workers, exactly
from games.errors import InvalidInput
from search.worker import Worker

# Ray reads these when it is imported. A user's own settings win.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
os.environ.setdefault("RAY_AUTH_MODE", "token")
# Of several jobs that raise, the first ends it all; Ray would write about the others.
os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")
# What Ray has to say of machines that leave would go to standard output.
os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
# What a bundle by tree returns, 35 to 280 kilobytes a job, mostly comes back without the object store.
os.environ.setdefault("RAY_max_direct_call_object_size", str(2**20))

import ray
import ray.exceptions
from ray.autoscaler.sdk import request_resources
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

FEW = 2
"""So many workers get what jobs share with their calls: a millisecond sooner than by the object store."""
CHECK_S = 0.05
"""How often deadlines are looked at: all workers are looked at for it."""
START_S = 10.0
"""How long a worker that has served a search may take to get ready for another, beyond a job's time."""
OBJECT_STORE_BYTES = 200 * 2**20
"""Of an embedded Ray: snapshots of one to eighteen megabytes, a few at a time."""


class _Actor(WorkerProcess):
    """A worker process as Ray runs it."""

    def where(self, context: Any) -> tuple[int, str]:
        """Get ready for a search; the process id and the node it runs on."""
        return self.prepare(context), ray.get_runtime_context().get_node_id()


class RayExecutor:
    """Worker slots on an embedded Ray, or on the cluster at ``address``, whose machines they follow."""

    name = "ray"

    def __init__(
        self,
        workers: Workers = AUTO,
        address: str | None = None,
        job_timeout_s: float = DEFAULT_JOB_TIMEOUT_S,
        make_worker: Callable[[], TaskWorker] = Worker,
        in_flight: int = IN_FLIGHT,
        resources: Resources = ONE_CPU,
        queue: Queue | None = None,
        standing: bool = False,
    ) -> None:
        """See `make_executor`. Raises InvalidInput (address, workers, or what workers reserve)."""
        self._standing = standing
        self._job_timeout_s = job_timeout_s
        self.in_flight = in_flight
        self.few = FEW
        """0 has everything that jobs share go by the object store, as it does for more workers."""
        self._folder: Path | None = None
        if address is None:
            self._folder = _start_embedded(math.ceil(workers.least * resources.cpus))
        else:
            _connect(address)
        try:
            # A cluster that has no CPU for workers yet may get some; one without GPUs is refused at once.
            grows = address is not None and not workers.fixed and not (resources.gpus or resources.others)
            room = resources.room_in(_machines()) if grows else resources.workers_in(_machines())
            if workers.fixed and workers.least > room:
                accepted = f"a whole number from 1 to {room} (what the cluster has room for), or a range"
                raise InvalidInput("workers", workers.said, f"{accepted} such as 1..{workers}")
        except InvalidInput:
            ray.shutdown()
            ray_folder.remove(self._folder)
            raise
        if address is None:
            workers = exactly(max(workers.least, workers.within(room)))
        actor = ray.remote(**resources.actor_options(), max_restarts=0, max_task_retries=0)(_Actor)
        self._make_actor = partial(actor.remote, make_worker, standing)
        self._crew = Slots(
            workers, room, job_timeout_s, self._start, self._kill, partial(_crowded, resources)
        )
        self._elasticity: Elasticity | None = None
        if address is not None:
            ask = partial(_ask_autoscaler, resources)
            give_back_s = GIVE_BACK_S if standing else math.inf
            self._elasticity = Elasticity(
                workers, self._crew, lambda: resources.room_in(_machines()), ask, give_back_s
            )
        self._homes = LaneHomes()
        # One that is empty is false.
        self._queue: Queue = JobQueue(self._homes) if queue is None else queue
        self._inbox: Inbox[tuple[Slot, Process]] = Inbox()
        self._roomy: dict[int, Slot] = {}
        """By number, the slots that can take a bundle; and perhaps some that no longer can."""
        self._hands = 1
        """Workers that can take jobs; at least 1."""
        self._moving: dict[Any, tuple[int, Process]] = {}
        """Calls that fetch the tree of a lane that moves: the lane, and who has it."""
        self._published = Published(ray.put)
        """By key, the one that was used last at the end."""
        self._context_ref: Any = None
        self.calls = 0
        """Bundles sent since the beginning."""

    def use(self, workers: int) -> None:
        """Give jobs to the first ``workers`` slots only, from the next search on; the others stay, idle."""
        self.drop()
        self._crew.use(workers)

    @property
    def _slots(self) -> list[Slot]:
        return self._crew.used

    @property
    def num_workers(self) -> int:
        return len(self._slots)

    @property
    def workers(self) -> list[WorkerStatus]:
        return [slot.status for slot in self._slots]

    def worker_pids(self) -> list[int]:
        """Process ids of the live workers, slot by slot (0 where there is none)."""
        return [slot.process.pid if slot.process else 0 for slot in self._slots]

    def poll_retired(self) -> int:
        """How many workers that were given up are still to be ended; looks after them."""
        self._poll(0.0)
        self._crew.check_deadlines()
        return len(self._crew.retired)

    def open(self, context: Any) -> None:
        """Start the workers that are missing and wait until all can take jobs, or enough of them."""
        began_s = time.monotonic()
        self._context_ref = ray.put(context)
        self._roomy.clear()
        for slot in self._slots:
            slot.rate = 0.0
            slot.failures = 0
            if slot.process is None:
                self._crew.fill(slot)
            else:
                process = slot.process
                process.starting = self._call(slot, process, process.actor.where, self._context_ref)
                process.part_key = None
                # It answers after what it still has of an older search; or it hangs.
                process.ready_by_s = time.monotonic() + self._job_timeout_s + START_S
                slot.status.state = "starting"
        self._crew.changed = True
        while not self._crew.opened(waited_s := time.monotonic() - began_s):
            if self._standing and (waited_s > LATECOMER_S or not self._crew.starting):
                break
            self._follow()
            self._poll(0.1)
            self._crew.check_deadlines()

    def submit(self, jobs: Iterable[Task]) -> None:
        self._queue.add(jobs)

    def wait(self, timeout_s: float) -> list[Event]:
        self._follow()
        self._dispatch()
        for slot, process in self._crew.to_feel():
            process.bundles[self._call(slot, process, process.actor.pulse)] = Bundle([])
            self._crew.set_deadline(process)
        events = self._poll(timeout_s)
        events.extend(self._crew.check_deadlines(CHECK_S))
        if not events:
            self._crew.check_alive()
        self._dispatch()
        return events

    def drop(self) -> None:
        """Forget all jobs. What runs is not interrupted: it lasts a fraction of a second, and is ignored."""
        self._queue.clear()
        self._homes.clear()
        for call in self._moving:
            self._inbox.forget(call)
        self._moving.clear()
        self._published.clear()
        self._crew.running = 0
        if self._elasticity is not None:
            self._elasticity.withdraw()
        for slot in self._slots:
            if slot.process is not None:
                self._forget(slot.process)
                slot.status.state = "idle" if slot.process.starting is None else "starting"
                self._roomy[slot.status.slot] = slot
        for process, _ in self._crew.retired:
            self._forget(process)

    def _forget(self, process: Process) -> None:
        """What its bundles bring is nobody's: another search has jobs of the same numbers."""
        for call in process.bundles:
            self._inbox.forget(call)
        process.bundles.clear()

    def close(self) -> None:
        """End all workers, and the embedded Ray if it is ours."""
        self._crew.use(len(self._crew.all))
        late = [slot for slot in self._slots if slot.process is not None and slot.process.bundles]
        for slot in late:
            # It may hang; an idle one ends when its actor does.
            self._kill(slot.process)  # type: ignore[arg-type]
        self.drop()
        for slot in self._slots:
            if slot.process is not None:
                with contextlib.suppress(ray.exceptions.RayError, ValueError):
                    ray.kill(slot.process.actor, no_restart=True)
                slot.process = None
                slot.status.alive = False
        for process, _ in self._crew.retired:
            self._kill(process)
        self._crew.retired.clear()
        self._context_ref = None
        ray.shutdown()
        ray_folder.remove(self._folder)

    def _start(self, slot: Slot) -> Process:
        process = Process(self._make_actor(), None, time.monotonic() + READY_S)
        process.starting = self._call(slot, process, process.actor.where, self._context_ref)
        return process

    def _call(self, slot: Slot, process: Process, method: Any, *arguments: Any) -> Any:
        """Call a process, and expect its answer; what names the call."""
        ref = method.remote(*arguments)
        self._inbox.expect(ref, ref.future(), (slot, process))
        return ref

    def _follow(self) -> None:
        """Keep up with the machines that there are: workers, and the lanes that are theirs."""
        if self._elasticity is not None:
            # As many workers would have something to do.
            self._elasticity.follow(lambda: len(self._queue.lanes().union(map(lane_of, self._crew.jobs))))
        if self._crew.changed:
            self._crew.changed = False
            self._hands = max(1, len(self._crew.at_hand))
            for lane, number in self._queue.settle(self._crew.present, self._crew.at_hand):
                slot = self._crew.all[number]
                assert slot.process is not None
                call = self._call(slot, slot.process, slot.process.actor.hand_over, lane)
                self._moving[call] = (lane, slot.process)
            for call, (lane, process) in list(self._moving.items()):
                if all(slot.process is not process for slot in self._slots):
                    # Whoever had the tree has been given up.
                    self._inbox.forget(call)
                    self._homes.arrived(lane, None)
                    del self._moving[call]

    def _dispatch(self) -> None:
        """Fill the workers that have room from the queue."""
        for have in range(self.in_flight):
            if not len(self._queue) or not self._roomy:
                return
            # One size for all, so that workers that start together end together.
            share = self._queue.share(self.in_flight * self._hands, self._crew.running)
            for slot in list(self._roomy.values()):
                process, used = slot.process, slot.status.slot < len(self._slots)
                ready = process is not None and process.starting is None and used
                if process is None or not ready or len(process.bundles) >= self.in_flight:
                    del self._roomy[slot.status.slot]
                    continue
                # First those that have nothing to do.
                if len(process.bundles) > have or (have and not self._queue.early(process.jobs)):
                    continue
                jobs = self._queue.take(slot.status.slot, len(self._slots), share, slot.rate * BUNDLE_S)
                if jobs:
                    self._send(slot, process, jobs)

    def _send(self, slot: Slot, process: Process, jobs: list[Task]) -> None:
        key, part = part_key(jobs[0]), None
        if key is not None and process.part_key != key:
            # A service keeps in touch with the store, which goes with its Ray: so it hears of that.
            inline = self._hands <= self.few and not self._standing
            part = part_of(jobs[0]) if inline else self._published.reference(key, jobs[0])
            process.part_key = key
        sent = [without_part(self._homes.with_tree(job)) for job in jobs]
        call = self._call(slot, process, process.actor.run, part, pack(sent))
        self.calls += 1
        self._crew.running += len(jobs)
        process.bundles[call] = Bundle(jobs)
        self._crew.set_deadline(process)
        slot.status.state = "busy"

    def _poll(self, timeout_s: float) -> list[Event]:
        """What the calls in flight have to say; blocks for ``timeout_s`` at most."""
        events: list[Event] = []
        for (slot, process), call, answer in self._inbox.take(timeout_s):
            events.extend(self._receive(slot, process, call, answer))
        return events

    def _receive(self, slot: Slot, process: Process, call: Any, answer: Future[Any]) -> list[Event]:
        """The answer to one call."""
        # Of a worker that has been given up.
        late = slot.process is not process
        if call in self._moving:
            # Without its tree the lane is grown again.
            self._homes.arrived(self._moving.pop(call)[0], None if answer.exception() else answer.result())
            return []
        if call not in process.bundles and (late or call != process.starting):
            return []
        try:
            value = answer.result()
        except ray.exceptions.RayTaskError as error:
            if call == process.starting:
                raise error from None
            jobs = process.bundles.pop(call).jobs
            self._crew.running -= 0 if late else len(jobs)
            return [JobFailed(jobs[0].index, f"{type(error.cause).__name__}: {error.cause}")]
        except ray.exceptions.RayError as error:
            return self._crew.lost(None if late else slot, process, type(error).__name__)
        if call == process.starting:
            process.starting = None
            process.pid, process.node_id = value
            self._roomy[slot.status.slot] = slot
            self._crew.ready(slot)
            return []
        del process.bundles[call]
        results: list[Outcome] = pickle.loads(value)
        if not late:
            self._roomy[slot.status.slot] = slot
            self._crew.set_deadline(process)
            self._crew.done(slot, results)
        return [JobDone(result) for result in results]

    def _kill(self, process: Process) -> None:
        """End a worker process that may be stopped and hear nothing."""
        with contextlib.suppress(ray.exceptions.RayError, ValueError):
            ray.kill(process.actor, no_restart=True)
        if process.pid:
            if process.node_id == ray.get_runtime_context().get_node_id():
                kill({process.pid})
            else:
                strategy = NodeAffinitySchedulingStrategy(process.node_id, soft=False)
                end = ray.remote(kill).options(num_cpus=0, scheduling_strategy=strategy, max_retries=0)
                end.remote({process.pid})


def _machines() -> list[dict[str, float]]:
    """What each machine of the cluster has, by Ray's names."""
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def _crowded(resources: Resources) -> bool:
    """Whether others have what one more worker would need."""
    return resources.room_in([ray.available_resources()]) == 0


def _ask_autoscaler(resources: Resources, workers: int) -> None:
    """Have it bring the cluster to room for so many (0: for none). Nobody listens where there is none."""
    # A head that does not answer just now is no reason to end a search.
    with contextlib.suppress(ray.exceptions.RayError):
        request_resources(bundles=[resources.bundle()] * workers)


def _start_embedded(cpus: int) -> Path:
    """Start a Ray of our own here (see `make_executor`), silent, with ``cpus`` at least; its folder."""
    # A token of its own, rather than one that Ray would write into the home folder. One for the
    # life of the process: Ray reads it once, so a second local Ray must ask for the same.
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    cpus = max(cpus, len(os.sched_getaffinity(0)))
    started = ray.init(
        address="local",
        num_cpus=cpus,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        object_store_memory=OBJECT_STORE_BYTES,
    )
    folder = Path(started.address_info["session_dir"])
    ray_folder.own(folder)
    ray_folder.remove_left(folder.parent)
    return folder


def _connect(address: str) -> None:
    """Join the Ray cluster at an address. Raises InvalidInput (address)."""
    token_file = Path(os.environ.get("RAY_AUTH_TOKEN_PATH", "~/.ray/auth_token")).expanduser()
    if "RAY_AUTH_TOKEN" not in os.environ and not token_file.exists():
        # In token mode Ray refuses to start without any; a cluster that asks for none takes this one.
        os.environ["RAY_AUTH_TOKEN"] = "none"
    check_address(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        accepted = f"the address of a running Ray cluster, such as 10.0.0.1:6379 or auto ({reason})"
        raise InvalidInput("address", address, accepted) from None
