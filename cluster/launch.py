"""From a request to an answer on the screen: what `banyan search` does once its options are read.

What may be wrong with the input is found before anything is started. Whatever was started is
put away again, however the search ends.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cluster import report, terminal
from cluster.checkpoint import Keeper, Opened, read_checkpoint, refuse_unfinished
from cluster.coordinator import Coordinator, SearchFailed
from cluster.executor import DEFAULT_JOB_TIMEOUT_S, Executor
from cluster.executors import make_executor
from cluster.file_lock import held
from cluster.interruption import INTERRUPTED, Interruption
from cluster.progress import Progress
from cluster.resources import ONE_CPU, Resources
from cluster.session import Observer, Session
from cluster.workers import Workers
from games.errors import InvalidInput
from games.game import Game, State
from search.engine import engine_of
from search.opening import Search, open_search
from search.request import SearchRequest
from search.result import SearchResult

if TYPE_CHECKING:
    from rich.console import Console


BEFORE_THE_SEARCH = "banyan: interrupted before the search began"


@dataclass(frozen=True)
class Place:
    """Where a search runs and who may watch: nothing of it can change the answer."""

    executor: str
    workers: Workers | None
    address: str | None
    job_timeout_s: float | None
    metrics_port: int | None
    metrics_host: str
    resources: Resources = ONE_CPU
    """What each worker reserves."""


@dataclass(frozen=True)
class Output:
    """What is shown."""

    json: bool
    progress: bool
    colour: bool | None


@dataclass(frozen=True)
class Keep:
    """Where a search is kept, and how often."""

    path: Path
    every_s: float | None
    """None: as often as `Keeper` does."""

    @staticmethod
    def of(path: Path | None, every_s: float | None) -> Keep | None:
        """What two options say. Raises InvalidInput (checkpoint_every) for the second without the first."""
        if path is not None:
            return Keep(path, every_s)
        if every_s is not None:
            raise InvalidInput("checkpoint_every", every_s, "nothing without --checkpoint FILE")
        return None


def run_search(
    request: SearchRequest,
    place: Place,
    output: Output,
    show: Callable[[Search, SearchResult, Output], None] | None = None,
    keep: Keep | None = None,
) -> int:
    """Search and show the answer, as `print_result` does or in another way; the exit status.

    Raises InvalidInput, SearchFailed, ConnectionError.
    """

    def begin() -> Opened:
        if keep is not None:
            refuse_unfinished(keep.path)
        return Opened(Coordinator(open_search(request), 1))

    if keep is None:
        return _run(begin, place, output, show or print_result, None)
    with held(keep.path, "checkpoint"):
        return _run(begin, place, output, show or print_result, keep)


def resume_search(path: Path, place: Place, output: Output, every_s: float | None = None) -> int:
    """Go on with a search from its checkpoint, and keep it there; as `run_search`."""

    def begin() -> Opened:
        checkpoint = read_checkpoint(path)
        for line in checkpoint.warnings:
            warn(line, output)
        return checkpoint.open()

    with held(path, "file"):
        return _run(begin, place, output, print_result, Keep(path, every_s))


def _run(
    begin: Callable[[], Opened],
    place: Place,
    output: Output,
    show: Callable[[Search, SearchResult, Output], None],
    keep: Keep | None,
) -> int:
    """Run a search from where ``begin`` opens it, and keep it in a file if that is wanted."""
    errors = terminal.stderr_console(output.colour)
    interruption = Interruption()
    interruption.install()
    try:
        with ExitStack() as stack:
            metrics = None
            if place.metrics_port is not None:
                from cluster.metrics import MetricsServer

                metrics = MetricsServer(port=place.metrics_port, host=place.metrics_host)
                stack.callback(metrics.close)
            opened = begin()
            coordinator, search = opened.coordinator, opened.coordinator.search
            if coordinator.finished:
                # Of a search that is over there is but the answer to show.
                show(search, coordinator.result(opened.elapsed_s, "inline"), output)
                return 0
            keeper = None
            if keep is not None:
                keeper = Keeper(keep.path, keep.every_s, warn=partial(warn, output=output))
                keeper.begin(opened)
            with starting(errors, place):
                executor = _open_executor(search, place, interruption, stack, errors)
            coordinator.workers = executor.num_workers
            session = Session(coordinator, executor, elapsed_before_s=opened.elapsed_s)
            interruption.watch(session)
            if metrics is not None:
                metrics.watch(session)
            with Progress(errors, search.request, enabled=output.progress) as progress:
                result = run_session(session, (progress,), keeper)
            show(search, result, output)
            if result.stopped_by == "cancelled" and keeper is not None:
                errors.print(f"banyan: interrupted; {_how_to_go_on(keeper)}", soft_wrap=True, highlight=False)
            return INTERRUPTED if result.stopped_by == "cancelled" else 0
    except KeyboardInterrupt:
        errors.print(BEFORE_THE_SEARCH)
        return INTERRUPTED
    finally:
        interruption.uninstall()


def run_session(session: Session, observers: tuple[Observer, ...], keeper: Keeper | None) -> SearchResult:
    """Run to the end. A search that fails is kept as far as it has come: what failed it may be mended."""
    if keeper is None:
        return session.run(observers)
    try:
        return session.run((*observers, keeper))
    except (SearchFailed, ConnectionError) as error:
        keeper.keep(session)
        raise type(error)(f"{error}; {_how_to_go_on(keeper)}") from error


def _how_to_go_on(keeper: Keeper) -> str:
    return f"to go on: banyan resume {shlex.quote(str(keeper.path))}"


def warn(line: str, output: Output) -> None:
    """A warning on standard error."""
    terminal.stderr_console(output.colour).print(f"banyan: warning: {line}", style="yellow", soft_wrap=True)


class Shown(Protocol):
    """What was searched, as far as it takes to show the answer."""

    @property
    def request(self) -> SearchRequest: ...

    @property
    def game(self) -> Game: ...

    @property
    def root_state(self) -> State: ...


def print_result(search: Shown, result: SearchResult, output: Output) -> None:
    """The final answer on standard output."""
    if output.json:
        terminal.print_json(result.to_json())
        return
    from rich.text import Text

    console = terminal.stdout_console(output.colour)
    board = report.board_text(
        search.game, search.root_state, result.answer, colour=terminal.has_colour(console)
    )
    # A drawn board is not to be broken into lines, however narrow the terminal.
    console.print(Text.from_ansi(board), soft_wrap=True)
    console.print()
    for name, text in report.facts(result):
        console.print(Text.assemble((name.ljust(report.NAME_WIDTH), "dim"), text), soft_wrap=True)
    if result.answer.children:
        console.print()
        console.print(report.children_table(result.answer, report.CHILDREN_SHOWN))
    for line in report.warnings(result, search.request.memory_mb):
        warn(line, output)


def start_executor(
    start: Callable[[], Executor], interruption: Interruption, stack: ExitStack, console: Console, before: str
) -> Executor:
    """What ``start`` starts, closed with the stack. ``before``: said if the start is interrupted."""
    try:
        executor = start()
    except (KeyboardInterrupt, SystemExit):
        # SystemExit is Ray's own answer to SIGTERM, which it takes over. Ray that was interrupted while
        # it starts can not be put away: it does not know all that it has started, and aborts on the way.
        console.print(before)
        interruption.leave()
    stack.callback(executor.close)
    interruption.install()
    return executor


def _open_executor(
    search: Search, place: Place, interruption: Interruption, stack: ExitStack, console: Console
) -> Executor:
    """A started executor that is closed with the stack."""
    timeout_s = DEFAULT_JOB_TIMEOUT_S if place.job_timeout_s is None else place.job_timeout_s
    start = partial(
        make_executor, place.executor, place.workers, place.address, timeout_s, resources=place.resources
    )
    executor = start_executor(start, interruption, stack, console, BEFORE_THE_SEARCH)
    _note_compilation(search, console)
    executor.open(search.context)
    return executor


def _note_compilation(search: Search, console: Console) -> None:
    """Say so when the search has to wait for its kernels to be compiled."""
    engine = engine_of(search.game, search.context.features)
    kernel: Any = engine.evaluate_leaves if search.request.strategy == "leaf" else engine.simulate
    if engine.features.priors:
        kernel = engine.reach_leaves
    if not hasattr(kernel, "py_func"):
        # Uncompiled.
        return
    cache = Path(kernel.stats.cache_path)
    if not any(cache.glob(f"*{kernel.py_func.__qualname__}-*.nbi")):
        console.print(f"compiling the kernels of {search.game.name} (once on this machine) ...")


@contextmanager
def starting(console: Console, place: Place) -> Iterator[None]:
    """A sign of life on a terminal while Ray starts."""
    if place.executor != "ray" or not console.is_terminal:
        yield
        return
    where = "a local Ray" if place.address is None else f"Ray at {place.address}"
    with console.status(f"starting the workers on {where} ..."):
        yield
