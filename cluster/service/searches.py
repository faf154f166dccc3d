"""The searches of a service: accepted, waiting, running, over.

A search is kept in the store before it is acknowledged, and what came of it before anybody is told. So a
server that was killed finds all open searches when it starts again: each goes on from its checkpoint, or
begins anew, and its answer is the same. Threads: requests come in any, kernels are compiled and trees made
in one (`_opener`), and the pool tells what happens in its own.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from bisect import insort
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

from cluster.checkpoint import Keeper, Opened, read_checkpoint
from cluster.coordinator import Coordinator
from cluster.metrics import Metrics
from cluster.service.allocator import LongLived
from cluster.service.feed import FINAL, Feed, final_data
from cluster.service.limits import Limits
from cluster.service.live import Live
from cluster.service.pool import Pool, Run
from cluster.service.problems import Problem, of_input
from cluster.service.request_models import SearchBody, body_of
from cluster.service.service_figures import ServiceFigures
from cluster.service.store import CANCELLED, DONE, FAILED, QUEUED, Record, Store
from cluster.session import Session
from games.errors import InvalidInput
from search.opening import check_request, open_search
from search.request import SearchRequest
from search.result import SearchResult
from search.worker import Worker

FORGET_EVERY = 50
"""After so many searches have ended, the oldest are forgotten."""
LOG = logging.getLogger("banyan.searches")


class Searches:
    """All searches of one server."""

    def __init__(
        self,
        store: Store,
        pool: Pool,
        limits: Limits,
        checkpoint_every_s: float = 10.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store, self.pool, self.limits = store, pool, limits
        self.figures = ServiceFigures()
        self.metrics: Metrics | None = None
        """Is shown the sessions that run, if there is any."""
        self.draining = False
        self._every_s = checkpoint_every_s
        self._clock = clock
        self._folder = store.folder / "checkpoints"
        self._folder.mkdir(exist_ok=True, mode=0o700)
        self._boot = store.boot(clock())
        self._lock = threading.RLock()
        """Held while the three below change."""
        self._live: dict[str, Live] = {}
        self._waiting: list[Live] = []
        """In the order in which they are to begin."""
        self._running: set[str] = set()
        self._ended = 0
        self._opener = ThreadPoolExecutor(1, thread_name_prefix="opener")
        self._long_lived = LongLived()

    @property
    def num_waiting(self) -> int:
        return len(self._waiting)

    @property
    def num_running(self) -> int:
        return len(self._running)

    def start(self) -> None:
        """Go on with what was open when the last server ended."""
        for record in self.store.open_searches():
            self._enter(record)
        self._fill()

    def submit(self, body: SearchBody, key: str | None) -> tuple[Record, bool]:
        """A new search, and False; or the one that this key has asked for before, and True.

        Raises InvalidInput, Problem (422, 429, 503).
        """
        if key is not None and (known := self.store.with_key(key)) is not None:
            return self._same(known, body.fingerprint(), key), True
        request = body.request(self.limits)
        game = check_request(request, files=False)
        fingerprint = body.fingerprint()
        if game.hidden_information and request.position is not None:
            # The search gets nothing of it, and nobody else is to read it here.
            body = body.model_copy(
                update={"position": game.format_seen(game.parse_position(request.position))}
            )
        with self._lock:
            self._refuse_if_full()
            search_id = uuid.uuid4().hex
            record = self.store.add(search_id, body.model_dump(), key, fingerprint, self._clock())
            if record.id != search_id:
                return self._same(record, fingerprint, key), True
            self._enter(record)
            self.figures.accepted(body.game, body.strategy)
        LOG.info("search %s accepted: %s", record.id, body.game)
        self._fill()
        return record, False

    def get(self, search_id: str) -> Record:
        """Of one that is open at once; of others from the store. Raises Problem (404)."""
        live = self._live.get(search_id)
        record = self.store.get(search_id) if live is None else live.record
        if record is None:
            raise Problem(404, "there is no such search", field="id", value=search_id[:64])
        return record

    def live(self, search_id: str) -> Live | None:
        """A search that is open; None if it is not."""
        return self._live.get(search_id)

    def searches_before(self, search_id: str) -> int | None:
        """How many are to begin before a search that waits."""
        # A copy, and no lock: that may be held while something is written to the disk.
        return next((i for i, live in enumerate(list(self._waiting)) if live.id == search_id), None)

    def cancel(self, search_id: str) -> Record:
        """End it with its best answer; one that is over stays as it is. Raises Problem (404)."""
        self.get(search_id)
        with self._lock:
            live = self._live.get(search_id)
            if live is not None and not live.cancelled:
                live.cancelled = True
                # Kept, for a server that is killed now and goes on with it.
                self.store.cancel(search_id)
                # One that has a checkpoint ends with the answer in it, when its turn comes.
                if live in self._waiting and not self._path(search_id).exists():
                    self._waiting.remove(live)
                    self._conclude(live, CANCELLED, None, None)
                elif live.run is not None:
                    self.pool.cancel(live.run)
        return self.get(search_id)

    def resume(self, search_id: str) -> Record:
        """Have a search that was cancelled or has failed go on. Raises Problem (404, 409, 429, 503)."""
        with self._lock:
            record = self.get(search_id)
            if record.state not in (CANCELLED, FAILED):
                detail = "only a search that is cancelled or failed can be resumed"
                raise Problem(409, detail, field="state", value=record.state, accepted="cancelled or failed")
            self._refuse_if_full()
            self.store.reopen(search_id)
            self._enter(replace(record, to_cancel=False))
        self._fill()
        return self.get(search_id)

    def drain(self) -> None:
        """Take no more, and put off what runs; returns at once."""
        with self._lock:
            self.draining = True
        self.pool.stop()

    def close(self) -> None:
        """Wait until nothing runs, and send followers away."""
        self.pool.join()
        self._opener.shutdown(wait=True, cancel_futures=True)
        for live in list(self._live.values()):
            live.feed.close()

    # What a live search tells, in the thread of the pool.

    def search_begun(self, live: Live, session: Session) -> None:
        now_s = self._clock()
        self.store.begin(live.id, now_s)
        live.record = replace(live.record, started_s=live.record.started_s or now_s)
        if self.metrics is not None:
            self.metrics.watch(session)

    def search_grown(self, live: Live, simulations: int, playouts: int) -> None:
        self.figures.grown(live.body["game"], live.body["strategy"], simulations, playouts)

    def search_ended(self, live: Live, result: SearchResult | None, error: str | None) -> None:
        if result is None:
            self._conclude(live, FAILED, None, Problem(500, error or "").body() | {"title": "Search failed"})
        else:
            self._conclude(
                live, CANCELLED if result.stopped_by == "cancelled" else DONE, result.to_json(), None
            )
        if self.metrics is not None:
            self.metrics.settle()
        self._fill()

    def _same(self, record: Record, fingerprint: str, key: str | None) -> Record:
        """The search that a key has asked for; the body must be the same."""
        if record.fingerprint != fingerprint:
            raise Problem(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                "this key was used for another request",
                field="Idempotency-Key",
                value=key,
                accepted="a new key, or the same request",
            )
        return record

    def _refuse_if_full(self) -> None:
        if self.draining:
            self.figures.refused("draining")
            raise Problem(503, "the server is about to stop", {"Retry-After": "5"})
        if len(self._waiting) >= self.limits.waiting:
            self.figures.refused("queue_full")
            seconds = self.figures.retry_after_s(self.limits.running)
            detail = f"{len(self._waiting)} searches wait, and no more are taken"
            raise Problem(429, detail, {"Retry-After": str(seconds)})

    def _enter(self, record: Record) -> None:
        """Have an open search wait for its turn."""
        with self._lock:
            live = Live(record, Feed(self._boot, record.final_event or 0), self)
            self._live[record.id] = live
            insort(self._waiting, live, key=lambda each: each.order)
            live.turn(QUEUED)

    def _fill(self) -> None:
        """Begin as many searches as may run."""
        with self._lock:
            while self._waiting and len(self._running) < self.limits.running and not self.draining:
                live = self._waiting.pop(0)
                self._running.add(live.id)
                self._opener.submit(self._open, live)

    def _open(self, live: Live) -> None:
        """Make a search ready and give it to the pool; in the opener's thread."""
        try:
            # Records were checked when they were made, but perhaps by another version.
            request = body_of(live.body).request(self.limits)
            opened = self._opened(live.id, request)
            # Compiled here, kernels are in the cache of this machine before a job of a worker needs them.
            Worker().prepare(opened.coordinator.search.context)
            self._long_lived.loaded((request.game, request.strategy))
            keeper = Keeper(self._path(live.id), self._every_s, warn=LOG.warning, begun_s=opened.elapsed_s)
            run = Run(opened, live, keeper, live.priority)
            with self._lock:
                if self.draining:
                    return
                live.run = run
                self.pool.add(run, cancelled=live.cancelled)
        except Exception as error:
            problem = of_input(error) if isinstance(error, InvalidInput) else None
            if problem is None:
                LOG.exception("search %s could not be opened", live.id)
                problem = Problem(500, f"{type(error).__name__}: {error}")
            self._conclude(live, FAILED, None, problem.body() | {"title": "Search failed"})
            self._fill()

    def _opened(self, search_id: str, request: SearchRequest) -> Opened:
        """The search from its checkpoint, if it has a sound one."""
        path = self._path(search_id)
        if path.exists():
            try:
                checkpoint = read_checkpoint(path)
                if checkpoint.stopped_by is None:
                    for line in checkpoint.warnings:
                        LOG.warning("%s", line)
                    return checkpoint.open(files=False)
            except InvalidInput as error:
                LOG.warning("search %s begins anew: %s", search_id, error)
        return Opened(Coordinator(open_search(request, files=False), 1))

    def _conclude(
        self, live: Live, state: str, result: dict[str, Any] | None, error: dict[str, Any] | None
    ) -> None:
        """Keep what came of a search, then tell it."""
        event_id = live.feed.next_id()
        self.store.finish(live.id, state, result, error, event_id, self._clock())
        if state == DONE:
            self._path(live.id).unlink(missing_ok=True)
        with self._lock:
            self._live.pop(live.id, None)
            self._running.discard(live.id)
            self._ended += 1
            forget = self._ended % FORGET_EVERY == 0
        elapsed_s = None if result is None else float(result["elapsed_s"])
        self.figures.ended(live.body["game"], live.body["strategy"], state, elapsed_s)
        live.feed.publish(FINAL, final_data(live.id, state, result, error), event_id)
        LOG.info("search %s is %s", live.id, state)
        if forget:
            for search_id in self.store.forget(self.limits.kept):
                self._path(search_id).unlink(missing_ok=True)

    def _path(self, search_id: str) -> Path:
        return self._folder / f"{search_id}.npz"
