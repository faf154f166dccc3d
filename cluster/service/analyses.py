"""Analyses of a service: one request with many positions, one record, each answer once.

    POST -> Analyses.submit -> waiting -> Batch, the engine of cluster/analysis, in the pool among searches
    Batch -> answers, several at a time -> recorder -> store -> GET results

An analysis is stored before it is acknowledged, and an answer before anybody sees it. After the death of a
server the next one searches the positions without an answer. As many analyses as searches run at a time: each
has the share of the workers that a search has, so neither keeps the other from them.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from bisect import insort
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from cluster.analysis.engine import Engine, Level, LongSearch
from cluster.analysis.queries import Position, Queries, bad_query
from cluster.analysis.worker import Analysed, AnalysisWorker
from cluster.service import positions
from cluster.service.errors import Problem, of_input
from cluster.service.kept_analyses import DEATHS, Analysis, KeptAnalyses
from cluster.service.records import CANCELLED, DONE, FAILED
from cluster.service.request_models import MOST_POSITIONS, AnalysisBody
from cluster.service.searches import Searches
from games.errors import InvalidInput, counted
from search.prepare import check_search, root_position

KEEP_S = 0.2
"""Seconds between two writes of the answers that have come."""
LOG = logging.getLogger("banyan.analyses")


class Batch(Engine):
    """The engine of one analysis that runs; the pool calls it in its thread."""

    def __init__(
        self,
        analysis: Analysis,
        asked: list[Position],
        answered: set[int],
        context: Analysed,
        owner: Analyses,
    ) -> None:
        """``asked``: its positions, ``answered``: the numbers of those that have an answer."""
        pool = owner.searches.pool
        super().__init__(context, pool.executor, pool.queue, self._take, "", drive=pool.drive, keys=pool.keys)
        self.analysis, self._owner = analysis, owner
        self._numbers = {(each.id, each.turn): number for number, each in enumerate(asked)}
        self._new: list[tuple[int, str]] = []
        """Answers that are not stored."""
        self._due_s = 0.0
        self._kept = len(answered)
        for number, position in enumerate(asked):
            if number not in answered:
                self.add(position)

    def _take(self, answer: Any, position: Position | None = None) -> None:
        if position is not None:
            line = answer if isinstance(answer, str) else json.dumps(answer)
            self._new.append((self._numbers[position.id, position.turn], line))

    def feed(self) -> None:
        super().feed()
        if time.monotonic() >= self._due_s:
            self._keep()
        if not self.open:
            self._keep()
            self._owner.conclude(self.analysis, DONE)
            self._owner.searches.pool.release(self)

    def level_of(self, position: Position) -> int:
        return self.analysis.priority

    def aside(self, opened: Callable[[], Callable[[], None]]) -> None:
        pool = self._owner.searches.pool
        self._owner.opener.submit(lambda: pool.do(self, opened()))

    def begun(self, machine: Level | LongSearch) -> None:
        searches, game, strategy = self._owner.searches, self.analysis.game, self.context.defaults.strategy
        title = {"game": game, "strategy": f"{strategy}, analysis"}
        grown = partial(searches.figures.grown, game, strategy)
        searches.watch.begun(self.analysis.id, title, machine, grown)

    def ended(self, machine: LongSearch) -> None:
        self._owner.searches.watch.ended(self.analysis.id, machine)

    def fail(self, error: Exception) -> None:
        LOG.error("analysis %s has failed", self.analysis.id, exc_info=error)
        self._owner.conclude(self.analysis, FAILED, Problem(500, f"{type(error).__name__}: {error}"))
        self._owner.searches.pool.release(self)

    def close(self) -> None:
        super().close()
        self._keep()
        self._owner.searches.watch.ended(self.analysis.id)

    def _keep(self) -> None:
        """Have the new answers stored."""
        if self._new:
            store = partial(self._owner.records.answer, self.analysis.number, self._kept + 1, self._new)
            self._owner.searches.recorder.put(store, lambda: None)
            self._kept += len(self._new)
            self._new, self._due_s = [], time.monotonic() + KEEP_S


class Analyses:
    """All analyses of one server."""

    def __init__(self, searches: Searches) -> None:
        self.searches = searches
        self.records = KeptAnalyses(searches.store)
        self.opener = ThreadPoolExecutor(1, thread_name_prefix="analyses")
        """Compiles kernels, and opens analyses and their long searches."""
        self._lock = threading.RLock()
        """Held while one of the two attributes below changes."""
        self._waiting: list[Analysis] = []
        """In the order in which they begin."""
        self._running: dict[str, Batch | None] = {}
        """By id; None while it is being opened."""

    def start(self, *, died: bool = False) -> None:
        """Go on with the analyses that the last server has left; ``died``: whether it crashed."""
        for analysis in self.records.reopen(died=died):
            if analysis.deaths < DEATHS:
                self._enter(analysis)
            else:
                what = f"the server died {counted(analysis.deaths, 'time')} while it ran this analysis"
                self.conclude(analysis, FAILED, Problem(500, what))
        self._fill()

    def close(self) -> None:
        """Open no more; after the pool has ended."""
        self.opener.shutdown(wait=False, cancel_futures=True)

    def submit(self, body: AnalysisBody, key: str | None) -> tuple[Analysis, bool]:
        """Accept an analysis; returns (record, False), or (record, True) for the existing one of this key.

        Raises InvalidInput, Problem (422, 429, 503).
        """
        fingerprint = body.fingerprint()
        context, asked = self._read(body)
        with self._lock:
            if key is not None and (known := self.records.found("key", key)) is not None:
                return self.searches.same(known, fingerprint, key), True
            self.searches.refuse_if_full(len(self._waiting), "analysis", "analyses")
            analysis_id = f"analysis-{uuid.uuid4().hex}"
            self.records.add(
                body.model_dump_json(),
                key,
                id=analysis_id,
                priority=body.priority,
                game=context.game,
                positions=len(asked),
                fingerprint=fingerprint,
                created_s=time.time(),
            )
            self._enter(self.get(analysis_id))
        LOG.info("%s accepted: %s of %s", analysis_id, counted(len(asked), "position"), context.game)
        self._fill()
        return self.get(analysis_id), False

    def get(self, analysis_id: str) -> Analysis:
        """The record of an analysis. Raises Problem (404)."""
        if (found := self.records.found("id", analysis_id)) is None:
            raise Problem(404, "there is no such analysis", field="id", value=analysis_id[:64])
        return found

    def cancel(self, analysis_id: str) -> Analysis:
        """End an analysis with the answers that are stored; no effect if it is over. Raises Problem (404)."""
        analysis = self.get(analysis_id)
        with self._lock:
            self.records.finish(analysis.number, CANCELLED, time.time())
            self._waiting = [each for each in self._waiting if each.id != analysis_id]
            if (batch := self._running.pop(analysis_id, None)) is not None:
                self.searches.pool.release(batch)
        self._fill()
        return self.get(analysis_id)

    def conclude(self, analysis: Analysis, state: str, problem: Problem | None = None) -> None:
        """Have the end of an analysis stored; then others may begin."""

        def tell() -> None:
            with self._lock:
                self._running.pop(analysis.id, None)
            LOG.info("%s is %s", analysis.id, state)
            self._fill()

        error = None if problem is None else problem.body() | {"title": "Analysis failed"}
        store = partial(self.records.finish, analysis.number, state, time.time(), error)
        self.searches.recorder.put(store, tell)

    def _enter(self, analysis: Analysis) -> None:
        with self._lock:
            insort(self._waiting, analysis, key=lambda each: (-each.priority, each.number))

    def _fill(self) -> None:
        """Begin waiting analyses while the limit allows it."""
        most = self.searches.limits.running
        with self._lock:
            while self._waiting and len(self._running) < most and not self.searches.draining:
                analysis = self._waiting.pop(0)
                self._running[analysis.id] = None
                self.opener.submit(self._open, analysis)
            for batch in filter(None, self._running.values()):
                # So that no more trees are in memory than of searches.
                batch.most_long = max(1, most // len(self._running))

    def _open(self, analysis: Analysis) -> None:
        """Give an analysis to the pool; runs in the opener's thread."""
        try:
            # The record may have been checked by another version.
            text, answered = self.records.asked(analysis.number)
            context, asked = self._read(AnalysisBody.model_validate_json(text))
            # Compiled here, so that the workers find the kernels in the cache of this machine.
            AnalysisWorker().prepare(context)
            batch = Batch(analysis, asked, answered, context, self)
        except Exception as error:
            problem = of_input(error) if isinstance(error, InvalidInput) else None
            if problem is None:
                LOG.exception("%s could not be opened", analysis.id)
            self.conclude(analysis, FAILED, problem or Problem(500, f"{type(error).__name__}: {error}"))
            return
        with self._lock:
            if self.searches.draining or analysis.id not in self._running:
                return
            self._running[analysis.id] = batch
            begin = partial(self.records.begin, analysis.number, time.time())
            self.searches.recorder.put(begin, lambda: None)
            self.searches.pool.host(batch)
        self._fill()

    def _read(self, body: AnalysisBody) -> tuple[Analysed, list[Position]]:
        """What the positions of a body have in common, and the positions. In ``body`` hidden information is
        removed: the search does not use it. Raises InvalidInput."""
        limits, found = self.searches.limits, Queries()
        if self.searches.games.allowed.is_foreign(body.game):
            accepted = "a game that comes with Banyan: positions of others are searched one by one, with POST"
            raise InvalidInput("game", body.game, f"{accepted} searches")
        defaults, game = body.request(limits), positions.load(body.game)
        check_search(defaults, game, files=False)
        body.position = positions.seen(game, body.position)
        root_position(defaults, game)
        for number, query in enumerate(body.positions):
            if len(text := json.dumps(query)) > limits.body_bytes:
                accepted = f"a query of at most {limits.body_bytes} bytes"
                raise InvalidInput(f"positions.{number}", f"{len(text)} bytes", accepted)
            try:
                asked = found.add(text)
                limits.within(asked[0].request(defaults))
                if "position" in query:
                    query["position"] = positions.seen(game, query["position"])
            except InvalidInput as error:
                bad = bad_query(Position(query, 0), error)
                raise InvalidInput(f"positions.{number}.{bad.field}", bad.value, bad.accepted) from None
            if len(found.positions) > MOST_POSITIONS:
                accepted = f"at most {MOST_POSITIONS} positions, one for each of analyzeTurns"
                raise InvalidInput("positions", f"more than {MOST_POSITIONS}", accepted)
        return Analysed(game.spec, None, defaults), found.positions
