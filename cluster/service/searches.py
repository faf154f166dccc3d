"""The searches of a service: accepted, waiting, running, over.

A search is stored before it is acknowledged, and its result is stored before it is announced. So a server
that was killed finds all open searches when it starts again: each is resumed from its checkpoint or begins
anew, with an unchanged result. Threads: requests arrive in any thread, kernels are compiled and trees created
in one (`_opener`), the pool reports events in its own thread, and the recorder's thread stores them.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
import uuid
from bisect import insort
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

from cluster.checkpoint.checkpoint import Keeper, Opened, begun, read_checkpoint
from cluster.observe.metrics import Metrics
from cluster.runtime.session import Session
from cluster.service.answer_models import CurvePoint
from cluster.service.cluster_watch import ClusterWatch, Seen
from cluster.service.errors import Problem, of_input, of_storage
from cluster.service.external_run import ExternalRun
from cluster.service.kept_analyses import Analysis
from cluster.service.kept_trees import KeptTrees
from cluster.service.known_games import KnownGames
from cluster.service.limits import Limits
from cluster.service.live import FINAL, Feed, Live, final_data
from cluster.service.pool import Pool, Run
from cluster.service.records import CANCELLED, DONE, FAILED, QUEUED, RUNNING, Action, Record, Recorder
from cluster.service.request_models import SearchBody
from cluster.service.service_figures import ServiceFigures
from cluster.service.store import Store
from cluster.system.allocator import LongLived
from games.errors import InvalidInput, counted
from search.evaluator import EXTERNAL
from search.request import SearchRequest
from search.result import SearchResult
from search.strategies import for_workers
from search.worker import Worker

CLOSE_S = 0.5
"""Seconds for which the end of a server waits for compiled code."""
NOTED_S = 0.2
"""Interval, in seconds, of checks for the end of the server while a search's start waits to be stored."""
FORGET_EVERY = 50
"""Old searches are deleted each time this number of searches has ended."""
IDLE_S, LONG_IDLE_S, FIRST_S = 2.0, 30.0, 10.0
"""Seconds without an answer after which a search with an external evaluator gives its place to a waiting
search: to one of a higher priority, to any other, and to any other if no client has answered yet."""
DEATHS = 3
"""A search that was running when this number of servers died fails, if it ran alone the last time."""
LOG = logging.getLogger("banyan.searches")
Kept = TypeVar("Kept", Record, Analysis)


