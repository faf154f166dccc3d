"""Where a search or a measurement runs: what its options say, the executor, and the session on it."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from cluster.checkpoint.checkpoint import Opened, begun
from cluster.runtime.session import Session
from cluster.runtime.tasks import DEFAULT_JOB_TIMEOUT_S, Executor
from cluster.runtime.workers import ONE_CPU, Resources, Workers, parse_workers
from cluster.workers.choose import make_executor
from cluster.workers.handover import HandoverExecutor
from cluster.workers.ray_executor import RayExecutor
from cluster.workers.recalling import RecallingExecutor
from games.compile.watch import SAID_AFTER_S, SAID_AGAIN_S
from games.errors import InvalidInput
from search.ask_tell.store import EvaluationStore
from search.strategies import for_workers

LOG = logging.getLogger("banyan")
"""Logs the choice of the executor and its reason (INFO), and restarts of Ray (WARNING)."""


@dataclass(frozen=True)
class Placement:
    """Where work runs and where its metrics are served, as the command line says it; changes no results."""

    workers: int | str | None = None
    executor: str = "auto"
    address: str | None = None
    job_timeout: float | None = None
    """None: the default of the kind of work."""
    gpus_per_worker: float | None = None
    cpus_per_worker: float | None = None
    worker_resources: str | None = None
    metrics_port: int | None = None
    metrics_host: str = "127.0.0.1"
    evaluations: str | None = None
    """The file of a store of evaluations: see `EvaluationStore`."""

    def __post_init__(self) -> None:
        """Raises InvalidInput (workers, gpus_per_worker, cpus_per_worker, worker_resources)."""
        _ = self.resources, self.range

    @cached_property
    def range(self) -> Workers:
        """The accepted numbers of workers."""
        return parse_workers(self.workers)

    @cached_property
    def resources(self) -> Resources:
        """What each worker reserves."""
        return Resources.of(self.gpus_per_worker, self.cpus_per_worker, self.worker_resources)

    @property
    def on_ray(self) -> bool:
        """Whether workers of Ray are wanted from the beginning."""
        return self.executor == "ray" or self.address is not None or self.resources != ONE_CPU

    @property
    def where(self) -> str:
        """The Ray that runs the workers, in words for messages."""
        return "a local Ray" if self.address is None else f"Ray at {self.address}"

    def start(
        self, waiting: Callable[[str], None] | None, timeout_s: float = DEFAULT_JOB_TIMEOUT_S, **options: Any
    ) -> Executor:
        """Create and start the executor; ``options`` as in `make_executor`.

        ``waiting`` is called with a text while workers of Ray start. ``timeout_s``: time limit of a job,
        unless the placement has one. Raises InvalidInput, or ConnectionError if Ray cannot be started.
        """
        if self.job_timeout is not None and self.executor in ("inline", "threads"):
            accepted = f"none with {self.executor}, where no job can be ended; with ray seconds, more than 0"
            raise InvalidInput("job_timeout", self.job_timeout, accepted)
        store = None if self.evaluations is None else EvaluationStore(self.evaluations)
        timeout_s = timeout_s if self.job_timeout is None else self.job_timeout
        options = {"resources": self.resources} | options
        executor = make_executor(self.executor, self.range, self.address, timeout_s, **options)
        if isinstance(executor, RayExecutor):
            executor.waiting = waiting
        return executor if store is None else cast("Executor", RecallingExecutor(executor, store))

    def start_quietly(self, cancelled: threading.Event, **options: Any) -> Executor:
        """`start` for a program: standard error tells only of a start on Ray that takes more than a second.

        Raises ConnectionError also if ``cancelled`` is set before the workers are ready.
        """
        began_s = due_s = time.monotonic()

        def say(text: str) -> None:
            nonlocal due_s
            now_s = time.monotonic()
            if now_s >= max(due_s, began_s + SAID_AFTER_S):
                due_s = now_s + SAID_AGAIN_S
                line = f"banyan: {self.where}: {text} after {now_s - began_s:.0f} s"
                print(line, file=sys.stderr, flush=True)

        def waiting(text: str) -> None:
            say(text)
            if cancelled.is_set():
                raise ConnectionError("the search was stopped before its workers were ready")

        timer = threading.Timer(SAID_AFTER_S, say, ["connecting"])
        timer.daemon = True
        if self.address is not None:
            timer.start()
        try:
            return self.start(waiting, notify=LOG.warning, explain=LOG.info, cancelled=cancelled, **options)
        finally:
            timer.cancel()


def started_session(opened: Opened, executor: Executor) -> Session:
    """The session of an opened search on a started executor; returns when its jobs can run.

    If nothing was searched yet, the session may have a new coordinator, of a search with lanes for all
    workers.
    """
    coordinator = opened.coordinator
    search, context = coordinator.search, coordinator.search.context
    request = for_workers(search.request, executor.num_workers, kind=type(search.strategy))
    if request != search.request and search.strategy.issued == 0:
        files = {
            "source": context.game_source,
            "evaluator": context.evaluator_source,
            "strategy": context.strategy_source,
        }
        coordinator = begun(request, whole_spec=context.game, **files).coordinator
    executor.open(coordinator.search.context)
    coordinator.workers = executor.num_workers
    session = Session(coordinator, executor, elapsed_before_s=opened.elapsed_s)
    inner = executor.inner if isinstance(executor, RecallingExecutor) else executor
    if isinstance(inner, HandoverExecutor):
        inner.left_s = lambda: session.left_s
    return session
