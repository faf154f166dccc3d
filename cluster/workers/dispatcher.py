"""Handing out tasks and hearing answers: bundles of jobs go to workers, and their answers become events.

A call carries a bundle of jobs, because its cost (3 to 4 ms of CPU in coordinator and worker together) hardly
depends on its content. Common parts (cluster/runtime/broadcast.py) are sent once to the process that is
connected to Ray (process.py), stored once in the object store, and passed by reference. Up to two bundles are
in flight for each process, so that its workers never wait; one if jobs are so short that these would be too
many calls.

Jobs that await something, such as a model server, are begun by one call and end in that or a later one
(cluster/workers/worker_process.py). As long as a worker has begun jobs, one call to it is in flight: with new
jobs if there are some, otherwise with none.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterable, Sized
from concurrent.futures import Future
from functools import partial
from typing import Any, Protocol

from cluster.runtime.broadcast import Call, Published, pack_call
from cluster.runtime.queue import BUNDLE_S, BundlesAhead, LaneAffinity, TaskQueue
from cluster.runtime.tasks import OPENED, Event, JobDone, JobFailed, Task, code_of_searches, keys_of
from cluster.runtime.worker_state import WorkerState
from cluster.workers.contexts import Inbox
from cluster.workers.process import RayEnded, Remote, WorkerLost, answer_of
from cluster.workers.slots import Bundle, Process, Slots

CONTEXT = "context"
"""First part of the keys of contexts among published values."""

Hear = Callable[[Future[Any]], list[Event]]
"""Handles the answer to a call, whose future also identifies the call; returns its events."""


class Calls(Protocol):
    """The part of `RayProcess` that carries calls."""

    address: str | None

    def put(self, data: bytes) -> Any: ...

    def call(self, actor: Any, method: str, *arguments: Any) -> Future[bytes]: ...


class Dispatcher:
    """The tasks of an executor: those that wait, and the calls that carry the others."""

    def __init__(
        self,
        ray: Calls,
        slots: Slots,
        queue: TaskQueue | None,
        in_flight: int,
        finished: Callable[[], None],
    ) -> None:
        """``in_flight``: bundles for each process. ``finished`` is called when a job has returned."""
        self.ray = ray
        self.ahead = BundlesAhead(in_flight)
        """Decides how many bundles each worker has."""
        self._bundles = in_flight
        """Bundles for each process at the moment."""
        self._slots = slots
        self._finished = finished
        self._affinity = LaneAffinity()
        # No `or` here: an empty queue is false.
        self._queue = TaskQueue(self._affinity) if queue is None else queue
        self._inbox: Inbox[tuple[Process, Hear]] = Inbox()
        self._not_full: dict[Process, None] = {}
        """Processes that may have room for a bundle; some may be full already."""
        self._hands = 1
        """Number of workers that can take jobs; at least 1."""
        self._processes = 1
        """Number of processes that run the workers."""
        self._settled = -1
        """Number of changes in the log of workers when lanes were last assigned."""
        self._moving: dict[Any, tuple[int, Process]] = {}
        """Calls that fetch the state of a moving lane: by call, the lane and the process that has the
        state."""
        self._published = Published(self._put)
        self._contexts: dict[int, Any] = {}
        """Contexts of tasks by key."""
        self.calls = 0
        """Number of bundles sent."""

    def open(self, context: Any) -> None:
        """Forget all contexts but this one, for which workers are prepared; None: forget all of them."""
        self._contexts = {} if context is None else {OPENED: context}
        self.forget_ray()
        self.ahead.clear()
        self._settled = -1

    def add_context(self, key: int, context: Any) -> None:
        self._contexts[key] = context
        self._published.forget((CONTEXT, key))

    def forget_context(self, key: int) -> None:
        self._contexts.pop(key, None)
        self._published.forget((CONTEXT, key))

    def submit(self, tasks: Iterable[Task]) -> None:
        self._queue.add(tasks)

    def drop(self) -> None:
        """Forget all tasks and the answers to their calls."""
        self._queue.clear()
        self._stop_moving(list(self._moving))
        self._affinity.clear()
        self._published.clear()
        for process in self._slots.processes:
            self._forget(process)
            process.rest()
            self._not_full[process] = None
        for process, _ in self._slots.retired:
            self._forget(process)

    def forget_ray(self) -> None:
        """Forget the values stored in Ray, and wait no longer for states of moving lanes."""
        self._stop_moving(list(self._moving))
        self._published.clear()
        self._not_full.clear()

    def _forget(self, process: Process) -> None:
        """Ignore the results of a process's bundles: job numbers repeat in the next search."""
        if process.at_once > 1 and not process.idle:
            # Begun jobs would go on; those that only run end soon.
            self.ray.call(process.actor, "stop")
        for call in process.bundles:
            self._inbox.forget(call)
        process.forget()

    def prepare(self, process: Process) -> Future[bytes]:
        """Make a process load the context that the executor was opened with; returns the call's future."""
        process.contexts, process.common_key = {OPENED} & self._contexts.keys(), None
        process.threads = max(1, sum(slot.status.slot < len(self._slots.used) for slot in process.slots))
        hear = partial(self._prepared, process)
        return self._call(process, hear, "prepare", process.threads, self._context_reference(OPENED))

    def _context_reference(self, key: int) -> Any:
        return self._published.reference((CONTEXT, key), self._contexts.get(key))

    def _call(self, process: Process, hear: Hear, method: str, *arguments: Any) -> Future[bytes]:
        """Call a method of a process and expect its answer; the returned future identifies the call."""
        answer = self.ray.call(process.actor, method, *arguments)
        process.slots[0].status.out_bytes += sum(len(each) for each in arguments if isinstance(each, Sized))
        self._inbox.expect(answer, (process, hear))
        return answer

    def _put(self, part: Any) -> Any:
        return self.ray.put(pickle.dumps(part, pickle.HIGHEST_PROTOCOL))

    def check_health(self) -> None:
        """Call idle workers whose health check is due, and those that have begun jobs, for the outcomes."""
        for process in self._slots.to_call():
            self._send(process, [])

    def settle(self) -> None:
        """Assign lanes to the present workers, if the workers have changed."""
        if self._settled == self._slots.log.total:
            return
        self._settled = self._slots.log.total
        self._hands = max(1, len(self._slots.at_hand))
        for lane, before, after in self._queue.settle(self._slots.present, self._slots.at_hand):
            process = self._slots.all[before].process
            assert process is not None
            if process is self._slots.all[after].process:
                self._affinity.arrived(lane, None)
                continue
            call = self._call(process, self._lane_arrived, "hand_over", OPENED, lane)
            self._moving[call] = (lane, process)
        here = self._slots.processes
        self._processes = len(here)
        self._stop_moving([call for call, (_, process) in self._moving.items() if process not in here])

    def _stop_moving(self, calls: list[Any]) -> None:
        """Let the lanes of these calls move without their states: the process that has them has gone."""
        for call in calls:
            self._inbox.forget(call)
            self._affinity.arrived(self._moving.pop(call)[0], None)

    def num_lanes(self) -> int:
        """Number of workers that could be busy: lanes with waiting or running jobs."""
        return len(self._queue.lanes().union(task.lane_key for task in self._slots.jobs))

    def dispatch(self) -> None:
        """Send bundles from the queue to workers that have room."""
        self._bundles = self.ahead.number(len(self._queue) + self._slots.running, self._hands)
        for have in range(self._bundles):
            if not len(self._queue) or not self._not_full:
                return
            # One bundle size for all, so that workers that start together end together.
            bundles = self._bundles * self._hands
            most = self._queue.bundle_size(bundles, self._processes, self._slots.running)
            for process in list(self._not_full):
                used = process.slots[0].status.slot < len(self._slots.used)
                if not (process.current and used and process.ready and self._has_room(process)):
                    del self._not_full[process]
                    continue
                # Idle workers come first.
                if len(process.bundles) > have or (have and not self._queue.early(process.jobs)):
                    continue
                jobs = self._take(process, most)
                if jobs:
                    self._send(process, jobs)

    def _has_room(self, process: Process) -> bool:
        if process.at_once > 1:
            return not process.bundles and len(process.begun) < process.at_once
        return len(process.bundles) < self._bundles

    def _take(self, process: Process, most: float) -> list[Task]:
        """The next bundle for a process: as many jobs as it can begin, but no more than its part of all jobs;
        otherwise ``most`` for each of its workers."""
        work = process.rate * BUNDLE_S * process.threads
        if process.at_once > 1:
            part = -(-(len(self._queue) + self._slots.running) // self._hands)
            most = min(process.at_once, part) - len(process.begun)
            work = math.inf
        numbers = [slot.status.slot for slot in process.slots[: process.threads]]
        return self._queue.take(numbers, len(self._slots.used), most * process.threads, work)

    def _send(self, process: Process, jobs: list[Task]) -> None:
        brings = tuple(sorted({task.context for task in jobs} - process.contexts))
        process.contexts.update(brings)
        values = [self._context_reference(key) for key in brings]
        common = jobs[0].common if jobs else None
        brings_common = common is not None and process.common_key != jobs[0].common_key
        if common is not None and brings_common:
            process.common_key = jobs[0].common_key
            values.append(self._published.reference(process.common_key, common.value, common.nbytes))
        call_of = Call(brings, brings_common, tuple(self._contexts), self._affinity.states_for(jobs))
        packed, hear = pack_call(call_of, jobs), partial(self._returned, process)
        call = self._call(process, hear, "run_call", packed, *values)
        self.calls += bool(jobs)
        self._slots.running += len(jobs)
        process.bundles[call] = Bundle(jobs, self._slots.clock())
        self._slots.set_deadline(process)
        if jobs or process.begun:
            process.work()

    def hear(self, timeout_s: float) -> list[Event]:
        """Receive answers of calls and return their events; blocks for at most ``timeout_s`` seconds."""
        events: list[Event] = []
        for (process, hear), answer in self._inbox.take(timeout_s):
            if answer.exception() is None:
                process.slots[0].status.in_bytes += len(answer.result())
            events.extend(hear(answer))
        return events

    def _lane_arrived(self, call: Future[Any]) -> list[Event]:
        """Handle the state of a moving lane; without it the lane is grown again."""
        state = None if call.exception() else answer_of(call.result())
        self._affinity.arrived(self._moving.pop(call)[0], state)
        return []

    def _prepared(self, process: Process, call: Future[Any]) -> list[Event]:
        """Handle the answer of a process that is ready, unless it was replaced or called to prepare again."""
        if not process.current or call is not process.preparing:
            return []
        try:
            process.pid, code, process.at_once, host, process.node_id = answer_of(call.result())
        except (RayEnded, WorkerLost) as error:
            return self._lost(process, error)
        if code != code_of_searches():
            raise ConnectionError(
                f"a worker runs another code of games and search ({code}) than this process "
                f"({code_of_searches()}): install the same Banyan on all machines"
            )
        self._not_full[process] = None
        for slot in process.slots:
            slot.status.pid = process.pid
            # Several nodes of a cluster may be on one host.
            slot.status.machine = host if self.ray.address is None else f"{host} ({process.node_id[:6]})"
        process.become(WorkerState.IDLE)
        return []

    def _returned(self, process: Process, call: Future[Any]) -> list[Event]:
        """Handle the outcomes of a bundle, which may come from a process that was replaced."""
        if call not in process.bundles:
            return []
        late = not process.current
        try:
            value = answer_of(call.result())
        except (RayEnded, WorkerLost) as error:
            return self._lost(process, error)
        except Exception as error:
            jobs = process.bundles.pop(call).jobs
            self._slots.running -= 0 if late else len(jobs)
            process.rest()
            what = str(error) if isinstance(error, Remote) else f"{type(error).__name__}: {error}"
            return [JobFailed(task.index, what, task.context) for task in jobs]
        bundle = process.bundles.pop(call)
        events: list[Event] = pickle.loads(value)
        jobs = process.take(bundle, [key for event in events for key in keys_of(event)])
        if any(isinstance(event, JobDone) for event in events):
            self._finished()
        if not late:
            self._not_full[process] = None
            self._slots.set_deadline(process)
            busy_s = self._slots.done(process, bundle, jobs, events)
            self.ahead.note(jobs, busy_s)
        return events

    def _lost(self, process: Process, error: Exception) -> list[Event]:
        """Handle a call without an answer. The end of Ray is handled for all calls at once."""
        return [] if isinstance(error, RayEnded) else self._slots.lost(process, str(error))