class Searches:
    """All searches of one server."""

    def __init__(
        self,
        store: Store,
        pool: Pool,
        limits: Limits,
        checkpoint_every_s: float = 10.0,
        recorder: Recorder | None = None,
        games: KnownGames | None = None,
    ) -> None:
        self.store, self.pool, self.limits = store, pool, limits
        self.games = games or KnownGames()
        self.figures = ServiceFigures()
        self.metrics = Metrics(
            sources=(lambda: self.figures.families(pool, len(self._waiting), len(self._running)),)
        )
        self.draining = False
        self._every_s = checkpoint_every_s
        self._boot = store.boot(time.time())
        self.watch = ClusterWatch(time.time(), Feed(self._boot))
        self._closed = threading.Event()
        self._sampler = threading.Thread(
            target=self.watch.run, args=(self._look, self._closed), name="sampler", daemon=True
        )
        self._lock = threading.RLock()
        """Held while one of the three attributes below changes."""
        self._live: dict[str, Live] = {}
        self._waiting: list[Live] = []
        """Waiting searches in the order in which they begin."""
        self._running: set[str] = set()
        self._suspects: set[str] = set()
        """Ids of searches that fail if the server dies once more while they run; each of them runs alone."""
        self._ended = 0
        self._trees = KeptTrees(limits.memory_mb * 2**20)
        self._opener = ThreadPoolExecutor(1, thread_name_prefix="opener")
        self._long_lived = LongLived()
        self.recorder = recorder or Recorder()

    def start(self, *, died: bool = False) -> None:
        """Load the searches that were open when the last server ended. ``died``: whether that server crashed,
        while its supervisor survived."""
        deaths: dict[str, int] = {}
        left: list[str] = []
        if died:
            deaths, left = self.store.count_death()
        else:
            self.store.put_away()
        self._suspects = {search_id for search_id, number in deaths.items() if number >= DEATHS - 1}
        for record in self.store.open_searches():
            if record.unreadable is None:
                self._enter(record)
            else:
                LOG.error("search %s cannot be read and stays as it is: %s", record.id, record.unreadable)
        if len(left) == 1 and deaths[left[0]] >= DEATHS and left[0] in self._live:
            self._blame(self._live[left[0]], deaths[left[0]])
        self._fill()
        self._sampler.start()

    def trouble(self) -> str | None:
        """Why nothing can be stored now; None if storing works."""
        return self.recorder.trouble or self.store.check(time.time())

    def submit(self, body: SearchBody, key: str | None, address: str = "") -> tuple[Record, bool]:
        """Accept a search of a client at this address; returns (record, False), or (record, True) for the
        existing search of this key.

        Raises InvalidInput, Problem (422, 429, 503).
        """
        if key is not None and (known := self.store.with_key(key)) is not None:
            return self.same(known, body.fingerprint(), key), True
        request = body.request(self.limits)
        seen = self.games.check(request, address)
        fingerprint = body.fingerprint()
        # Hidden information is not stored: the search does not use it, and other clients must not see it.
        body = body.model_copy(update={"position": seen})
        self._trees.check(body.model_dump())
        with self._lock:
            self.refuse_if_full(len(self._waiting), "search", "searches")
            search_id = uuid.uuid4().hex
            record = self.store.add(search_id, body.model_dump(), key, fingerprint, time.time())
            if record.id != search_id:
                return self.same(record, fingerprint, key), True
            self._enter(record)
            self.figures.accepted(body.game, body.strategy)
        LOG.info("search %s accepted: %s", record.id, body.game)
        self._fill()
        return record, False

    def get(self, search_id: str) -> Record:
        """The record of a search: from memory if it is open, else from the store. Raises Problem (404)."""
        live = self._live.get(search_id)
        record = self.store.get(search_id) if live is None else live.record
        if record is None:
            raise Problem(404, "there is no such search", field="id", value=search_id[:64])
        return record

    def live(self, search_id: str) -> Live | None:
        """The open search with this id; None if there is none."""
        return self._live.get(search_id)

    def searches_before(self, search_id: str) -> int | None:
        """The number of searches that begin before a waiting search; None if it is not waiting."""
        # A copy instead of the lock, which may be held during a write to the disk.
        return next((i for i, live in enumerate(list(self._waiting)) if live.id == search_id), None)

    def curve(self, search_id: str) -> list[CurvePoint]:
        """The curve of a search, from memory if it has run in this server, else from the store."""
        live = self._live.get(search_id)
        return (live.curve if live is not None else []) or self.store.curve(search_id)

    def readable(self, search_id: str) -> Record:
        """The record of a search if it is readable. Raises Problem (404, 409)."""
        record = self.get(search_id)
        if record.unreadable is not None:
            detail = f"the record of this search cannot be read: {record.unreadable}"
            raise Problem(409, detail, field="id", value=search_id[:64])
        return record

    def cancel(self, search_id: str) -> Record:
        """End a search with its result so far; no effect if it is over.

        Raises Problem (404, 409), sqlite3.Error; in that case nothing has changed.
        """
        self.readable(search_id)
        with self._lock:
            live = self._live.get(search_id)
            if live is not None and not live.cancelled:
                # A waiting search with a checkpoint ends with the checkpoint's result when its turn comes.
                if live in self._waiting and not self._path(search_id).exists():
                    store, tell = self._end(live, CANCELLED)
                    store()
                    self._waiting.remove(live)
                    tell()
                else:
                    # Stored, in case the server is killed before the search ends.
                    self.store.update(search_id, to_cancel=True)
                    live.cancelled = True
                    if live.run is not None:
                        self.pool.cancel(live.run)
                    self.wake(live)
        return self.get(search_id)

    def wake(self, live: Live) -> None:
        """Let a search that has lost its place to another wait again: behind all that wait now, of whatever
        priority, so that clients who only ask keep no other from beginning."""
        if not live.idle_since_s:
            return
        with self._lock:
            if not live.cancelled:
                awake = [each.place for each in self._waiting if not each.idle_since_s]
                live.place = max([live.place, *awake])
            live.idle_since_s = 0.0
            self._waiting.sort(key=lambda each: each.order)
        self._fill()

    def resume(self, search_id: str) -> Record:
        """Resume a search that was cancelled or has failed. Raises Problem (404, 409, 429, 503)."""
        with self._lock:
            record = self.readable(search_id)
            if record.state not in (CANCELLED, FAILED):
                detail = "only a search that is cancelled or failed can be resumed"
                raise Problem(409, detail, field="state", value=record.state, accepted="cancelled or failed")
            self.refuse_if_full(len(self._waiting), "search", "searches")
            self.store.reopen(search_id)
            self._enter(replace(record, to_cancel=False))
        self._fill()
        return self.get(search_id)

    def drain(self) -> None:
        """Accept no more searches and suspend the running ones; returns at once."""
        with self._lock:
            self.draining = True
        self.pool.stop()
        self.games.close()

    def close(self) -> None:
        """Wait until searches are suspended, and end the event streams.

        For compiled code, of a job or of a search that is being opened, it waits CLOSE_S.
        """
        if not self.pool.alive or self.pool.jobs_ended.wait(CLOSE_S):
            self.pool.join()
        opener = threading.Thread(target=self._opener.shutdown, kwargs={"cancel_futures": True}, daemon=True)
        opener.start()
        opener.join(CLOSE_S)
        self.recorder.close()
        self._closed.set()
        for feed in (self.watch.feed, *(live.feed for live in list(self._live.values()))):
            feed.close()

    # Events of a live search, in the pool's thread.

    def search_begun(self, live: Live, session: Session) -> None:
        now_s = time.time()

        def store() -> None:
            self.store.update(live.id, state=RUNNING, started_s=live.record.started_s or now_s)

        self.recorder.put(store, partial(live.turn, RUNNING, now_s))
        title = {"game": live.body["game"], "strategy": live.body["strategy"]}
        self.watch.begun(live.id, title, session, partial(self.figures.grown, **title))
        self.metrics.watch(session)

    def search_kept(self, live: Live) -> None:
        self.recorder.put(partial(self.store.keep_curve, live.id, tuple(live.curve)), lambda: None)

    def search_put_off(self, live: Live, session: Session) -> None:
        self.search_kept(live)
        self.watch.ended(live.id)
        with self._lock:
            if self.draining:
                return
            assert isinstance(live.run, ExternalRun)
            # A cancelled one ends as soon as there is a place.
            live.idle_since_s, live.run = 0.0 if live.cancelled else live.run.heard_s, None
            self._running.discard(live.id)
            insort(self._waiting, live, key=lambda each: each.order)
            self.recorder.put(partial(self.store.put_off, live.id), partial(live.turn, QUEUED))
        self.metrics.settle(session)
        self._fill()

    def search_ended(self, live: Live, result: SearchResult | None, error: str | None) -> None:
        self.watch.ended(live.id)
        if result is None:
            self._conclude(live, FAILED, problem=Problem(500, error or ""))
        else:
            assert live.run is not None
            self._trees.keep(live.id, live.body, live.run.search.strategy.left())
            self._conclude(live, CANCELLED if result.stopped_by == "cancelled" else DONE, result.to_json())
        self.metrics.settle()

    def _look(self) -> Seen:
        """What the watch samples; meanwhile searches without a client give their places to waiting ones."""
        if self._waiting and not self.draining:
            # In another thread: the lock may be held during a write to the disk.
            self._opener.submit(self._fill)
        pool, executor = self.pool, self.pool.executor
        numbers = len(self._running), len(self._waiting), len(pool.queue)
        return Seen(executor.name, pool.ready, executor.workers, *numbers)

    @staticmethod
    def same(record: Kept, fingerprint: str, key: str | None) -> Kept:
        """The existing search or analysis of a key. Raises Problem (422) if the request's body is
        different."""
        if record.fingerprint != fingerprint:
            raise Problem(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                "this key was used for another request",
                field="Idempotency-Key",
                value=key,
                accepted="a new key, or the same request",
            )
        return record

    def refuse_if_full(self, waiting: int, noun: str, plural: str) -> None:
        """Raise Problem (429, 503) if no more than the ``waiting`` ones of a kind, or none, can be taken."""
        if (trouble := self.trouble()) is not None:
            # The remaining disk space is for results of accepted searches.
            raise of_storage(trouble)
        if self.draining:
            self.figures.refused("draining")
            raise Problem(503, "the server is stopping", {"Retry-After": "5"})
        if waiting >= self.limits.waiting:
            self.figures.refused("queue_full")
            seconds = self.figures.retry_after_s(self.limits.running)
            detail = f"the queue is full, with {counted(waiting, noun, plural)} waiting"
            raise Problem(429, detail, {"Retry-After": str(seconds)})

    def _enter(self, record: Record) -> None:
        """Put an open search into the queue."""
        with self._lock:
            live = Live(record, Feed(self._boot, record.final_event or 0), self)
            # One that is resumed waits behind the others of its priority.
            live.place = live.place[0], max([record.number, *(each.place[1] for each in self._waiting)])
            self._live[record.id] = live
            insort(self._waiting, live, key=lambda each: each.order)
            live.turn(QUEUED)

    def _blame(self, live: Live, deaths: int) -> None:
        """Fail a search that has crashed the server repeatedly."""
        self._waiting.remove(live)
        what = (
            f"the server died {counted(deaths, 'time')} while it ran this search, "
            "the last time with no other beside it"
        )
        LOG.error("search %s has failed: %s", live.id, what)
        self._conclude(live, FAILED, problem=Problem(500, what))

    def _may_begin(self, live: Live) -> bool:
        if self.draining:
            return False
        if live.id in self._suspects or self._running & self._suspects:
            return not self._running
        return len(self._running) < self.limits.running

    def _fill(self) -> None:
        """Begin waiting searches while the limit of running searches allows it."""
        with self._lock:
            while self._waiting and self._may_begin(self._waiting[0]):
                live = self._waiting.pop(0)
                self._running.add(live.id)
                self._opener.submit(self._open, live)
            if self._waiting and (idle := self._idle_for(self._waiting[0])):
                self.pool.put_off(idle)

    def _idle_for(self, first: Live) -> ExternalRun | None:
        """The run that gives its place to the first waiting search: the one without a client for longest."""
        if first.idle_since_s or len(self._running) < self.limits.running:
            return None
        idle = []
        for live in filter(None, map(self._live.get, self._running)):
            if not isinstance(live.run, ExternalRun):
                continue
            least_s = LONG_IDLE_S if live.run.answered else FIRST_S
            # By its place, not by the priority that it may have lost.
            if live.run.idle_s >= (IDLE_S if -first.place[0] > live.record.priority else least_s):
                idle.append(live.run)
        return max(idle, key=lambda run: run.idle_s, default=None)

    def _open(self, live: Live) -> None:
        """Open a search and give it to the pool; runs in the opener's thread."""
        try:
            # The record may have been checked by another version.
            request = SearchBody.model_validate(live.body).request(self.limits)
            self.games.admit(request)
            self._note_opening(live)
            opened = self._opened(live, request)
            live.curve = [point for point in self.curve(live.id) if point[0] <= opened.elapsed_s]
            external = request.evaluator == EXTERNAL
            if not external:
                # Compile the kernels here, so that they are in this machine's cache before workers need them.
                Worker().prepare(opened.coordinator.search.context)
            self._long_lived.loaded((request.game, request.strategy))
            keeper = Keeper(self._path(live.id), self._every_s, warn=LOG.warning, begun_s=opened.elapsed_s)
            given = opened, live, keeper, live.record.priority
            kept = self.store.evaluations if request.evaluator_version else None
            run = ExternalRun(*given, evaluations=kept) if external else Run(*given)
            if isinstance(run, ExternalRun):
                run.heard_s, run.longest_idle_s = live.idle_since_s or run.heard_s, self.limits.seconds
            with self._lock:
                if self.draining:
                    return
                live.run = run
                self.pool.add(run, cancelled=live.cancelled)
        except Exception as error:
            if self.draining and isinstance(error, Problem):
                # Its trial was interrupted by the end of this server; the next server repeats it.
                return
            problem = of_input(error) if isinstance(error, InvalidInput) else None
            if problem is None:
                LOG.exception("search %s could not be opened", live.id)
                problem = Problem(500, f"{type(error).__name__}: {error}")
            self._conclude(live, FAILED, problem=problem)

    def _note_opening(self, live: Live) -> None:
        """Store that the search is being opened, before its code runs; waits until that is stored."""
        stored = threading.Event()
        self.recorder.put(partial(self.store.opening, live.id), stored.set)
        while not stored.wait(NOTED_S) and not self.draining:
            pass

    def _opened(self, live: Live, request: SearchRequest) -> Opened:
        """Open the search from its checkpoint if there is a valid one, else from the beginning."""
        path, external = self._path(live.id), request.evaluator == EXTERNAL
        if path.exists():
            try:
                checkpoint = read_checkpoint(path)
                if checkpoint.stopped_by is None:
                    for line in checkpoint.warnings:
                        LOG.warning("%s", line)
                    return checkpoint.open(files=False, external=external)
            except InvalidInput as error:
                LOG.warning("search %s begins anew: %s", live.id, error)
        kept = self._trees.at(live.body, request)
        request = for_workers(request, self.pool.executor.num_workers, self.limits.lanes)
        return begun(request, files=False, external=external, kept=kept)

    def _conclude(
        self, live: Live, state: str, result: dict[str, Any] | None = None, problem: Problem | None = None
    ) -> None:
        """Store the end of a search and then announce it; until then the search counts as open."""
        self.recorder.put(*self._end(live, state, result, problem))

    def _end(
        self, live: Live, state: str, result: dict[str, Any] | None = None, problem: Problem | None = None
    ) -> tuple[Action, Action]:
        """The actions at the end of a search: store its result, then announce it."""
        error = None if problem is None else problem.body() | {"title": "Search failed"}
        ended = {"state": state, "result": result, "error": error, "finished_s": time.time()}
        event_id = 0

        def store() -> None:
            nonlocal event_id
            # Reserved here, so that it is above the ids of all events published before.
            event_id = event_id or live.feed.next_id()
            self.store.finish(live.id, live.curve, final_event=event_id, **ended)

        def tell() -> None:
            if state == DONE:
                with suppress(OSError):
                    self._path(live.id).unlink()
            with self._lock:
                self._live.pop(live.id, None)
                self._running.discard(live.id)
                self._suspects.discard(live.id)
                self._ended += 1
                forget = self._ended % FORGET_EVERY == 0
            elapsed_s = None if result is None else float(result["elapsed_s"])
            self.figures.ended(live.body["game"], live.body["strategy"], state, elapsed_s)
            live.feed.publish(FINAL, final_data(live.id, state, result, error), event_id)
            LOG.info("search %s is %s", live.id, state)
            self._fill()
            if forget:
                self._forget()

        return store, tell

    def _forget(self) -> None:
        """Delete the oldest searches that are over; a failure is logged, and it is tried again later."""
        try:
            for search_id in self.store.forget(self.limits.kept):
                self._path(search_id).unlink(missing_ok=True)
        except (sqlite3.Error, OSError) as error:
            LOG.warning("old searches could not be deleted: %s", error)

    def _path(self, search_id: str) -> Path:
        return self.store.checkpoints / f"{search_id}.npz"
