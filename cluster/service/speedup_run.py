"""A speedup measurement on the workers of a server, beside its searches.

It consists of ordinary searches in the pool, one after the other, each limited to the first n workers. After
a short calibration each strategy has one number of simulations, so all its digests must be equal. There is no
ceiling: its processes would take the cores from the searches of others. One measurement runs at a time. It
ends with the server.
"""

from __future__ import annotations

import json
import logging
import math
import re
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, Literal

from cluster.checkpoint.checkpoint import Keeper, Opened
from cluster.lab.throughput.losses import Losses
from cluster.lab.throughput.speedup import default_lanes
from cluster.report.machine import provenance
from cluster.report.trust import warn_of_others
from cluster.runtime.session import Session
from cluster.service.errors import Problem
from cluster.service.pool import Run
from cluster.service.records import RUNNING
from cluster.service.report_files import id_of
from cluster.service.request_models import SpeedupBody, check_text
from cluster.service.searches import Searches
from cluster.system.processes import descendants
from games.errors import InvalidInput, counted
from search.coordinator import Coordinator
from search.prepare import open_search
from search.request import DEFAULT_MEMORY_MB, SearchRequest
from search.result import SearchResult
from search.worker import Worker

ALLOW = "--allow-speedup"
SECONDS = 120.0
"""Default duration."""
LOOK_S = 0.1
"""Interval, in seconds, of checks whether the measurement must end."""
CALIBRATION_S = (0.1, 1.0)
"""Seconds that a search of the calibration takes at least, in a short measurement and in others."""
GROWTH, FASTER = 4, 1.2
"""Each search of a calibration is so many times as long as the one before, until its rate is less than so
many times as high: the start of a search costs time."""
REPEATS = 3
LEAST_S = 1.0
"""Shortest search, in seconds, for which repeats are made instead of longer searches."""
LATE = 1.2
"""No further repeat begins that would end later than at this multiple of the duration."""
LONGEST = 4.0
"""A measurement that takes longer than this multiple of its duration has failed."""
LOG = logging.getLogger("banyan.speedup")


class Ended(Exception):
    """The reason why a measurement ends without a report."""


class _Unkept(Keeper):
    """Writes no checkpoints."""

    def __init__(self) -> None:
        self.written = 0

    def __call__(self, session: Session) -> None: ...

    def keep(self, session: Session) -> None: ...


class _Watched:
    """The watcher of one search of a measurement."""

    def __init__(self, searches: Searches, run_id: str, what: str) -> None:
        """``what`` is measured, in the words of the page."""
        self.session: Session | None = None
        self.result: SearchResult | None = None
        self.error = "the server is stopping"
        self.beside = False
        """Whether another search was in the pool."""
        self.over = threading.Event()
        self._searches, self._id, self._what = searches, f"speedup-{run_id}", what

    def begun(self, session: Session) -> None:
        self.session = session
        self._searches.watch.begun(self._id, session.search.request.game, self._what, session)
        if self._searches.metrics is not None:
            self._searches.metrics.watch(session)

    def looked(self, session: Session) -> None:
        self.beside = self.beside or self._searches.pool.num_runs > 1

    def ended(self, session: Session, result: SearchResult | None, error: str | None) -> None:
        self.result, self.error = result, error or ""
        self.put_off(session)

    def put_off(self, session: Session) -> None:
        self._searches.watch.ended(self._id)
        if self._searches.metrics is not None:
            self._searches.metrics.settle(session)
        self.over.set()


@dataclass
class Measurement:
    """How a measurement stands."""

    id: str
    game: str
    strategies: list[str]
    workers: list[int]
    seconds: float
    """About how long it was to take."""
    left_s: float
    """About how long it still takes."""
    started: float = field(default_factory=time.time)
    """Unix time in seconds."""
    state: Literal["running", "done", "cancelled", "failed"] = "running"
    doing: str = "preparation"
    repeat: int = 0
    """Number of the present repeat; 0 during the calibration."""
    repeats: int = 0
    simulations_per_s: float | None = None
    """The rate of the present search."""
    report: str | None = None
    """The id of its report, when it is done."""
    error: str | None = None
    """Why there is no report."""


