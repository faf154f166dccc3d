"""Results of `banyan speedup`, `predict` and `strength` in a data folder; measurements of a server's speedup.

Files are found by their names, at most DEPTH folders below the data folder, and no link is followed. A client
names a file by an id from the list, never by a path. Only JSON of the file's kind is served: each file is
parsed once, until it changes.

A measurement consists of ordinary searches in the pool, one after the other, each limited to the first n
workers. There is no ceiling: its processes would take the cores from the searches of others. One measurement
runs at a time. It ends with the server.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import stat
import threading
import time
import uuid
from asyncio import shield, wrap_future
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from heapq import nlargest
from pathlib import Path
from typing import Any, Literal

from pydantic_core import from_json

import games
from cluster.checkpoint.checkpoint import Keeper, begun
from cluster.lab.throughput.losses import Losses
from cluster.lab.throughput.speedup import (
    SECONDS,
    MeasuredRun,
    SpeedupRow,
    SpeedupRunner,
    default_lanes,
    ignore,
    measure_speedup,
)
from cluster.lab.throughput.speedup_report import rows_json
from cluster.runtime.session import Session
from cluster.service.errors import Problem
from cluster.service.pool import Run
from cluster.service.records import RUNNING
from cluster.service.request_models import SpeedupBody
from cluster.service.searches import Searches
from cluster.system.files import replace_text
from cluster.system.processes import descendants
from cluster.system.terminal import span
from games.errors import InvalidInput, counted, in_words
from search.request import DEFAULT_MEMORY_MB, SearchRequest
from search.result import SearchResult
from search.worker import Worker

KINDS = {f"{kind}.json": kind for kind in ("speedup", "predict", "strength")}
DEPTH = 3
MOST, CONTENTS = 200, 4
"""Largest number of listed files, the newest ones, and of files whose content is cached."""
MOST_FOLDERS = 1000
"""Folders of one depth in which files are looked for: those that have changed last."""
MOST_BYTES, MOST_VALUES = 5_000_000, 400_000
"""Largest file that is shown, in bytes and roughly in values: all other threads stop while it is parsed."""
OWN_FOLDER = "checkpoints"
"""The folder with the server's own files, which may be thousands."""
TITLE = 200
"""Largest number of characters of a title."""


class Unusable(ValueError):
    """The reason why a file cannot be shown, in one line."""


@dataclass(frozen=True)
class Report:
    """A file in the list."""

    id: str
    kind: str
    name: str
    """Its folder, relative to the data folder."""
    modified: float
    """Unix time in seconds."""
    title: str
    problem: str | None
    """Why it cannot be shown; None if it can."""


File = tuple[str, int, int, int]
"""A file as it was found: its path, and what identifies its content: time (ns), bytes, and inode."""


class Reports:
    """The reports in a data folder, read by one thread for all requests, which wait without a thread."""

    def __init__(self, folder: Path, walk: Callable[[str], dict[str, File]] | None = None) -> None:
        self._newest, self._folder = walk or newest, str(folder.resolve())
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="reports")
        self._walk: Future[dict[str, File]] | None = None

    async def listed(self) -> list[Report]:
        """The newest reports, the newest first."""
        return await wrap_future(self._reader.submit(_listed, self._folder, await self._found()))

    async def content(self, report_id: str) -> bytes | None:
        """The content of a listed report; None if there is none with this id. Raises Unusable."""
        file = (await self._found()).get(report_id)
        return None if file is None else await wrap_future(self._reader.submit(_content, *file))

    async def _found(self) -> dict[str, File]:
        """By id: the files that are there. All requests that come before a walk begins wait for this walk."""
        if self._walk is None or self._walk.running() or self._walk.done():
            self._walk = self._reader.submit(self._newest, self._folder)
        return await shield(wrap_future(self._walk))


