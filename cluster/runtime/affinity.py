"""Lane affinity: assigns the tasks of a lane to the worker slot that keeps the lane's state.

The state of a lane (with strategy root: its tree) is a cache: without it the next job of the lane repeats the
work of all earlier pieces. So a lane moves only when its worker has gone, or when another worker has at least
two lanes fewer. Then the state is fetched first, and sent with the next task of the lane.

"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cluster.runtime.tasks import Task


class LaneAffinity:
    """Assigns each lane of one context to a slot."""

    def __init__(self) -> None:
        self._present: tuple[int, ...] = ()
        self._ready: tuple[int, ...] = ()
        self._slots: dict[int, int] = {}
        self._moving: set[int] = set()
        """Lanes whose state is being fetched."""
        self._states: dict[int, Any] = {}
        """States that were fetched but not yet sent to the new slot, by lane."""
        self._burden: dict[int, int] = {}
        """Number of lanes by slot, for slots that are present."""
        self.divided = 0
        """Version of the assignment: changes whenever a lane that has been asked for may have moved."""

    def clear(self) -> None:
        """Forget all lanes; called when another search begins."""
        self._slots.clear()
        self._moving.clear()
        self._states.clear()
        self._burden = dict.fromkeys(self._present, 0)
        self.divided += 1

    def settle(self, present: Sequence[int], ready: Sequence[int]) -> list[tuple[int, int]]:
        """Balance the lanes over the slots that are ``ready``, if the slots have changed.

        A slot that is ``present`` but not ready keeps its lanes, because its worker is restarting. Returns
        the moves as pairs: lane, and the slot whose worker has its state. A moving lane has no slot
        until `arrived` is called.
        """
        if (tuple(present), tuple(ready)) == (self._present, self._ready):
            return []
        self._present, self._ready = tuple(present), tuple(ready)
        # States at a removed slot are lost: `of` assigns its lanes to the slot with the fewest lanes.
        self._slots = {lane: slot for lane, slot in self._slots.items() if slot in self._present}
        self.divided += 1
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
                moves.append((lane, most))
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
            self.divided += 1
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