@dataclass
class _Cell:
    """What was measured of one strategy on one number of workers, one entry per repeat."""

    planned_s: float
    rates: list[float] = field(default_factory=list)
    others: list[float] = field(default_factory=list)
    """Share of other programs in the time of all cores of this machine."""
    warnings: set[str] = field(default_factory=set)


class SpeedupRun:
    """One measurement, in a thread of its own. Other threads read its attributes."""

    def __init__(
        self, searches: Searches, requests: list[SearchRequest], workers: int, seconds: float
    ) -> None:
        """``requests``: one for each strategy; their budgets are chosen here."""
        strategies = [request.strategy for request in requests]
        counts = sorted({*(2**k for k in range(workers.bit_length())), workers})
        self.now = Measurement(uuid.uuid4().hex[:16], requests[0].game, strategies, counts, seconds, seconds)
        self._searches, self._requests = searches, requests
        self._cells: dict[tuple[str, int], _Cell] = {}
        self._digests: dict[str, str] = {}
        self._began_s = time.monotonic()
        self._watched: _Watched | None = None
        self._renewals = searches.pool.renewals
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._run, name="speedup", daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """End it without a result, and wait until it has ended."""
        self._cancelled.set()
        self._thread.join(2.0)

    def view(self) -> Measurement:
        """How it stands now."""
        session = None if self._watched is None else self._watched.session
        if session is None or self.now.state != RUNNING:
            return replace(self.now, left_s=0.0 if self.now.state != RUNNING else self.now.left_s)
        elapsed_s = max(session.elapsed_s, 1e-3)
        rate = session.coordinator.counters.simulations / elapsed_s
        return replace(self.now, simulations_per_s=rate, left_s=max(0.0, self.now.left_s - elapsed_s))

    def _run(self) -> None:
        now = self.now
        try:
            self._calibrate()
            measured_s, end_s = time.monotonic(), self._began_s + LATE * now.seconds
            while now.repeat < now.repeats:
                now_s = time.monotonic()
                if now.repeat and now_s + (now_s - measured_s) / now.repeat > end_s:
                    # Slower than in the calibration: fewer repeats, but whole ones.
                    now.repeats = now.repeat
                    break
                now.repeat += 1
                for request in self._requests:
                    for n in now.workers:
                        self._measure(request, n)
            now.report, now.state = id_of(self._write()), "done"
        except Ended as end:
            now.error, now.state = str(end), "cancelled" if self._cancelled.is_set() else "failed"
        except Exception as error:
            LOG.exception("a measurement of speedup has failed")
            now.error, now.state = f"{type(error).__name__}: {error}", "failed"
        LOG.info("speedup of %s: %s%s", now.game, now.state, f", {now.error}" if now.error else "")

    def _calibrate(self) -> None:
        """Choose the number of simulations of each strategy, and how many repeats there are."""
        few, many = self.now.workers[0], self.now.workers[-1]
        for request in self._requests:
            # Kernels are compiled, and loaded by the workers.
            self.now.game = self._search(request, many).game
        self._began_s, self.now.doing = time.monotonic(), "calibration"
        rates: dict[str, dict[int, float]] = {}
        for request in self._requests:
            low, high = self._rate(request, few), self._rate(request, many)
            slope = math.log(high / low) / math.log(many / few) if many > few else 0.0
            rates[request.strategy] = {n: low * (n / few) ** slope for n in self.now.workers}
        left_s = max(self.now.seconds / 2, self.now.seconds - (time.monotonic() - self._began_s))
        # One strategy gets as much time as another, on all numbers of workers together.
        simulations = {
            strategy: left_s / len(rates) / sum(1 / rate for rate in each.values())
            for strategy, each in rates.items()
        }
        shortest_s = min(simulations[strategy] / max(each.values()) for strategy, each in rates.items())
        self.now.repeats = min(REPEATS, max(1, int(shortest_s / LEAST_S)))
        most = self._searches.limits.simulations
        for at, request in enumerate(self._requests):
            number = min(most, max(request.lanes, round(simulations[request.strategy] / self.now.repeats)))
            self._requests[at] = replace(request, simulations=number)
            for n, rate in rates[request.strategy].items():
                self._cells[request.strategy, n] = _Cell(number / rate)
        self.now.left_s = self.now.repeats * sum(cell.planned_s for cell in self._cells.values())

    def _rate(self, request: SearchRequest, workers: int) -> float:
        """The rate of a search so long that a longer one is hardly faster."""
        most, rate = self._searches.limits.simulations, 0.0
        least_s, most_s = CALIBRATION_S
        least_s = min(most_s, max(least_s, self.now.seconds / (30 * len(self._requests))))
        while True:
            result = self._search(request, workers)
            before, rate = rate, max(1, result.simulations) / result.elapsed_s
            enough = result.elapsed_s >= least_s and rate <= FASTER * before
            if enough or result.elapsed_s >= 3 * least_s or result.simulations >= most:
                return rate
            request = replace(request, simulations=min(most, GROWTH * result.simulations))

    def _measure(self, request: SearchRequest, workers: int) -> None:
        cell = self._cells[request.strategy, workers]
        self.now.doing = f"{request.strategy} on {counted(workers, 'worker')}"
        losses = Losses()
        result = self._search(request, workers)
        if self._is_local() and (share := losses.others()) is not None:
            cell.others.append(share)
        if self._watched is not None and self._watched.beside:
            cell.warnings.add("other searches ran on this server at the same time")
        if result.workers_lost:
            cell.warnings.add("a worker was lost")
        cell.rates.append(result.simulations / result.elapsed_s)
        self.now.left_s -= cell.planned_s
        digest = self._digests.setdefault(request.strategy, result.digest)
        if result.digest != digest:
            raise Ended(f"{self.now.doing}: the digest {result.digest} differs from {digest}")

    def _search(self, request: SearchRequest, workers: int) -> SearchResult:
        """Run one search on the first workers of the pool. Raises Ended."""
        opened = Opened(Coordinator(open_search(request, files=False), 1))
        # Compiled here, so that the workers find the kernels in the cache of this machine.
        Worker().prepare(opened.coordinator.search.context)
        pool = self._searches.pool
        what = f"{request.strategy}, speedup on {counted(workers, 'worker')}"
        watched = self._watched = _Watched(self._searches, self.now.id, what)
        run = Run(opened, watched, _Unkept(), most_workers=workers)
        pool.add(run)
        while not watched.over.wait(LOOK_S):
            if (end := self._end()) is not None:
                pool.cancel(run)
                raise end
        if watched.result is None:
            raise Ended(watched.error)
        return watched.result

    def _end(self) -> Ended | None:
        """Why the measurement must end now, if it must."""
        pool = self._searches.pool
        if self._cancelled.is_set():
            return Ended("it was cancelled")
        if self._searches.draining or not pool.alive:
            return Ended("the server is stopping")
        if not pool.healthy or pool.renewals != self._renewals:
            return Ended("the workers were lost, and others are started")
        if time.monotonic() - self._began_s > LONGEST * self.now.seconds + 60.0:
            return Ended(f"it took more than {LONGEST:g} times as long as planned")
        return None

    def _is_local(self) -> bool:
        """Whether all workers are processes of this machine that this server started."""
        pids: list[int] = getattr(self._searches.pool.executor, "worker_pids", list)()
        return set(filter(None, pids)) <= descendants()

    def _rows(self) -> Iterator[dict[str, Any]]:
        """The results with the fields of `banyan speedup`, those of the ceiling being null, and warnings."""
        fields: dict[str, Any] = {
            "game": self.now.game,
            "ceiling_simulations_per_s": None,
            "of_ceiling": None,
            "ceiling_spread": None,
            "of_ceiling_spread": None,
            "spent": {},
            "executor": self._searches.pool.executor.name,
            "measured_on": provenance(),
        }
        others_of = {key: median(cell.others) if cell.others else None for key, cell in self._cells.items()}
        doubt = warn_of_others(list(others_of.values()), "runs")
        for request in self._requests:
            base = median(self._cells[request.strategy, self.now.workers[0]].rates)
            for n in self.now.workers:
                cell = self._cells[request.strategy, n]
                rate, others = median(cell.rates), others_of[request.strategy, n]
                warnings = sorted(cell.warnings)
                if doubt is not None and warn_of_others([others], "runs") is not None:
                    warnings.append(doubt)
                yield fields | {
                    "strategy": request.strategy,
                    "lanes": request.lanes,
                    "workers": n,
                    "simulations": request.simulations,
                    "simulations_per_s": round(rate, 1),
                    "speedup": round(rate / base, 4),
                    "efficiency": round(rate / base / n, 4),
                    "digest": self._digests[request.strategy],
                    "repeats": len(cell.rates),
                    "spread": (round(min(cell.rates), 1), round(max(cell.rates), 1)),
                    "others": others,
                    "trusted": not warnings,
                    "warnings": warnings,
                }

    def _write(self) -> str:
        """Write speedup.json; returns its path, relative to the data folder. Raises OSError."""
        slug = re.sub(r"[^A-Za-z0-9=_-]+", "-", self.now.game)[:60]
        name = f"reports/{time.strftime('%Y-%m-%d-%H%M%S')}-{slug}/speedup.json"
        path = self._searches.store.folder / name
        path.parent.mkdir(parents=True)
        # Renamed when it is whole, because others may read the folder.
        part = path.with_suffix(".part")
        part.write_text(json.dumps(list(self._rows()), indent=2) + "\n", encoding="utf-8")
        part.replace(path)
        return name


