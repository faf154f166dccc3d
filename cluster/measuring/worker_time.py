"""Where the time of workers goes in a simulated search: what they do, and whom they wait for."""

from __future__ import annotations

from bisect import bisect_right

WORKING, CALLS, OTHERS, TRAVEL = "simulations", "calls on workers", "others' jobs", "travel"
SENDING, RECEIVING, MERGING, SNAPSHOTS, MAKING = "sending", "receiving", "merging", "snapshots", "making jobs"
COORDINATOR = (SENDING, RECEIVING, MERGING, SNAPSHOTS, MAKING)
"""What the coordinator's thread does."""
REST = "rest"
"""What was lost with a worker, and the time for which the coordinator took a worker's core."""
PARTS = (WORKING, CALLS, OTHERS, *COORDINATOR, TRAVEL, REST)


class WorkerTime:
    """Seconds of all workers together, by PARTS; the coordinator's own by COORDINATOR."""

    def __init__(self) -> None:
        self.spent = dict.fromkeys(PARTS, 0.0)
        self.coordinator = dict.fromkeys(COORDINATOR, 0.0)
        self._begins: list[float] = [0.0]
        self._before: list[tuple[float, ...]] = [(0.0,) * len(COORDINATOR)]
        """The coordinator's totals when each of its steps began."""
        self._steps: list[tuple[int, float]] = [(0, 0.0)]
        """What that step is, and how long it lasts."""

    def step(self, part: str, begin_s: float, seconds: float) -> None:
        """The coordinator does something from ``begin_s`` on, which is never before the last step's end."""
        self._begins.append(begin_s)
        self._before.append(tuple(self.coordinator.values()))
        self._steps.append((COORDINATOR.index(part), seconds))
        self.coordinator[part] += seconds

    def worked(self, jobs_s: float, call_s: float) -> None:
        """A worker has run jobs, and dealt with the call that brought them."""
        self.spent[WORKING] += jobs_s
        self.spent[CALLS] += call_s

    def idle(self, begin_s: float, end_s: float, needed_s: float, travel_s: float) -> None:
        """A worker had nothing to do until its next jobs came, which could be made when the last of the
        results that they depend on had come: at ``needed_s``. ``travel_s``: of a message, one way."""
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
        """What share of ``total_s``, the time of all workers together, each part took."""
        spent = dict(self.spent)
        spent[REST] = max(0.0, total_s - sum(spent.values()))
        return {part: round(seconds / total_s, 4) for part, seconds in spent.items()}

    def _until(self, at_s: float) -> list[float]:
        """What the coordinator had done until then, by COORDINATOR."""
        last = bisect_right(self._begins, at_s) - 1
        done = list(self._before[last])
        part, seconds = self._steps[last]
        done[part] += min(seconds, max(0.0, at_s - self._begins[last]))
        return done
