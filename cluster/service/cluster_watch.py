"""What the workers and the searches of a server did of late: the data of the page "Cluster".

Once a second a `Sampler` thread reads the counters that executors and coordinators keep anyway, whether
anybody looks or not; only then is there a history when somebody does. `ClusterWatch` makes of them the object
`Cluster` and its changes (answer_models.py). It has no thread and no clock of its own.

Capacity: 15 minutes of points every 2 s with at most 6 entries are 150 kB as JSON, and a worker with a strip
of 60 s is 0.4 kB.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cluster.runtime.session import Session
from cluster.runtime.worker_state import Change, WorkerLog, WorkerState, WorkerStatus
from cluster.service.event_stream import Feed
from search.coordinator import Counters

SPAN_S, STEP_S, STRIP_S = 900, 2, 60
"""Seconds of the history, of one of its points, and of the strip of a worker."""
RECENT_S = 5
"""Seconds for which the rate of a worker, and its share of time in jobs, are a mean."""
MARKS = 200
"""Largest number of marks."""
ENTRIES = 5
"""Searches in a point of the history; the others together are one entry."""
OTHERS = "others"
"""The id of that entry."""
NO_PROCESS, STARTING, UNSEEN = -1, -2, -3
"""Entries of a strip beside the percent of a second spent in jobs."""
CLUSTER, TICK = "cluster", "tick"
"""Names of the events: the whole object, and its change in a second."""
LOG = logging.getLogger("banyan.watch")
NODE_GONE = "node"
"""In the reason of a loss: Ray has lost the whole machine."""


@dataclass(eq=False)
class Watched:
    """A search that runs, or has ended since the last sample."""

    id: str
    game: str
    strategy: str
    counters: Counters
    context: int
    """The key of the context of its jobs."""
    session: Session | None
    """None if it has ended: the watch keeps no trees."""
    simulations: int = 0
    """Simulations at the last sample; the next three likewise."""
    playouts: int = 0
    merges: int = 0
    merge_s: float = 0.0

    def grow(self) -> tuple[int, int, int, float]:
        """Simulations, playouts, merges, and seconds of merging since the last call."""
        before = self.simulations, self.playouts, self.merges, self.merge_s
        counters, merged = self.counters, self.counters.merge_durations
        self.simulations, self.playouts = counters.simulations, counters.playouts
        self.merges, self.merge_s = sum(merged.counts), merged.sum_s
        return (
            self.simulations - before[0],
            self.playouts - before[1],
            self.merges - before[2],
            self.merge_s - before[3],
        )


@dataclass(frozen=True)
class Seen:
    """What is seen of the server in a sample."""

    executor: str
    ready: bool
    workers: list[WorkerStatus]
    searches_running: int = 0
    searches_waiting: int = 0
    jobs_waiting: int = 0


@dataclass(eq=False)
class _Row:
    """A worker."""

    slot: int
    since_s: float
    machine: str = ""
    state: WorkerState = WorkerState.WAITING
    search: str | None = None
    search_since_s: float | None = None
    restarts: int = 0
    jobs: int = 0
    rate: float = 0.0
    busy: float = 0.0
    strip: deque[int] = field(default_factory=lambda: deque([UNSEEN] * STRIP_S, maxlen=STRIP_S))
    totals: deque[tuple[float, float, int]] = field(default_factory=lambda: deque(maxlen=RECENT_S + 1))
    """Time, seconds in jobs, and simulations at the last samples."""
    ran: deque[str | None] = field(default_factory=lambda: deque(maxlen=RECENT_S))
    """What it worked on at the last samples."""

    def view(self) -> dict[str, Any]:
        return {
            "slot": self.slot,
            "machine": self.machine,
            "state": self.state,
            "since": self.since_s,
            "search": self.search,
            "search_since": self.search_since_s,
            "simulations_per_s": self.rate,
            "busy": self.busy,
            "jobs": self.jobs,
            "restarts": self.restarts,
        }

    def told(self) -> tuple[Any, ...]:
        """What is sent again when it changes."""
        return self.machine, self.state, self.search, self.restarts, self.since_s

    def take(self, status: WorkerStatus, time_s: float, now_s: float, lost: bool) -> int:
        """Take a sample; returns the strip's entry for the time since the last one."""
        spent_s, simulations = status.spent_s(now_s), status.simulations
        last = self.totals[-1] if self.totals else None
        if last is not None and (simulations < last[2] or status.restarts < self.restarts):
            # Another executor counts from 0.
            self.totals.clear()
            last = None
        self.totals.append((now_s, spent_s, simulations))
        first, over_s = self.totals[0], now_s - self.totals[0][0]
        self.rate = round((simulations - first[2]) / over_s, 1) if over_s else 0.0
        self.busy = round(_share(spent_s - first[1], over_s), 3)
        self.machine, self.restarts, self.jobs = status.machine, status.restarts, status.jobs_done
        share = 0.0 if last is None else _share(spent_s - last[1], now_s - last[0])
        state = status.state
        if state.ready:
            # At the moment of the sample it may be between two jobs.
            state = WorkerState.BUSY if share or state is WorkerState.BUSY else WorkerState.IDLE
        self.state = state
        if lost or not (state.alive or state is WorkerState.STARTING):
            return NO_PROCESS
        return round(100 * share) if state.ready else STARTING

    def works_on(self, search: str | None, time_s: float) -> None:
        """Note which search the worker has had jobs of; with several, the one it had most often of late."""
        if not self.state.ready:
            self.ran.clear()
        self.ran.append(search if self.state is WorkerState.BUSY else None)
        counts = Counter(each for each in self.ran if each is not None)
        # Two searches that share the worker do not take turns in being shown.
        most = max(counts, key=lambda each: counts[each] + 1.5 * (each == self.search), default=None)
        if most != self.search:
            self.search, self.search_since_s = most, None if most is None else time_s