class Speedups:
    """The measurements of a server: at most one runs, and the last one is remembered."""

    def __init__(self, searches: Searches, *, allowed: bool) -> None:
        self.allowed = allowed
        self.last: SpeedupRun | None = None
        self._searches = searches
        self._lock = threading.Lock()

    @property
    def num_workers(self) -> int:
        """The number of workers that are there."""
        return sum(worker.alive for worker in self._searches.pool.workers)

    def start(self, body: SpeedupBody, address: str) -> SpeedupRun:
        """Start a measurement for a client at this address. Raises InvalidInput, Problem (403, 409, 503)."""
        if not self.allowed:
            raise Problem(403, f"measurements are not allowed on this server, which runs without {ALLOW}")
        limits, available = self._searches.limits, self.num_workers
        if self._searches.draining or not available:
            raise Problem(503, "there is no worker now", {"Retry-After": "5"})
        workers = available if body.workers is None else body.workers
        if workers > available:
            accepted = f"a whole number from 1 to {available}, the workers of this server now"
            raise InvalidInput("workers", workers, accepted)
        seconds = min(SECONDS, limits.seconds) if body.seconds is None else body.seconds
        if seconds > limits.seconds:
            raise InvalidInput("seconds", seconds, f"at most {limits.seconds:g} on this server")
        check_text(body.game, "game", limits)
        lanes = min(limits.lanes, limits.simulations, default_lanes(workers))
        requests = [
            SearchRequest(
                game=body.game,
                strategy=strategy,
                simulations=lanes,
                lanes=lanes,
                memory_mb=min(limits.memory_mb, DEFAULT_MEMORY_MB),
            )
            for strategy in dict.fromkeys(body.strategies)
        ]
        for request in requests:
            self._searches.games.check(request, address)
        with self._lock:
            if self.last is not None and self.last.now.state == RUNNING:
                detail = "a measurement is running; this server runs one at a time"
                raise Problem(409, detail, field="id", value=self.last.now.id)
            self.last = SpeedupRun(self._searches, requests, workers, seconds)
            return self.last

    def cancel(self, run_id: str) -> SpeedupRun:
        """End a measurement without a result; no effect if it is over. Raises Problem (404)."""
        run = self.last
        if run is None or run.now.id != run_id:
            raise Problem(404, "there is no such measurement", field="id", value=run_id[:64])
        run.cancel()
        return run
