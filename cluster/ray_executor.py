"""The executor over Ray: the only file that knows Ray.

What is sent: a bundle of jobs a call, because a call costs the same whatever it carries
(4 ms of CPU, driver and worker together); the snapshot that jobs start from goes into the
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
import secrets
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from cluster.executor import (
    DEFAULT_JOB_TIMEOUT_S,
    Event,
    JobDone,
    JobFailed,
    JobLost,
    Outcome,
    Task,
    TaskWorker,
    WorkerStatus,
)
from cluster.job_queue import BUNDLE_S, IN_FLIGHT, JobQueue
from cluster.ray_address import check_address
from cluster.ray_slots import Bundle, Process, Slot
from cluster.resources import ONE_CPU, Resources
from games.errors import InvalidInput
from search.job import GrowJob, RoundJob, Snapshot
from search.statistics import Statistics, lone_root
from search.worker import Worker

# Ray reads these when it is imported. A user's own settings win.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
os.environ.setdefault("RAY_AUTH_MODE", "token")
# Of several jobs that raise, the first ends it all; Ray would write about the others.
os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")

import ray
import ray.exceptions
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

READY_S = 120.0
"""How long a worker may take to start: its process, its imports, and perhaps to compile kernels."""
START_S = 10.0
"""How long a worker that has served a search may take to get ready for another, beyond a job's time."""
MAX_RESTARTS_IN_A_ROW = 5
"""A slot whose workers die this often without finishing a job is given up."""
OBJECT_STORE_BYTES = 200 * 2**20
"""Of an embedded Ray: snapshots of half a megabyte, a few at a time."""


class _Actor:
    """What runs in a worker process."""

    def __init__(self, make_worker: Callable[[], TaskWorker]) -> None:
        self._worker = make_worker()
        self._snapshot: tuple[str, Snapshot] | None = None

    def prepare(self, context: Any) -> tuple[int, str]:
        """Load what the search needs; the process id and the node it runs on."""
        self._worker.prepare(context)
        return os.getpid(), ray.get_runtime_context().get_node_id()

    def run(self, context: Any, statistics: Statistics | None, jobs: list[Task]) -> list[Outcome]:
        """Run the jobs in their order; RoundJobs get the snapshot that came beside them."""
        results = []
        for job in jobs:
            if isinstance(job, RoundJob) and statistics is not None:
                job = replace(job, snapshot=self._writable(context, job.snapshot.key, statistics))
            results.append(self._worker.run(context, job))
        return results

    def _writable(self, context: Any, key: int, statistics: Statistics) -> Snapshot:
        # What comes out of the object store is read-only, which is another type to a compiled kernel.
        if self._snapshot is None or self._snapshot[0] != context.search_id or self._snapshot[1].key != key:
            copied = Statistics._make(column.copy() for column in statistics)
            self._snapshot = (context.search_id, Snapshot(key, copied))
        return self._snapshot[1]


