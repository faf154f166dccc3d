"""The queue of tasks, its bundling, and the affinity of lanes: where a job runs, never what it returns.

The state of a lane (with strategy root: its tree) is a cache: without it the next job of the lane repeats the
work of all earlier pieces. So a lane moves only when its worker has gone, or when another worker has at least
two lanes fewer. Then the state is fetched first, and sent with the next task of the lane."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from typing import Any

from cluster.runtime.tasks import Task


class LaneAffinity:
    """Assigns each lane of one context to a slot."""

    def __init__(self, slots: Iterable[int] = ()) -> None:
        """``slots``: the slots that are present and ready."""
        self._present = self._ready = tuple(slots)
        self._slots: dict[int, int] = {}
        self._moving: set[int] = set()
        """Lanes whose state is being fetched."""
        self._states: dict[int, Any] = {}
        """States that were fetched but not yet sent to the new slot, by lane."""
        self._burden = dict.fromkeys(self._present, 0)
        """Number of lanes by slot, for slots that are present."""
        self.version = 0
        """Version of the assignment: changes whenever a lane that has been asked for may have moved."""

    def clear(self) -> None:
        """Forget all lanes; called when another search begins."""
        self._slots.clear()
        self._moving.clear()
        self._states.clear()
        self._burden = dict.fromkeys(self._present, 0)
        self.version += 1

    def settle(self, present: Sequence[int], ready: Sequence[int]) -> list[tuple[int, int, int]]:
        """Balance the lanes over the slots that are ``ready``, if the slots have changed.

        A slot that is ``present`` but not ready keeps its lanes, because its worker is restarting. Returns
        the moves: lane, the slot whose worker has its state, and its new one. A moving lane has no slot
        until `arrived` is called.
        """
        if (tuple(present), tuple(ready)) == (self._present, self._ready):
            return []
        self._present, self._ready = tuple(present), tuple(ready)
        # States at a removed slot are lost: `of` assigns its lanes to the slot with the fewest lanes.
        self._slots = {lane: slot for lane, slot in self._slots.items() if slot in self._present}
        self.version += 1
        moves = []
        burden = self._burden = dict.fromkeys(self._present, 0)
        for slot in self._slots.values():
            burden[slot] += 1
        while len(burden) > 1:
            most = max(burden, key=lambda slot: burden[slot])
            least = min(ready, key=lambda slot: burden[slot], default=most)
            if burden[most] - burden[least] < 2:
                break
            lane = max(lane for lane, slot in self._slots.items() if slot == most)
            self._slots[lane] = least
            burden[most] -= 1
            burden[least] += 1
            # If the state is still being fetched, the lane moves without it.
            if lane not in self._moving:
                self._moving.add(lane)
                moves.append((lane, most, least))
        return moves

    def of(self, lane: int) -> int | None:
        """The slot of a lane; None while its state is being fetched, or if there are no workers."""
        if lane in self._moving or not self._present:
            return None
        slot = self._slots.get(lane)
        if slot is None:
            slot = self._slots[lane] = min(self._present, key=lambda each: self._burden[each])
            self._burden[slot] += 1
        return slot

    def arrived(self, lane: int, state: Any) -> None:
        """Note the fetched state of a lane; None if its worker had none."""
        if lane in self._moving:
            self._moving.discard(lane)
            self.version += 1
            if state is not None:
                self._states[lane] = state

    def states_for(self, tasks: Sequence[Task]) -> tuple[tuple[int, int, Any], ...]:
        """The states to send with these tasks, each returned once: (context, lane, state) of lanes that
        moved."""
        return tuple(
            (task.context, task.lane, self._states.pop(task.lane))
            for task in tasks
            if task.lane is not None and task.pieces and task.lane in self._states
        )


BUNDLE_S = 0.25
"""Target duration of a bundle in seconds: a call costs 3 ms, little more than 1 % of it."""
IN_FLIGHT = 2
"""Bundles in flight for each process: the second runs while the result of the first is merged."""
ROUND_SHARE, SHORT_ROUND_SHARE = 1.2, 2.0
"""Size of a bundle as a multiple of an equal share of the waiting tasks of a round. Larger bundles make
workers end a round one by one, with many results to merge at its end; smaller ones need more calls."""
SHORT_ROUND, FEW_BUNDLES = 8, 16
"""A round is short, and uses SHORT_ROUND_SHARE, if it has at most SHORT_ROUND tasks per bundle, and at most
FEW_BUNDLES bundles, or half as many processes of several workers: one call then carries all that a process
does in the round, though two may be in flight. On two cores, 16 lanes, that saves the coordinator, Ray and
the host process 6 of 23 ms of CPU time a round. Simulated, it gains 1 to 4 % with 3 million simulations on
one to four workers, and loses at most 1 % elsewhere."""
MANY_CALLS_PER_S = 700.0
"""More calls per second keep the driver from its other work and, on two cores, the workers from theirs."""
_WEIGHT = 0.05
"""Weight of the newest bundle in the mean duration of a job."""


class BundlesAhead:
    """How many bundles each worker has at a time: as many as given, but one where calls would be too many.

    Without rounds a search has a fixed number of jobs in flight, so fewer bundles are longer ones. A worker
    that has one bundle waits for its next one; that costs less than a driver which is busy with calls.
    """

    def __init__(self, most: int, many_calls_per_s: float = MANY_CALLS_PER_S) -> None:
        self.most = most
        self._many_calls_per_s = many_calls_per_s
        self._job_s = 0.0
        """Mean duration of jobs without rounds; 0 before the first has ended."""

    def clear(self) -> None:
        """Forget the jobs so far."""
        self._job_s = 0.0

    def note(self, tasks: Sequence[Task], busy_s: float) -> None:
        """Note that a bundle of these tasks kept a worker busy for ``busy_s`` seconds."""
        if tasks and tasks[0].common is None and not tasks[0].pieces:
            job_s = busy_s / len(tasks)
            self._job_s += (job_s - self._job_s) * (_WEIGHT if self._job_s else 1.0)

    def number(self, jobs: int, hands: int) -> int:
        """Bundles for each of ``hands`` workers, with ``jobs`` jobs that wait or run."""
        if jobs <= hands or not self._job_s:
            # Every bundle has one job, or nothing is known.
            return self.most
        bundle_s = self._job_s * max(1.0, jobs / (self.most * hands))
        return 1 if hands / bundle_s > self._many_calls_per_s else self.most


class TaskQueue:
    """A first-in, first-out queue, except that lanes keep their slots and bundles share one part.

    A subclass may order the tasks of many searches in another way.
    """

    def __init__(self, affinity: LaneAffinity | None = None) -> None:
        """``affinity`` assigns lanes to slots; None: one of its own."""
        self._waiting: deque[Task] = deque()
        """Tasks for any worker."""
        self._at_slot: dict[int | None, deque[Task]] = {}
        """Pieces of lanes by the slot that keeps the lane's state; under None where no slot does."""
        self._new: list[Task] = []
        """Pieces of lanes that are not yet assigned to a slot."""
        self._affinity = affinity or LaneAffinity()
        self._version = 0
        """The version of the lane assignment in `_at_slot` (`LaneAffinity.version`)."""
        self._size = 0
        self._short = False
        """Whether the waiting round is short: see SHORT_ROUND."""

    def __len__(self) -> int:
        return self._size

    def add(self, tasks: Iterable[Task]) -> None:
        """Append tasks."""
        for task in tasks:
            self._size += 1
            (self._new if task.pieces else self._waiting).append(task)

    def clear(self) -> None:
        """Remove all tasks."""
        self._waiting.clear()
        self._new.clear()
        self._at_slot.clear()
        self._size = 0

    def bundle_size(self, bundles: int, processes: int, running: int) -> float:
        """Number of tasks, not rounded, of one of ``bundles`` bundles; a process of several workers gets
        their bundles as one. 0 if no task waits.

        A round ends when all its tasks have ended, so its remaining tasks are divided into smaller and
        smaller bundles; ``running`` tasks do not count. Without rounds, running tasks count too: a worker
        that returns four tasks is given the four tasks that follow from them.
        """
        if not self._size:
            return 0
        if self._waiting and self._waiting[0].common is not None:
            if not running:
                few = 2 * processes <= max(FEW_BUNDLES, bundles - 1)
                self._short = self._size <= SHORT_ROUND * bundles and few
            return self._size * (SHORT_ROUND_SHARE if self._short else ROUND_SHARE) / bundles
        return -(-(self._size + running) // bundles)

    def take(self, slots: Sequence[int], num_slots: int, most: float, work: float) -> list[Task]:
        """Remove and return the next bundle for the workers of these slots; empty if there is no task for
        them.

        The bundle gets tasks until it has one for each worker and their total work reaches ``work``, but at
        most ``most`` tasks (rounded, and 1 or more). All its tasks have the same common part. Pieces of a
        lane go to the slot that keeps the lane's state. ``num_slots`` is for subclasses.
        """
        self._divide()
        sources = [source for slot in slots if (source := self._at_slot.get(slot))] or [self._waiting]
        tasks: list[Task] = []
        done, most = 0, max(1, round(most))
        # Of the workers' own tasks one of each in turn.
        while any(sources) and len(tasks) < most and (len(tasks) < len(slots) or done < work):
            source = next(source for source in sources if source)
            if tasks and source[0].common_key != tasks[0].common_key:
                break
            tasks.append(source.popleft())
            done += tasks[-1].work
            sources = sources[1:] + sources[:1]
        self._size -= len(tasks)
        return tasks

    def _divide(self) -> None:
        """Assign pieces of lanes to slots."""
        if self._affinity.version != self._version:
            self._version = self._affinity.version
            self._new[:0] = sorted(chain(*self._at_slot.values()), key=lambda task: task.index)
            self._at_slot.clear()
        for task in self._new:
            self._at_slot.setdefault(self._affinity.of(task.lane or 0), deque()).append(task)
        self._new.clear()

    def early(self, ahead: Sequence[Task]) -> bool:
        """Whether to send further tasks to a worker that still has these, so that it never waits."""
        return True

    def lanes(self) -> set[Hashable]:
        """The lane keys of all waiting tasks: as many workers could be busy with them."""
        return {task.lane_key for task in chain(self._waiting, self._new, *self._at_slot.values())}

    def settle(self, present: Sequence[int], ready: Sequence[int]) -> list[tuple[int, int, int]]:
        """Note that the slots may have changed: see `LaneAffinity.settle`."""
        return self._affinity.settle(present, ready)
