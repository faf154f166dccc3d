"""What the workers and the searches of a server did recently: the data of the page "Cluster".

Once a second a thread reads the counters of executors and coordinators, even if nobody looks, so that there
is a history when somebody does. `ClusterWatch` makes the object `Cluster` and its changes (answer_models.py)
from these counters.

Capacity: 15 minutes of points every 2 s with at most 6 entries are 170 kB as JSON, and a worker with a strip
of 60 s is 0.6 kB, a mark 0.1 kB.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from cluster.analysis.engine import Level
from cluster.runtime.session import Session
from cluster.runtime.worker_state import Change, WorkerLog, WorkerState, WorkerStatus
from cluster.service.live import Feed
from search.coordinator import Counters

SPAN_S, STEP_S, STRIP_S = 900, 2, 60
"""Seconds of the history, of one of its points, and of the strip of a worker."""
RECENT_S = 5
"""Seconds over which the rate of a worker, and its share of time in jobs, are averaged."""
MARKS = 2000
"""Largest number of marks."""
ENTRIES, OTHERS = 5, "others"
"""Searches in a point of the history; the sum of the others has this id."""
NO_PROCESS, STARTING, UNSEEN = -1, -2, -3
"""Entries of a strip instead of the per cent of a second spent in jobs; UNSEEN also if it was given back."""
STAYS = 1.5
"""Recent seconds by which another search must exceed the one shown for a worker, to be shown instead."""
CLUSTER, TICK = "cluster", "tick"
"""Names of the events: the whole object, and its change in a second."""
NODE_GONE = "node has died"
"""Text in the reason of a loss which says that Ray has lost the whole machine."""
LOG = logging.getLogger("banyan.watch")
Tell = Callable[..., object]


@dataclass(eq=False)
class Watched:
    """A search that runs, or has ended since the last sample."""

    id: str
    title: dict[str, str]
    counters: Counters
    context: int
    """The key of the context of its jobs."""
    session: Session | Level | None
    """None if it has ended: the watch keeps no trees."""
    tell: Tell
    totals: tuple[float, ...] = (0, 0, 0, 0)
    """Simulations, playouts, merges, and seconds of merging at the last sample."""

    def grow(self) -> list[float]:
        """How much the totals have grown since the last call."""
        counters, merged, before = self.counters, self.counters.merge_durations, self.totals
        self.totals = counters.simulations, counters.playouts, sum(merged.counts), merged.sum_s
        return [now - then for now, then in zip(self.totals, before, strict=True)]


@dataclass(frozen=True)
class Seen:
    """What is seen of the server in a sample."""

    executor: str
    ready: bool
    workers: list[WorkerStatus]
    searches_running: int = 0
    searches_waiting: int = 0
    jobs_waiting: int = 0


class _Row:
    """A worker."""

    def __init__(self, slot: int, time_s: float) -> None:
        self.view: dict[str, Any] = {"slot": slot, "since": time_s, "search": None, "search_since": None}
        """The fields of `WorkerNow` (answer_models.py)."""
        self.strip = deque([UNSEEN] * STRIP_S, maxlen=STRIP_S)
        self.cores = deque([0] * STRIP_S, maxlen=STRIP_S)
        """Per cent of each second in which its jobs had a core."""
        self.core = 1.0
        """The share of a core that it had in the jobs that ended last."""
        self._ended_s = 0.0, 0.0
        """Seconds in jobs that have ended, and with a core, at the last sample."""
        self._totals: deque[tuple[float, float, int]] = deque(maxlen=RECENT_S + 1)
        """Time, seconds in jobs, and simulations at the last samples."""
        self._ran: deque[str | None] = deque(maxlen=RECENT_S)
        """What it worked on at the last samples."""

    @property
    def told(self) -> list[Any]:
        """What is sent again when it changes."""
        return [self.view.get(name) for name in ("since", "machine", "state", "search", "restarts")]

    def take(self, status: WorkerStatus, search: str | None, time_s: float, now_s: float) -> int:
        """Take a sample of the worker and the search of its job; returns the entry of its strip."""
        now, totals, state = (now_s, status.spent_s(now_s), status.simulations), self._totals, status.state
        if totals and (now[2] < totals[-1][2] or status.restarts < self.view["restarts"]):
            # Another executor counts from 0.
            totals.clear()
        last, first = (totals[-1], totals[0]) if totals else (now, now)
        totals.append(now)
        share, over_s = _share(now[1] - last[1], now_s - last[0]), now_s - first[0]
        if state.ready:
            # At the moment of the sample it may be between two jobs.
            state = WorkerState.BUSY if share or state is WorkerState.BUSY else WorkerState.IDLE
        else:
            self._ran.clear()
        self._ran.append(search if state is WorkerState.BUSY else None)
        ran, before = Counter(filter(None, self._ran)), self.view["search"]
        (busy_s, cpu_s), self._ended_s = self._ended_s, (status.busy_s, status.cpu_s)
        if status.busy_s > busy_s:
            self.core = _share(status.cpu_s - cpu_s, status.busy_s - busy_s)
        most = max(ran, key=lambda each: ran[each] + STAYS * (each == before), default=None)
        if most != before:
            self.view |= {"search": most, "search_since": None if most is None else time_s}
        self.view |= {
            "machine": status.machine,
            "pid": status.pid,
            "state": state,
            "simulations_per_s": round((now[2] - first[2]) / over_s, 1) if over_s else 0.0,
            "busy": round(_share(now[1] - first[1], over_s), 3),
            "jobs": status.jobs_done,
            "restarts": status.restarts,
        }
        if state.ready:
            return round(100 * share)
        if state is WorkerState.GIVEN_BACK:
            return UNSEEN
        return STARTING if state.alive or state is WorkerState.STARTING else NO_PROCESS


class ClusterWatch:
    """The last 15 minutes of a server's workers and searches. `begun` and `ended` are safe in any thread."""

    def __init__(self, started_s: float, feed: Feed) -> None:
        """``started_s``: when the server was started, in seconds since 1970. ``feed``: gets the events;
        without a follower none are made."""
        self.feed = feed
        self._lock = threading.Lock()
        """Held while a sample is taken or the whole is read."""
        self._started_s = self._time_s = started_s
        self._now_s: float | None = None
        """Time of the last sample, by the monotonic clock."""
        self._since_1970_s = 0.0
        """What is added to the monotonic clock: times do not go back when the clock of the machine does."""
        self._running: list[Watched] = []
        self._titles: dict[str, tuple[dict[str, str], float]] = {}
        """By id: game and strategy of a search, and when it was last mentioned."""
        self._history: deque[dict[str, Any]] = deque(maxlen=SPAN_S // STEP_S)
        self._marks: deque[dict[str, Any]] = deque(maxlen=MARKS)
        self._rows: list[_Row] = []
        self._noted: dict[WorkerLog, int] = {}
        """By log of the executor's workers: the number of the last change that is noted."""
        self._merging: deque[int] = deque([0] * STRIP_S, maxlen=STRIP_S)
        self._grown: dict[str, tuple[list[float], dict[str, str]]] = {}
        """By search: what `Watched.grow` gave since the last point, and its title."""
        self._step_s = 0.0
        """Seconds since the last point."""
        self._merge_ms: float | None = None
        self._seen = Seen("", False, [])
        self._now: dict[str, Any] = {}

    def begun(
        self, search_id: str, title: dict[str, str], session: Session | Level, tell: Tell = lambda **_: None
    ) -> None:
        """Watch a search, from the counters that it has now. ``title``: its game and strategy. ``tell`` is
        called with the simulations and the playouts that it makes from now on, second by second."""
        counters = session.counters if isinstance(session, Level) else session.coordinator.counters
        watched = Watched(search_id, title, counters, session.context, session, tell)
        watched.grow()
        self._running.append(watched)

    def ended(self, search_id: str, session: Session | None = None) -> None:
        """Note that a search runs no more; what it has done since the last sample still counts. ``session``:
        only this one, of an analysis."""
        for watched in list(self._running):
            if watched.id == search_id and session in (None, watched.session):
                watched.session = None

    def run(self, look: Callable[[], Seen], closed: threading.Event) -> None:
        """Take a sample once a second until ``closed`` is set."""
        due_s = time.monotonic()
        while not closed.wait(max(0.0, due_s - time.monotonic())):
            try:
                self.sample(look(), time.time(), time.monotonic())
            except Exception:
                LOG.exception("a sample of workers and searches failed")
            # After a pause, such as a suspended machine, samples are not taken in a row.
            due_s = max(due_s + 1.0, time.monotonic() + 0.5)

    def sample(self, seen: Seen, time_s: float, now_s: float) -> None:
        """Take a sample; ``time_s``: in seconds since 1970, ``now_s``: by `time.monotonic`.

        With followers an event is published: a tick, or the whole if more than a second has passed, or if
        there are fewer workers than before.
        """
        with self._lock:
            gap_s = 1.0 if self._now_s is None else now_s - self._now_s
            seconds = max(1, min(STRIP_S, round(gap_s)))
            whole = seconds > 1 or len(seen.workers) < len(self._rows)
            self._since_1970_s = max(self._since_1970_s, time_s - now_s)
            self._seen, self._time_s, self._now_s = seen, round(now_s + self._since_1970_s, 3), now_s
            titles = set(self._titles)
            search_of = {each.context: each for each in list(self._running)}
            sessions = self._grow(gap_s, seconds)
            point = self._point()
            marks, since_s, lost = self._note_changes()
            strips, changed = self._look_at_workers(search_of, since_s, lost, seconds)
            self._now = self._summary(sessions)
            if not self.feed.followed:
                self.feed.skip()
            elif whole:
                self.feed.publish(CLUSTER, self._whole())
            else:
                tick = {
                    "time": self._time_s,
                    "ready": seen.ready,
                    "point": point,
                    "marks": marks,
                    "now": self._now,
                    "strips": strips,
                    "cores": [row.cores[-1] for row in self._rows],
                    "rates": [row.view["simulations_per_s"] for row in self._rows],
                    "busy": [row.view["busy"] for row in self._rows],
                    "changed": [dict(row.view) for row in changed],
                    "searches": {
                        each: title for each, (title, _) in self._titles.items() if each not in titles
                    },
                }
                self.feed.publish(TICK, tick)

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
            "history": self._recent(self._history),
            "searches": {each: title for each, (title, _) in self._titles.items()},
            "marks": self._recent(self._marks),
            "workers": [
                row.view | {"strip": list(row.strip), "cores": list(row.cores)} for row in self._rows
            ],
            "now": (self._now or self._summary([])) | {"merging": list(self._merging)},
        }

    def _recent(self, entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        return [each for each in entries if each["time"] >= self._time_s - SPAN_S]

    def _grow(self, gap_s: float, seconds: int) -> list[Session]:
        """Count what all searches have done; returns the sessions that run."""
        sessions, merge_s = [], 0.0
        for watched in list(self._running):
            # Before it is counted: another thread may end it.
            session, grown = watched.session, watched.grow()
            merge_s += grown[3]
            watched.tell(simulations=int(grown[0]), playouts=int(grown[1]))
            if any(grown):
                before, title = self._grown.get(watched.id, ([0] * 4, watched.title))
                self._grown[watched.id] = [a + b for a, b in zip(before, grown, strict=True)], title
            if session is None:
                self._running.remove(watched)
            elif not isinstance(session, Level):
                sessions.append(session)
        self._merging.extend([round(100 * _share(merge_s, gap_s))] * seconds)
        self._step_s += gap_s
        return sessions

    def _point(self) -> dict[str, Any] | None:
        """Add a point to the history, if a step is over."""
        if self._step_s < STEP_S - 0.5:
            return None
        most = sorted(self._grown.items(), key=lambda item: -item[1][0][0])
        listed = [(each, grown, title) for each, (grown, title) in most[:ENTRIES]]
        if rest := most[ENTRIES:]:
            sums = [sum(column) for column in zip(*(grown for _, (grown, _) in rest), strict=True)]
            listed.append((OTHERS, sums, {"game": "other searches", "strategy": ""}))
        rates = []
        for each, grown, title in listed:
            if grown[0] or grown[1]:
                rates.append([each, *(round(count / self._step_s, 1) for count in grown[:2])])
                self._titles[each] = title, self._time_s
        merges, merge_s = (sum(grown[i] for _, (grown, _) in most) for i in (2, 3))
        self._merge_ms = round(1000 * merge_s / merges, 3) if merges else None
        self._grown, self._step_s = {}, 0.0
        old_s = self._time_s - SPAN_S - STEP_S
        self._titles = {each: entry for each, entry in self._titles.items() if entry[1] >= old_s}
        self._history.append({"time": self._time_s, "rates": rates})
        return self._history[-1]

    def _note_changes(self) -> tuple[list[dict[str, Any]], dict[int, float], set[int]]:
        """Make marks of the changes of workers since the last sample.

        Returns the marks; by slot since when it is alive or not, if that has changed; and the slots that
        lost a process. An executor that was replaced has changes that were made after the last sample.
        """
        present = dict.fromkeys(worker.log for worker in self._seen.workers)
        made: list[dict[str, Any]] = []
        alive_since_s, lost = {}, set()
        for log in dict.fromkeys((*self._noted, *present)):
            number = self._noted.get(log, 0)
            new = [change for change in list(log.changes) if change.number > number]
            for change in new:
                time_s = round(change.time_s + self._since_1970_s, 3)
                if change.before.alive != change.after.alive:
                    alive_since_s[change.worker] = time_s
                if change.after is WorkerState.LOST:
                    lost.add(change.worker)
                if (what := _mark(change)) is not None:
                    made.append(
                        {
                            "time": time_s,
                            "worker": change.worker,
                            "machine": change.machine,
                            "change": what,
                            "reason": change.reason,
                        }
                    )
            self._noted[log] = new[-1].number if new else number
        self._noted = {log: self._noted[log] for log in present}
        made.sort(key=lambda mark: float(mark["time"]))
        self._marks.extend(made)
        return made, alive_since_s, lost

    def _look_at_workers(
        self, search_of: dict[int, Watched], since_s: dict[int, float], lost: set[int], seconds: int
    ) -> tuple[list[int], list[_Row]]:
        """Take a sample of each worker; returns the strips' entries by slot, and the workers that changed."""
        del self._rows[len(self._seen.workers) :]
        strips, changed = [], []
        for slot, status in enumerate(self._seen.workers):
            if slot == len(self._rows):
                self._rows.append(_Row(status.slot, self._time_s))
            row, search = self._rows[slot], search_of.get(-1 if status.context is None else status.context)
            before = row.told
            found = None if search is None else search.id
            entry = row.take(status, found, self._time_s, self._now_s or 0.0)
            if search is not None and row.view["search"] == search.id:
                self._titles[search.id] = search.title, self._time_s
            row.view["since"] = since_s.get(slot, row.view["since"])
            entry = NO_PROCESS if slot in lost else entry
            row.strip.extend([entry] * seconds)
            row.cores.extend([round(max(0, entry) * row.core)] * seconds)
            strips.append(entry)
            if row.told != before:
                changed.append(row)
        return strips, changed

    def _summary(self, sessions: list[Session]) -> dict[str, Any]:
        """What is so now, `Now` in answer_models.py."""
        coordinators = [session.coordinator for session in sessions]
        strategies = [each.search.strategy for each in coordinators]
        created = sum(int(strategy.created) for strategy in strategies)
        duplicates = sum(int(strategy.duplicates) for strategy in strategies)
        waits = [(session.elapsed_s, session.coordinator.waits_since_s) for session in sessions]
        lags_s = [elapsed_s - since_s for elapsed_s, since_s in waits if since_s is not None]
        # Of the last point, so that it is steady.
        rates = self._history[-1]["rates"] if self._history and sessions else []
        return {
            "simulations_per_s": round(sum(entry[1] for entry in rates), 1),
            "playouts_per_s": round(sum(entry[2] for entry in rates), 1),
            "searches_running": self._seen.searches_running,
            "running": list(dict.fromkeys(watched.id for watched in self._running)),
            "searches_waiting": self._seen.searches_waiting,
            "jobs_waiting": self._seen.jobs_waiting,
            "jobs_in_flight": sum(each.jobs_in_flight for each in coordinators),
            "results_waiting": sum(each.results_waiting for each in coordinators),
            "merge_lag_s": round(max([0.0, *lags_s]), 3),
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
    if change.after is WorkerState.LOST:
        return "left" if NODE_GONE in change.reason else "lost"
    if change.before.alive != change.after.alive:
        return "joined" if change.after.alive else "left"
    # Its process was lost at once, and now it shows that the machine is gone as well.
    return "left" if (change.before, change.after) == (WorkerState.STARTING, WorkerState.WAITING) else None