class RayExecutor:
    """A fixed number of worker slots on an embedded Ray, or on the cluster at ``address``."""

    name = "ray"

    def __init__(
        self,
        workers: int | None,
        address: str | None = None,
        job_timeout_s: float = DEFAULT_JOB_TIMEOUT_S,
        make_worker: Callable[[], TaskWorker] = Worker,
        in_flight: int = IN_FLIGHT,
        resources: Resources = ONE_CPU,
    ) -> None:
        """See `make_executor`. Raises InvalidInput (address, workers, or what workers reserve)."""
        self._job_timeout_s = job_timeout_s
        self._in_flight = in_flight
        if address is None:
            _start_embedded(math.ceil((workers or 0) * resources.cpus))
        else:
            _connect(address)
        try:
            most = resources.workers_in([node["Resources"] for node in ray.nodes() if node["Alive"]])
            if workers is not None and workers > most:
                accepted = f"a whole number from 1 to {most} (what the cluster has room for)"
                raise InvalidInput("workers", workers, accepted)
        except InvalidInput:
            ray.shutdown()
            raise
        actor = ray.remote(**resources.actor_options(), max_restarts=0, max_task_retries=0)(_Actor)
        self._make_actor = partial(actor.remote, make_worker)
        self._all_slots = [Slot(WorkerStatus(slot=i)) for i in range(workers or most)]
        self._slots = self._all_slots
        self._retired: list[tuple[Process, float]] = []
        self._queue = JobQueue()
        self._published: dict[int, Any] = {}
        self._context_ref: Any = None
        self.calls = 0
        """Bundles sent since the beginning."""

    def use(self, workers: int) -> None:
        """Give jobs to the first ``workers`` slots only, from the next search on; the others stay, idle."""
        self.drop()
        self._slots = self._all_slots[:workers]

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
        self._check_deadlines()
        return len(self._retired)

    def open(self, context: Any) -> None:
        """Start the workers that are missing and wait until all can take jobs."""
        self._context_ref = ray.put(context)
        for slot in self._slots:
            slot.rate = 0.0
            slot.failures = 0
            if slot.process is None:
                self._start(slot)
            else:
                slot.process.starting = slot.process.actor.prepare.remote(self._context_ref)
                # It answers after what it still has of an older search; or it hangs.
                slot.process.ready_by_s = time.monotonic() + self._job_timeout_s + START_S
                slot.status.state = "starting"
        while any(slot.process is not None and slot.process.starting is not None for slot in self._slots):
            self._poll(0.1)
            self._check_deadlines()
        self._check_alive()

    def submit(self, jobs: Iterable[Task]) -> None:
        self._queue.add(jobs)

    def wait(self, timeout_s: float) -> list[Event]:
        self._dispatch()
        events = self._poll(timeout_s)
        events.extend(self._check_deadlines())
        if not events:
            self._check_alive()
        self._dispatch()
        return events

    def drop(self) -> None:
        """Forget all jobs. What runs is not interrupted: it lasts a fraction of a second, and is ignored."""
        self._queue.clear()
        self._published.clear()
        for slot in self._slots:
            if slot.process is not None:
                slot.process.bundles.clear()
                slot.status.state = "idle" if slot.process.starting is None else "starting"

    def close(self) -> None:
        """End all workers, and the embedded Ray if it is ours."""
        self._slots = self._all_slots
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
        for process, _ in self._retired:
            self._kill(process)
        self._retired.clear()
        self._context_ref = None
        ray.shutdown()

    def _start(self, slot: Slot) -> None:
        actor = self._make_actor()
        slot.process = Process(actor, actor.prepare.remote(self._context_ref), time.monotonic() + READY_S)
        slot.status.state = "starting"

    def _dispatch(self) -> None:
        """Fill the workers that have room from the queue."""
        for _ in range(self._in_flight):
            # One size for all, so that workers that start together end together.
            share = self._queue.share(self._in_flight * len(self._slots))
            for slot in self._slots:
                process = slot.process
                if process is None or process.starting is not None or len(process.bundles) >= self._in_flight:
                    continue
                jobs = self._queue.take(slot.status.slot, len(self._slots), share, slot.rate * BUNDLE_S)
                if jobs:
                    self._send(slot, process, jobs)

    def _send(self, slot: Slot, process: Process, jobs: list[Task]) -> None:
        snapshot_ref = None
        first = jobs[0]
        if isinstance(first, RoundJob):
            key = first.snapshot.key
            if key not in self._published:
                # Older snapshots are needed only by jobs that were lost; they are put again then.
                self._published = {k: v for k, v in self._published.items() if k > key - 8}
                self._published[key] = ray.put(first.snapshot.statistics)
            snapshot_ref = self._published[key]
        ref = process.actor.run.remote(self._context_ref, snapshot_ref, [_stripped(job) for job in jobs])
        self.calls += 1
        process.bundles[ref] = Bundle(jobs)
        self._set_deadline(process)
        slot.status.state = "busy"

    def _set_deadline(self, process: Process) -> None:
        """Start the clock of the bundle at the head of the queue."""
        if process.bundles:
            head = next(iter(process.bundles.values()))
            if head.deadline_s is None:
                # A lane whose tree was lost is grown again from its first piece.
                pieces = sum(len(job.sizes) if isinstance(job, GrowJob) else 1 for job in head.jobs)
                head.deadline_s = time.monotonic() + self._job_timeout_s * (1 + pieces / 100)

    def _poll(self, timeout_s: float) -> list[Event]:
        """What the calls in flight have to say; blocks for ``timeout_s`` at most."""
        owners: dict[Any, tuple[Slot | None, Process]] = {}
        for slot in self._slots:
            if slot.process is not None:
                for ref in self._refs(slot.process):
                    owners[ref] = (slot, slot.process)
        for process, _ in self._retired:
            for ref in process.bundles:
                owners[ref] = (None, process)
        if not owners:
            time.sleep(min(timeout_s, 0.05))
            return []
        refs = list(owners)
        ready, rest = ray.wait(refs, num_returns=1, timeout=timeout_s, fetch_local=False)
        if ready and rest:
            ready += ray.wait(rest, num_returns=len(rest), timeout=0, fetch_local=False)[0]
        events: list[Event] = []
        for ref in sorted(ready, key=refs.index):
            owner, process = owners[ref]
            # The answer of a worker that was given up a moment ago, with its other calls.
            if owner is not None and owner.process is not process:
                continue
            events.extend(self._receive(owner, process, ref))
        return events

    @staticmethod
    def _refs(process: Process) -> list[Any]:
        return [process.starting] if process.starting is not None else list(process.bundles)

    def _receive(self, slot: Slot | None, process: Process, ref: Any) -> list[Event]:
        """The answer to one call."""
        try:
            answer = ray.get(ref)
        except ray.exceptions.RayTaskError as error:
            if slot is not None and ref == process.starting:
                raise error.as_instanceof_cause() from None
            bundle = process.bundles.pop(ref, None)
            cause = f"{type(error.cause).__name__}: {error.cause}"
            return [] if bundle is None else [JobFailed(bundle.jobs[0].index, cause)]
        except ray.exceptions.RayError as error:
            return self._lost(slot, process, type(error).__name__)
        if ref == process.starting:
            process.starting = None
            process.pid, process.node_id = answer
            if slot is not None:
                slot.status.alive = True
                slot.status.state = "idle"
            return []
        process.bundles.pop(ref, None)
        if slot is not None:
            self._set_deadline(process)
            self._note(slot, answer)
        return [JobDone(result) for result in answer]

    def _note(self, slot: Slot, results: list[Outcome]) -> None:
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

    def _lost(self, slot: Slot | None, process: Process, reason: str) -> list[Event]:
        """A worker died: its jobs are given back, its slot gets another."""
        jobs = [job for bundle in process.bundles.values() for job in bundle.jobs]
        process.bundles.clear()
        if slot is None:
            self._retired = [entry for entry in self._retired if entry[0] is not process]
            return []
        self._replace(slot)
        return [JobLost(job.index, reason) for job in jobs]

    def _replace(self, slot: Slot) -> None:
        slot.failures += 1
        slot.status.restarts += 1
        slot.status.alive = False
        slot.process = None
        if slot.failures <= MAX_RESTARTS_IN_A_ROW:
            self._start(slot)
        else:
            slot.status.state = "given up"

    def _check_deadlines(self) -> list[Event]:
        now = time.monotonic()
        events: list[Event] = []
        for slot in self._slots:
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
                jobs = [job for bundle in process.bundles.values() for job in bundle.jobs]
                self._retired.append((process, now + self._job_timeout_s))
                self._replace(slot)
                events.extend(JobLost(job.index, "its deadline passed") for job in jobs)
        for process, until_s in list(self._retired):
            if now > until_s or not process.bundles:
                self._kill(process)
                self._retired.remove((process, until_s))
        return events

    def _check_alive(self) -> None:
        if all(slot.process is None for slot in self._slots):
            raise ConnectionError("no worker could be kept alive")

    def _kill(self, process: Process) -> None:
        """End a worker process that may be stopped and hear nothing."""
        with contextlib.suppress(ray.exceptions.RayError, ValueError):
            ray.kill(process.actor, no_restart=True)
        if process.pid:
            if process.node_id == ray.get_runtime_context().get_node_id():
                _kill_pid(process.pid)
            else:
                strategy = NodeAffinitySchedulingStrategy(process.node_id, soft=False)
                ray.remote(_kill_pid).options(num_cpus=0, scheduling_strategy=strategy, max_retries=0).remote(
                    process.pid
                )


def _kill_pid(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _stripped(job: Task) -> Task:
    """The job without its snapshot, which travels through the object store."""
    if isinstance(job, RoundJob):
        return replace(job, snapshot=Snapshot(job.snapshot.key, lone_root()))
    return job


def _start_embedded(cpus: int) -> None:
    """Start a Ray of our own here, silent, with ``cpus`` at least. See `make_executor` for loopback."""
    # A token of its own, rather than one that Ray would write into the home folder. One for the
    # life of the process: Ray reads it once, so a second local Ray must ask for the same.
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    cpus = max(cpus, len(os.sched_getaffinity(0)))
    ray.init(
        address="local",
        num_cpus=cpus,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        object_store_memory=OBJECT_STORE_BYTES,
    )


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
