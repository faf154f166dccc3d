"""The use of the workers' time in a simulated search: their work, and the reasons for waiting."""

from __future__ import annotations

from bisect import bisect_right

WORKING, CALLS, OTHERS, TRAVEL = "simulations", "calls on workers", "others' jobs", "travel"
SENDING, RECEIVING, MERGING, SNAPSHOTS, MAKING = "sending", "receiving", "merging", "snapshots", "making jobs"
COORDINATOR = (SENDING, RECEIVING, MERGING, SNAPSHOTS, MAKING)
"""Kinds of work of the coordinator's thread."""
REST = "rest"
"""Work lost with a worker, and the time in which the coordinator used a worker's core."""
PARTS = (WORKING, CALLS, OTHERS, *COORDINATOR, TRAVEL, REST)


class WorkerTime:
    """Sums of seconds: of all workers by PARTS, and of the coordinator by COORDINATOR."""

    def __init__(self) -> None:
        self.spent = dict.fromkeys(PARTS, 0.0)
        self.coordinator = dict.fromkeys(COORDINATOR, 0.0)
        self._begins: list[float] = [0.0]
        self._before: list[tuple[float, ...]] = [(0.0,) * len(COORDINATOR)]
        """The coordinator's totals when each of its steps began."""
        self._steps: list[tuple[int, float]] = [(0, 0.0)]
        """Index into COORDINATOR and duration of each step."""

    def step(self, part: str, begin_s: float, seconds: float) -> None:
        """Add a step of the coordinator from ``begin_s`` on; steps must not overlap and must be in order."""
        self._begins.append(begin_s)
        self._before.append(tuple(self.coordinator.values()))
        self._steps.append((COORDINATOR.index(part), seconds))
        self.coordinator[part] += seconds

    def worked(self, jobs_s: float, call_s: float) -> None:
        """Add the time of a worker for jobs, and for the call that contained them."""
        self.spent[WORKING] += jobs_s
        self.spent[CALLS] += call_s

    def idle(self, begin_s: float, end_s: float, needed_s: float, travel_s: float) -> None:
        """Add the idle time of a worker from ``begin_s`` to ``end_s``, when its next jobs arrived.

        ``needed_s``: when the last result that those jobs depend on had arrived. ``travel_s``: one-way time
        of a message.
        """
        ended_s = min(max(begin_s, needed_s - travel_s), end_s)
        self.spent[OTHERS] += ended_s - begin_s
        travel_s = min(2 * travel_s, end_s - ended_s)
        self.spent[TRAVEL] += travel_s
        waited_s = end_s - ended_s - travel_s
        now, then = self._until(end_s), self._until(ended_s)
        did = [after - before for after, before in zip(now, then, strict=True)]
        known_s = sum(did)
        if waited_s <= 0.0 or known_s <= 0.0:
            self.spent[OTHERS] += waited_s
            return
        for part, seconds in zip(COORDINATOR, did, strict=True):
            self.spent[part] += seconds * min(1.0, waited_s / known_s)
        self.spent[OTHERS] += max(0.0, waited_s - known_s)

    def shares(self, total_s: float) -> dict[str, float]:
        """The share of each part in ``total_s``, the time of all workers together."""
        spent = dict(self.spent)
        spent[REST] = max(0.0, total_s - sum(spent.values()))
        return {part: round(seconds / total_s, 4) for part, seconds in spent.items()}

    def _until(self, at_s: float) -> list[float]:
        """Seconds of the coordinator up to ``at_s``, by COORDINATOR."""
        last = bisect_right(self._begins, at_s) - 1
        done = list(self._before[last])
        part, seconds = self._steps[last]
        done[part] += min(seconds, max(0.0, at_s - self._begins[last]))
        return done