class ClusterWatch:
    """The last 15 minutes of a server's workers and searches. `begun` and `ended` are safe in any thread."""

    def __init__(self, started_s: float, feed: Feed) -> None:
        """``started_s``: when the server was started, in seconds since 1970."""
        self.feed = feed
        """The events; without a follower none are made."""
        self._lock = threading.Lock()
        """Held while a sample is taken or the whole is read."""
        self._started_s = self._time_s = started_s
        self._now_s: float | None = None
        """Time of the last sample, by the monotonic clock."""
        self._running: list[Watched] = []
        self._titles: dict[str, tuple[dict[str, str], float]] = {}
        """By id: game and strategy of a search, and when it was last mentioned."""
        self._history: deque[dict[str, Any]] = deque(maxlen=SPAN_S // STEP_S)
        self._marks: deque[dict[str, Any]] = deque(maxlen=MARKS)
        self._rows: list[_Row] = []
        self._logs: list[tuple[WorkerLog, int]] = []
        """The logs of the executor's workers, and how many of their changes are known."""
        self._merging: deque[int] = deque([0] * STRIP_S, maxlen=STRIP_S)
        self._grown: dict[str, list[int]] = {}
        """By search: simulations and playouts since the last point."""
        self._step_s = self._merges = self._merge_s = 0.0
        self._merge_ms: float | None = None
        self._seen = Seen("", False, [])
        self._now: dict[str, Any] = {}

    def begun(self, search_id: str, game: str, strategy: str, session: Session) -> None:
        """Watch a search, from the counters that it has now."""
        counters, context = session.coordinator.counters, session.context
        watched = Watched(search_id, game, strategy, counters, context, session)
        watched.grow()
        self._running.append(watched)

    def ended(self, search_id: str) -> None:
        """Note that a search runs no more; what it has done since the last sample still counts."""
        for watched in list(self._running):
            if watched.id == search_id:
                watched.session = None

    def sample(self, seen: Seen, time_s: float, now_s: float) -> None:
        """Take a sample; ``time_s``: in seconds since 1970, ``now_s``: by `time.monotonic`.

        With followers an event is published: a tick, or the whole if more or less than a second has passed,
        or if there are fewer workers than before.
        """
        with self._lock:
            gap_s = 1.0 if self._now_s is None else now_s - self._now_s
            seconds = max(1, min(STRIP_S, round(gap_s)))
            fewer = len(seen.workers) < len(self._rows)
            self._seen, self._time_s, self._now_s = seen, round(time_s, 3), now_s
            named = set(self._titles)
            sessions = self._grow(gap_s, seconds)
            point = self._point(gap_s)
            marks, alive_since_s, lost = self._note_changes(time_s - now_s)
            strips, changed = self._look_at_workers(alive_since_s, lost, now_s, seconds)
            self._now = self._summary(sessions)
            if not self.feed.followed:
                return
            if seconds > 1 or fewer:
                self.feed.publish(CLUSTER, self._whole())
                return
            new = {each: title for each, (title, _) in self._titles.items() if each not in named}
            tick: dict[str, Any] = {"time": self._time_s, "ready": seen.ready, "point": point, "marks": marks}
            tick |= {"now": self._now, "strips": strips, "changed": [row.view() for row in changed]}
            tick |= {"rates": [row.rate for row in self._rows], "busy": [row.busy for row in self._rows]}
            self.feed.publish(TICK, tick | {"searches": new})

    def whole(self) -> tuple[dict[str, Any], int]:
        """The object `Cluster`, and the id of the last event that it contains."""
        with self._lock:
            return self._whole(), self.feed.last

    def _whole(self) -> dict[str, Any]:
        return {
            "time": self._time_s,
            "started": self._started_s,
            "executor": self._seen.executor,
            "ready": self._seen.ready,
            "span_s": SPAN_S,
            "step_s": STEP_S,
            "strip_s": STRIP_S,
            "history": list(self._history),
            "searches": {each: title for each, (title, _) in self._titles.items()},
            "marks": [mark for mark in self._marks if mark["time"] >= self._time_s - SPAN_S],
            "workers": [row.view() | {"strip": list(row.strip)} for row in self._rows],
            "now": self._now | {"merging": list(self._merging)},
        }

    def _name(self, search_id: str, game: str, strategy: str) -> None:
        self._titles[search_id] = ({"game": game, "strategy": strategy}, self._time_s)

    def _grow(self, gap_s: float, seconds: int) -> list[Session]:
        """Count what all searches have done; returns the sessions that run."""
        merge_s, sessions = 0.0, []
        for watched in list(self._running):
            # Before it is counted, so that an end in another thread comes before or after both.
            session = watched.session
            simulations, playouts, merges, merged_s = watched.grow()
            merge_s += merged_s
            self._merges += merges
            if simulations or playouts:
                grown = self._grown.setdefault(watched.id, [0, 0])
                grown[0] += simulations
                grown[1] += playouts
                self._name(watched.id, watched.game, watched.strategy)
            if session is None:
                self._running.remove(watched)
            else:
                sessions.append(session)
        self._merge_s += merge_s
        self._merging.extend([round(100 * _share(merge_s, gap_s))] * seconds)
        return sessions

    def _point(self, gap_s: float) -> dict[str, Any] | None:
        """Add a point to the history, if a step is over."""
        self._step_s += gap_s
        if self._step_s < STEP_S - 0.5:
            return None
        most = sorted(self._grown, key=lambda each: -self._grown[each][0])
        rates: list[list[Any]] = [
            [each, *(round(count / self._step_s, 1) for count in self._grown[each])]
            for each in most[:ENTRIES]
        ]
        if rest := most[ENTRIES:]:
            sums = (sum(self._grown[each][i] for each in rest) for i in (0, 1))
            rates.append([OTHERS, *(round(total / self._step_s, 1) for total in sums)])
            self._name(OTHERS, "other searches", "")
        point = {"time": self._time_s, "rates": rates}
        self._history.append(point)
        self._merge_ms = round(1000 * self._merge_s / self._merges, 3) if self._merges else None
        self._grown, self._step_s, self._merges, self._merge_s = {}, 0.0, 0, 0.0
        old_s = self._time_s - SPAN_S - STEP_S
        self._titles = {each: entry for each, entry in self._titles.items() if entry[1] >= old_s}
        return point

    def _note_changes(self, since_1970_s: float) -> tuple[list[dict[str, Any]], dict[int, float], set[int]]:
        """Make marks of the changes of workers since the last sample.

        Returns the marks; by slot since when it is alive or not, if that has changed; and the slots that
        lost a process. An executor that was replaced has changes that were made after the last sample.
        """
        known = {id(log): count for log, count in self._logs}
        logs = {id(worker.log): worker.log for worker in self._seen.workers}
        made: list[dict[str, Any]] = []
        alive_since_s, lost = {}, set()
        for log in ({id(log): log for log, _ in self._logs} | logs).values():
            total, changes = log.total, list(log.changes)
            for change in changes[max(0, len(changes) - (total - known.get(id(log), 0))) :]:
                time_s = round(change.time_s + since_1970_s, 3)
                if change.before.alive != change.after.alive:
                    alive_since_s[change.worker] = time_s
                if change.after is WorkerState.LOST:
                    lost.add(change.worker)
                if (what := _mark(change)) is not None:
                    mark = {"time": time_s, "worker": change.worker, "machine": change.machine}
                    made.append(mark | {"change": what, "reason": change.reason})
            known[id(log)] = total
        self._logs = [(log, known[key]) for key, log in logs.items()]
        made.sort(key=lambda mark: mark["time"])
        self._marks.extend(made)
        return made, alive_since_s, lost

    def _look_at_workers(
        self, alive_since_s: dict[int, float], lost: set[int], now_s: float, seconds: int
    ) -> tuple[list[int], list[_Row]]:
        """Take a sample of each worker; returns the strips' entries by slot, and the workers that changed."""
        search_of = {each.context: each for each in list(self._running)}
        del self._rows[len(self._seen.workers) :]
        strips, changed = [], []
        for slot, status in enumerate(self._seen.workers):
            if new := slot == len(self._rows):
                self._rows.append(_Row(status.slot, self._time_s))
            row = self._rows[slot]
            before = row.told()
            entry = row.take(status, self._time_s, now_s, slot in lost)
            search = None if status.context is None else search_of.get(status.context)
            row.works_on(None if search is None else search.id, self._time_s)
            row.since_s = alive_since_s.get(slot, row.since_s)
            row.strip.extend([entry] * seconds)
            strips.append(entry)
            if row.search is not None and search is not None:
                self._name(search.id, search.game, search.strategy)
            if new or row.told() != before:
                changed.append(row)
        return strips, changed

    def _summary(self, sessions: list[Session]) -> dict[str, Any]:
        """What is so now, `Now` in answer_models.py; ``merging`` is one number."""
        coordinators = [session.coordinator for session in sessions]
        strategies = [each.search.strategy for each in coordinators]
        created = sum(int(strategy.created) for strategy in strategies)
        duplicates = sum(int(strategy.duplicates) for strategy in strategies)
        lag_s = [
            session.elapsed_s - since_s
            for session in sessions
            if (since_s := session.coordinator.waits_since_s) is not None
        ]
        # Of the last point, so that it is steady.
        rates = self._history[-1]["rates"] if self._history and sessions else []
        return {
            "simulations_per_s": round(sum(entry[1] for entry in rates), 1),
            "playouts_per_s": round(sum(entry[2] for entry in rates), 1),
            "searches_running": self._seen.searches_running,
            "searches_waiting": self._seen.searches_waiting,
            "jobs_waiting": self._seen.jobs_waiting,
            "jobs_in_flight": sum(each.jobs_in_flight for each in coordinators),
            "results_waiting": sum(each.results_waiting for each in coordinators),
            "merge_lag_s": round(max(lag_s, default=0.0), 3),
            "merge_ms": self._merge_ms,
            "merging": self._merging[-1],
            "duplicates": round(duplicates / created, 4) if created else None,
            "unobserved_samples": sum(strategy.unobserved for strategy in strategies),
            "tree_bytes": sum(each.tree_bytes for each in coordinators),
            "worker_tree_bytes": max((each.counters.lane_tree_bytes for each in coordinators), default=0),
        }


def _share(part_s: float, whole_s: float) -> float:
    return min(1.0, max(0.0, part_s / whole_s)) if whole_s > 0 else 0.0


def _mark(change: Change) -> str | None:
    """What a change of a worker is called on the page; None if it is none of its coming and going."""
    if change.after is WorkerState.IDLE:
        return "joined" if change.before is WorkerState.STARTING else None
    if change.after is WorkerState.LOST:
        return "left" if NODE_GONE in change.reason else "lost"
    return "left" if change.before.alive and not change.after.alive else None


class Sampler:
    """Takes a sample once a second, in a thread of its own."""

    def __init__(self, watch: ClusterWatch, look: Callable[[], Seen]) -> None:
        self._watch, self._look = watch, look
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        for _ in self._seconds():
            try:
                self._watch.sample(self._look(), time.time(), time.monotonic())
            except Exception:
                LOG.exception("a sample of workers and searches failed")

    def _seconds(self) -> Iterator[None]:
        due_s = time.monotonic()
        while not self._ended.wait(max(0.0, due_s - time.monotonic())):
            yield
            # After a pause, such as a suspended machine, samples are not taken in a row.
            due_s = max(due_s + 1.0, time.monotonic() + 0.5)
