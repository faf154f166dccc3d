"""Where the trees of root's lanes are: each stays with one worker, and moves when workers join or leave.

A lane's tree is a cache: without it the next job of the lane grows it again from its first piece, which takes
as long as all that the lane has done. So a lane moves only when its worker has gone, or when another
has two lanes fewer; and then its tree is sent for first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cluster.executor import Task
from search.job import GrowJob, LaneTree


class LaneHomes:
    """A slot for each lane."""

    def __init__(self) -> None:
        self._present: tuple[int, ...] = ()
        self._ready: tuple[int, ...] = ()
        self._homes: dict[int, int] = {}
        self._on_the_way: set[int] = set()
        self._trees: dict[int, LaneTree] = {}
        self._burden: dict[int, int] = {}
        """Lanes of each slot that is present."""
        self.divided = 0
        """Another number whenever the home of a lane that had been asked for may have changed."""

    def clear(self) -> None:
        """Forget all lanes: another search begins."""
        self._homes.clear()
        self._on_the_way.clear()
        self._trees.clear()
        self._burden = dict.fromkeys(self._present, 0)
        self.divided += 1

    def settle(self, present: Sequence[int], ready: Sequence[int]) -> list[tuple[int, int]]:
        """Divide the lanes among the slots that are ``ready``, if these have changed; one that is only
        ``present`` keeps what it has, for it starts again. The moves: lane, and the slot that has its tree.

        A lane that moves has no home until `arrived`.
        """
        if (tuple(present), tuple(ready)) == (self._present, self._ready):
            return []
        self._present, self._ready = tuple(present), tuple(ready)
        # What was at a slot that has gone is lost: its lanes go where there is room when they are asked for.
        self._homes = {lane: slot for lane, slot in self._homes.items() if slot in self._present}
        self.divided += 1
        moves = []
        burden = self._burden = dict.fromkeys(self._present, 0)
        for slot in self._homes.values():
            burden[slot] += 1
        while len(burden) > 1:
            most = max(burden, key=lambda slot: burden[slot])
            least = min(ready, key=lambda slot: burden[slot], default=most)
            if burden[most] - burden[least] < 2:
                break
            lane = max(lane for lane, slot in self._homes.items() if slot == most)
            self._homes[lane] = least
            burden[most] -= 1
            burden[least] += 1
            # One that still waits for its tree moves without.
            if lane not in self._on_the_way:
                self._on_the_way.add(lane)
                moves.append((lane, most))
        return moves

    def of(self, lane: int) -> int | None:
        """The slot of a lane; None while its tree is on its way, or where there is no worker."""
        if lane in self._on_the_way or not self._present:
            return None
        home = self._homes.get(lane)
        if home is None:
            home = self._homes[lane] = min(self._present, key=lambda slot: self._burden[slot])
            self._burden[home] += 1
        return home

    def arrived(self, lane: int, tree: LaneTree | None) -> None:
        """A lane's tree has come; or it will not."""
        if lane in self._on_the_way:
            self._on_the_way.discard(lane)
            self.divided += 1
            if tree is not None:
                self._trees[lane] = tree

    def with_tree(self, job: Task) -> Task:
        """The job as it is to be sent: the first of a lane at its new home takes the lane's tree along."""
        tree = self._trees.pop(job.lane, None) if isinstance(job, GrowJob) else None
        if isinstance(job, GrowJob) and tree is not None and tree.pieces < len(job.sizes):
            return replace(job, begin=tree)
        return job