def newest(folder: str) -> dict[str, File]:
    """By id: files with names of KINDS, whatever they are; the newest first."""
    found, level = list[File](), [(0, folder)]
    for depth in range(DEPTH + 1):
        below = []
        for _, where in nlargest(MOST_FOLDERS, level):
            # What has gone meanwhile, or cannot be read, is not there.
            with suppress(OSError), os.scandir(where) as entries:
                for entry in entries:
                    with suppress(OSError):
                        now = entry.stat(follow_symlinks=False)
                        if entry.name in KINDS:
                            found.append((entry.path, now.st_mtime_ns, now.st_size, now.st_ino))
                        elif stat.S_ISDIR(now.st_mode) and (depth or entry.name != OWN_FOLDER):
                            below.append((now.st_mtime_ns, entry.path))
        level = below
    found.sort(key=lambda file: (-file[1], file[0]))
    return {id_of(os.path.relpath(file[0], folder)): file for file in found[:MOST]}


def _listed(folder: str, files: dict[str, File]) -> list[Report]:
    reports = []
    for report_id, file in files.items():
        title, problem = _title(*file)
        path = os.path.relpath(file[0], folder)
        where, name = os.path.split(path)
        kind, seconds = KINDS[name], file[1] / 1e9
        reports.append(Report(report_id, kind, _shown(where), seconds, title or _shown(path), problem))
    return reports


def _content(*file: Any) -> bytes:
    """The content of a file that can be shown. Raises Unusable."""
    _, problem = _title(*file)
    if problem is not None:
        raise Unusable(problem)
    return _read(*file)


