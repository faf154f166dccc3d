"""A speedup measurement on the workers of a server, beside its searches.

It consists of ordinary searches in the pool, one after the other, each limited to the first n workers. After
a short calibration each strategy has one number of simulations, so all its digests must be equal. There is no
ceiling: its processes would take the cores from the searches of others. One measurement runs at a time. It
ends with the server.
"""

from __future__ import annotations

import json
import logging
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
from cluster.lab.throughput.speedup import (
    CALIBRATION_S,
    REPEATS,
    SECONDS,
    Schedule,
    default_lanes,
    rounded,
)
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
LOOK_S = 0.1
"""Interval, in seconds, of checks whether the measurement must end."""
LATE_S = 600.0
"""A measurement has failed if it is late by more than this and the duration that was asked for."""
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
    started: float = field(default_factory=time.time)
    """Unix time in seconds."""
    state: Literal["running", "done", "cancelled", "failed"] = "running"
    doing: str = "preparation"
    """What is measured now."""
    left_s: float = 0.0
    """About how long it still takes."""
    simulations_per_s: float | None = None
    """The rate of the present search."""
    report: str | None = None
    """The id of its report, when it is done."""
    error: str | None = None
    """Why there is no report."""


@dataclass
class _Cell:
    """What was measured of one strategy on one number of workers, one entry for each run."""

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
        self.now = Measurement(uuid.uuid4().hex[:16], requests[0].game, strategies, counts, seconds)
        self._searches = searches
        self._requests = {request.strategy: request for request in requests}
        self._cells: dict[tuple[str, int], _Cell] = {}
        self._digests: dict[str, str] = {}
        self.end_s = time.monotonic() + seconds
        """When it should end, by the monotonic clock."""
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
        if self.now.state != RUNNING:
            return self.now
        rate, session = None, None if self._watched is None else self._watched.session
        if session is not None:
            rate = session.coordinator.counters.simulations / max(session.elapsed_s, 1e-3)
        left_s = max(0.0, self.end_s - time.monotonic())
        return replace(self.now, simulations_per_s=rate, left_s=left_s)

    def _run(self) -> None:
        now = self.now
        try:
            schedule = self._calibrate()
            while (key := schedule.next()) is not None:
                began_s = time.monotonic()
                self._measure(*key)
                schedule.took_s[key].append(time.monotonic() - began_s)
            now.report, now.state = id_of(self._write()), "done"
        except Ended as end:
            now.error, now.state = str(end), "cancelled" if self._cancelled.is_set() else "failed"
        except Exception as error:
            LOG.exception("a measurement of speedup has failed")
            now.error, now.state = f"{type(error).__name__}: {error}", "failed"
        LOG.info("speedup of %s: %s%s", now.game, now.state, f", {now.error}" if now.error else "")

    def _calibrate(self) -> Schedule:
        """Choose the number of simulations of each strategy."""
        few, many = self.now.workers[0], self.now.workers[-1]
        for request in self._requests.values():
            # Kernels are compiled, and loaded by the workers.
            self.now.game = self._search(request, many).game
        self.now.doing = "calibration"
        rates: dict[str, list[float]] = {}
        for strategy, request in self._requests.items():
            timed = replace(request, simulations=None, seconds=CALIBRATION_S)
            results = [self._search(timed, n) for n in (few, many)]
            rates[strategy] = [max(1, result.simulations) / result.elapsed_s for result in results]
        self.end_s = max(self.end_s, time.monotonic() + self.now.seconds / 2)
        share_s = (self.end_s - time.monotonic()) / len(rates) / REPEATS
        expected_s: dict[tuple[str, int], float] = {}
        for strategy, (one, most) in rates.items():
            speeds = {n: min(n / few, max(1.0, most / one)) for n in self.now.workers}
            request = self._requests[strategy]
            number = rounded(share_s * one / sum(1 / speed for speed in speeds.values()), request.lanes)
            number = min(number, self._searches.limits.simulations)
            self._requests[strategy] = replace(request, simulations=number)
            expected_s |= {(strategy, n): number / one / speed for n, speed in speeds.items()}
        self._cells = {key: _Cell() for key in expected_s}
        return Schedule(expected_s, None, self.end_s)

    def _measure(self, strategy: str, workers: int) -> None:
        cell = self._cells[strategy, workers]
        self.now.doing = f"{strategy} on {counted(workers, 'worker')}, run {len(cell.rates) + 1}"
        losses = Losses()
        result = self._search(self._requests[strategy], workers)
        if self._is_local() and (share := losses.others()) is not None:
            # Ticks of a worker that has gone are missing.
            cell.others.append(min(1.0, share))
        if self._watched is not None and self._watched.beside:
            cell.warnings.add("other searches ran on this server at the same time")
        if result.workers_lost:
            cell.warnings.add("a worker was lost")
        cell.rates.append(result.simulations / result.elapsed_s)
        digest = self._digests.setdefault(strategy, result.digest)
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
        if time.monotonic() > self.end_s + self.now.seconds + LATE_S:
            return Ended("searches were much slower than in the calibration")
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
        for strategy, request in self._requests.items():
            base = median(self._cells[strategy, self.now.workers[0]].rates)
            for n in self.now.workers:
                cell = self._cells[strategy, n]
                rate, others = median(cell.rates), others_of[strategy, n]
                warnings = sorted(cell.warnings)
                if doubt is not None and warn_of_others([others], "runs") is not None:
                    warnings.append(doubt)
                yield fields | {
                    "strategy": strategy,
                    "lanes": request.lanes,
                    "workers": n,
                    "simulations": request.simulations,
                    "simulations_per_s": round(rate, 1),
                    "speedup": round(rate / base, 4),
                    "efficiency": round(rate / base / n, 4),
                    "digest": self._digests[strategy],
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
