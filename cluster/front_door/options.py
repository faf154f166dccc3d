"""Converts the keywords of a call to a search request and a placement."""

from __future__ import annotations

import inspect
import logging
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar

from cluster.executors.choose import NAMES, make_executor
from cluster.front_door.game_argument import spec_of
from cluster.ray_backend.executor import RayExecutor
from cluster.runtime.tasks import DEFAULT_JOB_TIMEOUT_S, Executor
from cluster.runtime.workers import ACCEPTED, AUTO, Resources, Workers, exactly, parse_workers
from games.compile.watch import SAID_AFTER_S, SAID_AGAIN_S
from games.errors import InvalidInput, UnknownOption
from games.game import Game
from search.options import knobs_of
from search.request import SearchRequest

F = TypeVar("F", bound=Callable[..., Any])
LOG = logging.getLogger("banyan")
"""Logs the choice of the executor and its reason (INFO), and restarts of Ray (WARNING)."""


class WorkerOptions(TypedDict, total=False):
    """Keywords for the time limit of jobs and the resources of workers, named as on the command line."""

    job_timeout: float | None
    gpus_per_worker: float | None
    cpus_per_worker: float | None
    worker_resources: str | None


class RequestOptions(TypedDict, total=False):
    """Fields of `search.SearchRequest` that are no parameters of `banyan.search`; None means the default."""

    memory_mb: int | None
    stop_when_full: bool | None
    strategy: str | None
    exploration: float | None
    exploration_scale: str | None
    first_play_urgency: float | None
    implicit_minimax: float | None
    decisive: bool | None
    widening: int | None
    solver: bool | None
    final_move: str | None
    playout_plies: int | None
    playout_policy: str | None
    lanes: int | None
    rounds: int | None
    share_visits: int | None
    in_flight: str | None
    batch: int | None
    playouts_per_leaf: int | None
    hidden_information: str | None
    paired: int | None
    evaluator: str | None
    cpuct_base: float | None
    fpu_reduction: float | None
    policy_temperature: float | None


class SearchOptions(RequestOptions, WorkerOptions, total=False):
    """The keywords of `banyan.search`, `start` and `plan` beside their parameters."""


WORKER_OPTIONS = tuple(WorkerOptions.__annotations__)


def with_options(function: F) -> F:
    """The function, with the options of a search at the end of its docstring, for `help`."""
    told = [
        f"{knob.name}: {knob.option.help} ({knob.accepted}; {knob.option.unset or repr(knob.default)})"
        for knob in knobs_of(SearchRequest)
        if knob.name in RequestOptions.__annotations__
    ]
    lines = [textwrap.fill(each, 106, initial_indent=" " * 4, subsequent_indent=" " * 8) for each in told]
    function.__doc__ = "\n".join([inspect.cleandoc(function.__doc__ or ""), "", "Options:", *lines])
    return function


@dataclass(frozen=True)
class Placement:
    """Where a search runs. Nothing here changes its statistics."""

    executor: str
    workers: Workers
    address: str | None
    job_timeout_s: float
    resources: Resources

    def start(self, cancelled: threading.Event, **options: Any) -> Executor:
        """Create and start the executor; ``options`` as in `make_executor`.

        What takes longer than a second on Ray is said on standard error.

        Raises InvalidInput, or ConnectionError if Ray cannot be started or reached, or if ``cancelled`` is
        set before the workers are ready.
        """
        began_s = due_s = time.monotonic()
        where = "a local Ray" if self.address is None else f"Ray at {self.address}"

        def say(text: str) -> None:
            nonlocal due_s
            now_s = time.monotonic()
            if now_s >= max(due_s, began_s + SAID_AFTER_S):
                due_s = now_s + SAID_AGAIN_S
                print(f"banyan: {where}: {text} after {now_s - began_s:.0f} s", file=sys.stderr, flush=True)

        timer = threading.Timer(SAID_AFTER_S, say, ["connecting"])
        timer.daemon = True
        if self.address is not None:
            timer.start()
        try:
            executor = make_executor(
                self.executor,
                self.workers,
                self.address,
                self.job_timeout_s,
                resources=self.resources,
                notify=LOG.warning,
                explain=LOG.info,
                cancelled=cancelled,
                **options,
            )
        finally:
            timer.cancel()

        def waiting(text: str) -> None:
            say(text)
            if cancelled.is_set():
                raise ConnectionError("the search was stopped before its workers were ready")

        if isinstance(executor, RayExecutor):
            executor.waiting = waiting
        return executor


def placement_of(
    workers: int | str | None, executor: str, address: str | None, options: Mapping[str, Any]
) -> Placement:
    """The placement of a search; the keys of ``options`` are in WORKER_OPTIONS. Raises InvalidInput."""
    if executor not in NAMES:
        raise InvalidInput("executor", executor, " or ".join(NAMES))
    gpus, cpus, others = (options.get(name) for name in WORKER_OPTIONS[1:])
    timeout_s = options.get("job_timeout")
    return Placement(
        executor,
        _range_of(workers),
        address,
        DEFAULT_JOB_TIMEOUT_S if timeout_s is None else timeout_s,
        Resources.of(gpus, cpus, others),
    )


def request_of(
    game: str | Game | type[Game],
    moves: str | Iterable[str],
    options: Mapping[str, Any],
    kind: type[SearchRequest] = SearchRequest,
) -> SearchRequest:
    """The request of a search; ``options`` are fields of its ``kind``, where None means the default.

    If a memory limit is the only budget, reaching it ends the search. Raises InvalidInput.
    """
    asked = {name: value for name, value in options.items() if value is not None}
    if "memory_mb" in asked and not asked.keys() & {"simulations", "seconds"}:
        asked.setdefault("stop_when_full", True)
    texts = tuple(moves.split()) if isinstance(moves, str) else tuple(moves)
    return kind(game=spec_of(game), moves=texts, **asked)


def split(call: Callable[..., Any], options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the options of a call into those of a search and those of its workers. Raises UnknownOption."""
    parameters = inspect.signature(call, eval_str=True).parameters
    (accepted,) = parameters["options"].annotation.__args__
    names = sorted({*parameters, *accepted.__annotations__} - {"options"})
    for name, value in options.items():
        if name not in names:
            raise UnknownOption(name, value, names)
    of_workers = {name: value for name, value in options.items() if name in WORKER_OPTIONS}
    return {name: value for name, value in options.items() if name not in of_workers}, of_workers


def _range_of(workers: object) -> Workers:
    if workers is None:
        return AUTO
    if isinstance(workers, str):
        return parse_workers(workers)
    if isinstance(workers, bool) or not isinstance(workers, int):
        raise InvalidInput("workers", workers, ACCEPTED)
    return exactly(workers)
