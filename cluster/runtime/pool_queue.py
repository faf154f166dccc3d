"""Waiting tasks of many searches, ordered by priority, then by the worker time that each search has used.

This is start-time fair queueing (Goyal, Vin and Cheng 1996) of worker time. Among the runs of one priority
with waiting tasks, the one that has used the least time goes first. A run is charged with the expected time
of a task when the task is handed out; when it ends, this is replaced by the actual time. The used time of a
run that begins, or that had no waiting tasks, is raised to that of the run served last: so a run gains no
claim by being idle, and no run has to wait until others have caught up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from cluster.runtime.queue import TaskQueue
from cluster.runtime.tasks import Outcome, Task, jobs_of

WORK_UNIT_S = 1e-6
"""The unit of a task's work: a microsecond of expected time. Simulations of two games would not compare."""
SHARED_BUNDLE_S = 0.1
"""Target length of a bundle if several runs share the workers: one job of the usual length."""
AHEAD_S = 0.02
"""If runs share the workers, a worker gets a second bundle only if the first is shorter than this. A worker
may then idle for some 2 ms, but a search with short rounds need not wait for whole bundles of others."""


@dataclass
class _Waiting:
    """The waiting tasks of one run."""

    context: int
    priority: int
    used_s: float
    """Worker time used so far."""
    limit: int | None = None
    """The number of workers that get its tasks; None: all."""
    bundle_s: float = SHARED_BUNDLE_S
    """Target length of a bundle if several runs share the workers."""
    tasks: TaskQueue = field(default_factory=TaskQueue)
    charged_s: dict[int, float] = field(default_factory=dict)
    """By index of the tasks handed out: their expected time."""

    def among(self, slots: Sequence[int]) -> Sequence[int]:
        """Those of these slots that get its tasks."""
        return slots[: self.limit]


class PoolQueue(TaskQueue):
    """A queue for each run of a search. The key of a run is that of its context."""

    def __init__(self) -> None:
        super().__init__()
        self._runs: dict[int, _Waiting] = {}
        self._present: tuple[int, ...] = (0,)
        self._num_ready = 1
        """Number of slots whose workers can take tasks."""
        self._reached_s: defaultdict[int, float] = defaultdict(float)
        """By priority: the largest used time of a run just before it was served."""

    def open(
        self, context: int, priority: int, limit: int | None = None, bundle_s: float = SHARED_BUNDLE_S
    ) -> None:
        """Accept tasks of this run from now on. ``limit``: only the first ``limit`` workers get them.
        ``bundle_s``: target length of its bundles if other runs are there."""
        waiting = _Waiting(context, priority, self._reached_s[priority], limit, bundle_s)
        self._runs[context] = waiting
        waiting.tasks.settle(waiting.among(self._present), ())

    def close(self, context: int) -> None:
        """Forget the run and its tasks."""
        self._runs.pop(context, None)

    def __len__(self) -> int:
        return sum(len(waiting.tasks) for waiting in self._runs.values())

    def add(self, tasks: Iterable[Task]) -> None:
        """Put tasks at the end of the queues of their runs; tasks of unknown runs are dropped."""
        for task in tasks:
            waiting = self._runs.get(task.context)
            if waiting is not None:
                if not len(waiting.tasks):
                    waiting.used_s = max(waiting.used_s, self._reached_s[waiting.priority])
                waiting.tasks.add([task])

    def ended(self, context: int, outcome: Outcome) -> None:
        """Charge a run with the actual time of a task instead of the expected one."""
        waiting = self._runs.get(context)
        if waiting is not None and outcome.index in waiting.charged_s:
            indices = range(outcome.index, outcome.index + jobs_of(outcome))
            waiting.used_s += outcome.duration_s
            waiting.used_s -= sum(waiting.charged_s.pop(index, 0.0) for index in indices)

    def clear(self) -> None:
        """Forget all tasks."""
        for waiting in self._runs.values():
            waiting.tasks.clear()

    def bundle_size(self, bundles: int, processes: int, running: int) -> float:
        """How many tasks a bundle may have: with one run, what its queue says; with several, a common upper
        limit, which `take` lowers for each run."""
        if len(self._runs) == 1:
            (only,) = self._runs.values()
            if only.limit is not None and only.limit < self._num_ready:
                bundles = bundles // self._num_ready * only.limit
            return only.tasks.bundle_size(bundles, processes, running)
        return max(1, -(-(len(self) + running) // bundles))

    def lanes(self) -> set[Hashable]:
        """The keys of the lanes of the tasks that wait, of all runs."""
        return set().union(*(waiting.tasks.lanes() for waiting in self._runs.values()))

    def settle(self, present: Sequence[int], ready: Sequence[int]) -> list[tuple[int, int, int]]:
        """Lanes of removed slots get other slots. No lane moves to a new slot, so no state moves."""
        self._num_ready = max(1, len(ready))
        if tuple(present) != self._present:
            self._present = tuple(present)
            for waiting in self._runs.values():
                waiting.tasks.settle(waiting.among(self._present), ())
        return []

    def early(self, ahead: Sequence[Task]) -> bool:
        """Whether a worker should get a further bundle already; if not, waiting runs are served sooner."""
        work_s = sum(task.work for task in ahead) * WORK_UNIT_S
        return len(self._runs) < 2 or work_s < AHEAD_S

    def take(self, slots: Sequence[int], num_slots: int, most: float, work: float) -> list[Task]:
        """The next bundle for workers, all of one run; empty if no task is for their slots."""
        several = len(self._runs) > 1
        order = sorted(
            self._runs.values(), key=lambda waiting: (-waiting.priority, waiting.used_s, waiting.context)
        )
        for waiting in order:
            among, count = slots, num_slots
            if waiting.limit is not None:
                among = [slot for slot in slots if slot in waiting.among(self._present)]
                count = min(num_slots, waiting.limit)
            if not among:
                continue
            own = min(most, waiting.tasks.bundle_size(count, count, 0)) if several else most
            own_work = min(work, waiting.bundle_s / WORK_UNIT_S) if several else work
            tasks = waiting.tasks.take(among, count, own, own_work)
            if tasks:
                reached_s = self._reached_s[waiting.priority]
                self._reached_s[waiting.priority] = max(reached_s, waiting.used_s)
                for task in tasks:
                    waiting.charged_s[task.index] = task.work * WORK_UNIT_S
                    waiting.used_s += task.work * WORK_UNIT_S
                return tasks
        return []