def id_of(path: str) -> str:
    """The id of the file with this path, relative to the data folder."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


def _shown(text: str) -> str:
    """A text that can be encoded."""
    return text[:TITLE].encode(errors="replace").decode()


@lru_cache(2 * MOST)
def _title(place: str, *identity: int) -> tuple[str, str | None]:
    """What a report is about, or why it cannot be shown."""
    try:
        title = _described(KINDS[os.path.basename(place)], _read(place, *identity))
        return _shown(title), None
    except Unusable as error:
        return "", str(error)


@lru_cache(CONTENTS)
def _read(place: str, *identity: int) -> bytes:
    """The content of the file with this identity. Raises Unusable."""
    try:
        # Not blocking, in case it is a pipe.
        with open(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            now = os.fstat(file.fileno())
            is_file = stat.S_ISREG(now.st_mode)
            content = file.read(MOST_BYTES + 1) if is_file else b""
    except OSError as error:
        problem = "a link, which is not followed" if os.path.islink(place) else str(error.strerror)
        raise Unusable(problem) from None
    if not is_file:
        raise Unusable("not a file")
    if (now.st_mtime_ns, now.st_size, now.st_ino) != identity:
        raise Unusable("it is being written")
    if len(content) > MOST_BYTES:
        raise Unusable(f"larger than {MOST_BYTES // 10**6} MB")
    return content


def _described(kind: str, content: bytes) -> str:
    """The title of a file: ``hex: root and tree on 1 to 8 workers``. Raises Unusable."""
    if sum(map(content.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise Unusable(f"more than {MOST_VALUES:,} values")
    try:
        value = from_json(content, allow_inf_nan=False)
    except ValueError:
        raise Unusable("not a JSON file, half of one, or one with numbers that JSON does not have") from None
    is_strength = kind == "strength"
    try:
        rows = value if kind == "speedup" else value["rows" if is_strength else "predicted"]
        game = value["game"] if is_strength else rows[0]["game"]
        unit = "lane" if is_strength else "worker"
        on = span([int(row[f"{unit}s"]) for row in rows], unit)
        names = in_words(list(dict.fromkeys(row["strategy"] for row in rows)))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError):
        raise Unusable(f"not a result of banyan {kind} that this version can show") from None
    return f"{game}: strength of {names} with {on}" if is_strength else f"{game}: {names} on {on}"


ALLOW = "--allow-speedup"
LOOK_S = 0.1
"""Interval, in seconds, of checks whether the measurement must end."""
CANCELLED = "it was cancelled"
KEPT, OWN = 100, "????-??-??-??????-*"
"""Number of reports of this server that are kept, and the names of their folders."""
LOG = logging.getLogger("banyan.speedup")


class Ended(Exception):
    """The reason why a measurement ends without a report."""


class _Unkept(Keeper):
    """Writes no checkpoints."""

    def __init__(self) -> None:
        self.written = 0

    def __call__(self, session: Session) -> None: ...

    def keep(self, session: Session) -> None: ...


@dataclass
class Measurement:
    """The state of a measurement."""

    id: str
    game: str
    strategies: list[str]
    workers: list[int]
    seconds: float
    """About how long the measurement was planned to take."""
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


class SpeedupRun(SpeedupRunner):
    """One measurement, in a thread of its own, and the watcher of its searches. Other threads may read it."""

    def __init__(
        self,
        searches: Searches,
        request: SearchRequest,
        strategies: Iterable[str],
        workers: int,
        seconds: float,
        thread: ThreadPoolExecutor,
    ) -> None:
        """``workers``: the largest number. The budget of the request is chosen here. ``thread`` runs one
        measurement at a time: a cancelled one may compile kernels for some seconds more."""
        counts = sorted({*(2**k for k in range(workers.bit_length())), workers})
        self.now = Measurement(uuid.uuid4().hex[:16], request.game, [*strategies], counts, seconds)
        self.executor = searches.pool.executor.name
        self.most_simulations = searches.limits.simulations
        self._searches = searches
        self._request = request
        self._session: Session | None = None
        self._result: Future[SearchResult] = Future()
        """The result of the present search."""
        self._beside = False
        """Whether another search was in the pool."""
        self.cancelled = threading.Event()
        """Set to end it without a result."""
        thread.submit(self._run)

    def view(self) -> Measurement:
        """The present state of the measurement."""
        if self.now.state != RUNNING:
            return self.now
        if self.cancelled.is_set():
            return replace(self.now, state="cancelled", error=CANCELLED)
        rate, session = None, self._session
        if session is not None:
            rate = session.coordinator.counters.simulations / max(session.elapsed_s, 1e-3)
        left_s = max(0.0, self.end_s - time.monotonic())
        return replace(self.now, simulations_per_s=rate, left_s=left_s)

    def begun(self, session: Session) -> None:
        self._session = session
        title = {"game": self.now.game, "strategy": f"{session.search.request.strategy}, speedup"}
        self._searches.watch.begun(f"speedup-{self.now.id}", title, session)
        self._searches.metrics.watch(session)

    def looked(self, session: Session) -> None:
        self._beside = self._beside or self._searches.pool.num_runs > 1

    def ended(self, session: Session, result: SearchResult | None, error: str | None) -> None:
        self._session = None
        self._searches.watch.ended(f"speedup-{self.now.id}")
        self._searches.metrics.settle(session)
        if result is None:
            self._result.set_exception(Ended(error))
        else:
            self._result.set_result(result)

    def put_off(self, session: Session) -> None:
        self.ended(session, None, "the server is stopping")

    def search(self, request: SearchRequest, workers: int) -> MeasuredRun:
        opened = begun(request, files=False)
        # Compiled here, so that the workers find the kernels in the cache of this machine.
        Worker().prepare(opened.coordinator.search.context)
        self._look()
        self.now.doing = f"{request.strategy} on {counted(workers, 'worker')}"
        self._result, self._beside = Future(), False
        pool, losses = self._searches.pool, Losses()
        renewals, ready = pool.renewals, sum(each.state.ready for each in pool.executor.workers[:workers])
        run = Run(opened, self, _Unkept(), most_workers=workers)
        pool.add(run)
        try:
            while not wait([self._result], LOOK_S).done:
                self._look()
        except Ended:
            pool.cancel(run)
            raise
        result = self._result.result()
        warnings = ["other searches ran on this server at the same time"] * self._beside
        warnings += ["a worker was not ready when a search began"] * (ready < workers)
        warnings += ["a worker was lost"] * (result.workers_lost > 0 or pool.renewals > renewals)
        pids: list[int] = getattr(pool.executor, "worker_pids", list)()
        others = losses.others() if set(filter(None, pids)) <= descendants() else None
        return MeasuredRun(result.simulations / result.elapsed_s, result.digest, others, warnings=warnings)

    def _look(self) -> None:
        """Raises Ended if the measurement must end."""
        if self.cancelled.is_set():
            raise Ended(CANCELLED)
        if self._searches.draining or not self._searches.pool.alive:
            raise Ended("the server is stopping")

    def _run(self) -> None:
        now = self.now
        try:
            self._look()
            now.game = games.load(now.game).spec
            request = replace(self._request, game=now.game)
            rows = measure_speedup(
                request, now.strategies, now.workers, self, seconds=now.seconds, report=ignore
            )
            self._look()
            now.report, now.state = id_of(self._write(rows)), "done"
        except Ended as end:
            now.error, now.state = str(end), "cancelled" if self.cancelled.is_set() else "failed"
        except Exception as error:
            LOG.exception("a measurement of speedup has failed")
            now.error, now.state = f"{type(error).__name__}: {error}", "failed"
        LOG.info("speedup of %s: %s%s", now.game, now.state, f", {now.error}" if now.error else "")

    def _write(self, rows: list[SpeedupRow]) -> str:
        """Write speedup.json; returns its path, relative to the data folder. Raises OSError."""
        slug = re.sub(r"[^A-Za-z0-9=_-]+", "-", self.now.game)[:60]
        name = f"reports/{time.strftime('%Y-%m-%d-%H%M%S')}-{slug}/speedup.json"
        path = self._searches.store.folder / name
        path.parent.mkdir(parents=True)
        # Names begin with the time.
        for old in sorted(set(path.parent.parent.glob(OWN)) - {path.parent})[: 1 - KEPT]:
            with suppress(OSError):
                (old / path.name).unlink()
                old.rmdir()
        replace_text(path, json.dumps(rows_json(rows), indent=2) + "\n")
        return name


class Speedups:
    """The measurements of a server: at most one runs, and the last one is remembered."""

    def __init__(self, searches: Searches, *, allowed: bool) -> None:
        self.allowed, self.reports = allowed, Reports(searches.store.folder)
        self.last: SpeedupRun | None = None
        self._searches = searches
        self._lock = threading.Lock()
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="speedup")

    @property
    def num_workers(self) -> int:
        """Number of live workers."""
        return sum(worker.alive for worker in self._searches.pool.executor.workers)

    def start(self, body: SpeedupBody, address: str) -> SpeedupRun:
        """Start a measurement for a client at this address.

        Raises InvalidInput, Problem (403, 409, 429, 503).
        """
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
        lanes = min(limits.lanes, limits.simulations, default_lanes(workers))
        memory_mb = min(limits.memory_mb, DEFAULT_MEMORY_MB)
        request = SearchRequest(game=body.game, lanes=lanes, memory_mb=memory_mb)
        strategies = dict.fromkeys(body.strategies)
        for strategy in strategies:
            trial = replace(request, strategy=strategy, simulations=lanes)
            self._searches.games.check(trial, address)
        with self._lock:
            if self.last is not None and self.last.view().state == RUNNING:
                detail = "a measurement is running; this server runs one at a time"
                raise Problem(409, detail, field="id", value=self.last.now.id)
            self.last = SpeedupRun(self._searches, request, strategies, workers, seconds, self.thread)
            return self.last

    def cancel(self, run_id: str) -> SpeedupRun:
        """End a measurement without a result; no effect if it is over. Raises Problem (404)."""
        run = self.last
        if run is None or run.now.id != run_id:
            raise Problem(404, "there is no such measurement", field="id", value=run_id[:64])
        run.cancelled.set()
        return run
