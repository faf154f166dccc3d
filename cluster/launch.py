"""Shared flow of commands that start workers: signals, waiting, closing, exit status; and `banyan search`.

Input is checked before anything is started. All resources are released, however a command ends.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from cluster.checkpoint.checkpoint import Keeper, Opened, begun, read_checkpoint, refuse_unfinished
from cluster.observe import view as report
from cluster.observe.view import Progress
from cluster.runtime.drive import drive
from cluster.runtime.jobset import Jobset, UnitsProgress, worker_of_units
from cluster.runtime.session import Observer, Session
from cluster.runtime.tasks import Executor, TaskWorker
from cluster.runtime.workers import ONE_CPU
from cluster.system import terminal
from cluster.system.interruption import INTERRUPTED, Cancellable, Interruption
from cluster.system.kept_folder import held
from cluster.system.processes import tell_of_quota
from cluster.system.status_line import StatusLine
from cluster.system.terminal import Output as Output
from cluster.workers.handover import Coming
from cluster.workers.placement import Placement, started_session
from games.board import draw
from games.compile.watch import keeping_notes
from games.errors import counted
from search.coordinator import SearchFailed
from search.prepare import Search, Searched
from search.request import SearchRequest
from search.result import SearchResult

STARTING_LINE_S = 3.0
"""Interval of progress lines while workers start, in seconds, where the output is not a terminal."""
UNIT_TIMEOUT_S = 3600.0
"""Time after which the worker of a unit counts as hung, if the user gives none."""
BEFORE_ANY = "banyan: interrupted before anything was run"


class Launch:
    """A running command that starts workers; created by `launch`."""

    def __init__(self, output: Output, stack: ExitStack, interruption: Interruption) -> None:
        self.status = 0
        """The exit status."""
        self.stack = stack
        """Resources that are closed when the command ends."""
        self.errors = terminal.stderr_console(output.colour)
        self._output = output
        self._interruption = interruption

    def say(self, line: str) -> None:
        """Print a line to standard error."""
        self.errors.print(f"banyan: {line}", soft_wrap=True, highlight=False)

    def tell(self, line: str) -> None:
        """`say`, where progress is shown."""
        if self._output.progress:
            self.say(line)

    def watch(self, work: Cancellable) -> None:
        """From now on the first signal cancels this work, instead of ending the command."""
        self._interruption.watch(work)

    def start_search(self, place: Placement, opened: Opened) -> Session:
        """Start an executor, wait until it can take the jobs of a search, and begin its session."""
        with self._waiting(place, place.on_ray) as tell:
            session = started_session(opened, self._start(place, tell, explain=self.tell))
        self._say_joined(place, session.executor)
        workers, lanes = session.executor.num_workers, session.search.plan.lanes
        if workers > lanes:
            has = "a lane" if workers - lanes == 1 else "lanes"
            self.tell(
                f"{workers - lanes} of {workers} workers idle without {has}: --lanes {workers} uses all"
            )
        return session

    def start_executor(self, place: Placement) -> Executor:
        """Start an executor for searches one after the other, which is closed when the command ends."""
        with self._waiting(place, place.on_ray) as tell:
            executor = self._start(place, tell)
            if place.on_ray:
                executor.open(None)
        self._say_joined(place, executor)
        return executor

    def _say_joined(self, place: Placement, executor: Executor) -> None:
        if place.address is not None:
            self.tell(
                f"joined the Ray cluster at {place.address} with {counted(executor.num_workers, 'worker')}"
            )

    def units_progress(self, in_short: Callable[[Any], list[str]]) -> UnitsProgress:
        """The line of progress of a jobset; ``in_short`` as in `UnitsProgress`."""
        return UnitsProgress(self.errors, in_short, enabled=self._output.progress)

    def run_units(
        self,
        place: Placement,
        jobset: Jobset[Any],
        make_worker: Callable[[], TaskWorker],
        progress: UnitsProgress,
        timeout_s: float = UNIT_TIMEOUT_S,
        observers: Sequence[Callable[[Jobset[Any]], None]] = (),
    ) -> Executor:
        """Run the missing units of a jobset; returns the executor, which is closed when the command ends.

        A signal ends the jobset with the units that are done, and the exit status is then INTERRUPTED.
        ``make_worker`` as in `worker_of_units`. ``timeout_s``: time limit of a unit, unless the user sets
        one.
        """
        executor = self.start_units(place, make_worker, timeout_s, opened=not jobset.finished, in_flight=1)
        self.watch(jobset)
        with progress:
            drive(jobset, executor, (progress, *observers))
        if jobset.units.stopped_by == "cancelled":
            self.status = INTERRUPTED
        return executor

    def start_units(
        self,
        place: Placement,
        make_worker: Callable[[], TaskWorker],
        timeout_s: float = UNIT_TIMEOUT_S,
        *,
        opened: bool = True,
        **options: Any,
    ) -> Executor:
        """Start an executor of workers for units, which is closed when the command ends.

        ``opened``: whether it waits until tasks can be taken. ``options`` as in `make_executor`.
        """
        make_worker = worker_of_units(place.executor, make_worker)
        with self._waiting(place, place.executor != "inline") as tell:
            executor = self._start(
                place, tell, timeout_s=timeout_s, resources=ONE_CPU, make_worker=make_worker, **options
            )
            if opened:
                executor.open(None)
        self._say_joined(place, executor)
        return executor

    def _start(self, place: Placement, waiting: Callable[[str], None], **options: Any) -> Executor:
        """Start an executor and register it to be closed when the command ends; see `Placement.start`."""
        if place.address is None and self._output.progress:
            tell_of_quota(self.say)
        try:
            executor = place.start(waiting, **options)
        except (KeyboardInterrupt, SystemExit):
            # Ray installs a SIGTERM handler that raises SystemExit. A Ray interrupted while it starts cannot
            # be closed: it does not know all processes that it has started, and aborts.
            self.errors.print(BEFORE_ANY)
            self._interruption.leave()
        self.close_at_end(executor)
        self._interruption.install()
        return executor

    def close_at_end(self, executor: Executor | Coming) -> None:
        """Register an executor to be closed when the command ends."""
        self.stack.callback(executor.close)
        self.stack.callback(self._interruption.begin_closing)

    @contextmanager
    def _waiting(self, place: Placement, on_ray: bool) -> Iterator[Callable[[str], None]]:
        """Show a status line while workers start on Ray; yields a function that updates its text."""
        if not on_ray:
            yield lambda text: None
            return
        doing = f"starting the workers on {place.where}"
        began_s = time.monotonic()
        with StatusLine(self.errors, f"{doing} ...", STARTING_LINE_S, enabled=self._output.progress) as line:
            times = count(1)
            yield lambda text: line.show(
                next(times),
                lambda: time.monotonic() - began_s,
                lambda elapsed_s: f"{doing}: {text} after {elapsed_s:.0f} s",
            )


@contextmanager
def launch(output: Output) -> Iterator[Launch]:
    """Context manager of a command that starts workers.

    Handles signals, closes what was started, and turns an interruption into the exit status.
    """
    interruption = Interruption()
    interruption.install()
    stack = ExitStack()
    stack.enter_context(keeping_notes(output.progress))
    started = Launch(output, stack, interruption)
    try:
        with stack:
            yield started
    except (KeyboardInterrupt, Exception) as error:
        if not isinstance(error, KeyboardInterrupt) and not interruption.unheard:
            raise
        started.errors.print(BEFORE_ANY)
        started.status = INTERRUPTED
    finally:
        interruption.uninstall()


def run_search(
    request: SearchRequest,
    place: Placement,
    output: Output,
    show: Callable[[Search, SearchResult, Output], None] | None = None,
    checkpoint: Path | None = None,
    every_s: float | None = None,
) -> int:
    """Run a search and show its answer with ``show`` (None: `print_result`); returns the exit status.

    ``checkpoint``: a file that is written at the interval ``every_s``, if one is given (None: the default of
    `Keeper`). Raises InvalidInput, SearchFailed, ConnectionError.
    """

    def begin() -> Opened:
        if checkpoint is not None:
            refuse_unfinished(checkpoint)
        return begun(request)

    with nullcontext() if checkpoint is None else held(checkpoint, "checkpoint"):
        return _run(begin, place, output, show or print_result, checkpoint, every_s)


def resume_search(path: Path, place: Placement, output: Output, every_s: float | None = None) -> int:
    """Resume a search from its checkpoint and update that file; returns the exit status.

    Raises InvalidInput, SearchFailed, ConnectionError.
    """

    def begin() -> Opened:
        checkpoint = read_checkpoint(path)
        for line in checkpoint.warnings:
            warn(line, output)
        return checkpoint.open()

    with held(path, "file"):
        return _run(begin, place, output, print_result, path, every_s)


def _run(
    begin: Callable[[], Opened],
    place: Placement,
    output: Output,
    show: Callable[[Search, SearchResult, Output], None],
    checkpoint: Path | None,
    every_s: float | None,
) -> int:
    """Run the search that ``begin`` opens; the other arguments are described in `run_search`."""
    with launch(output) as started:
        metrics = None
        if place.metrics_port is not None:
            from cluster.observe.metrics import MetricsServer

            metrics = MetricsServer(port=place.metrics_port, host=place.metrics_host)
            started.stack.callback(metrics.close)
            started.tell(f"metrics at {metrics.url}")
        opened = begin()
        coordinator = opened.coordinator
        if coordinator.finished:
            started.tell("this search is already over; its answer is shown")
            show(coordinator.search, coordinator.result(opened.elapsed_s), output)
            return 0
        keeper = None
        if checkpoint is not None:
            keeper = Keeper(checkpoint, every_s, warn=partial(warn, output=output))
            keeper.begin(opened)
        try:
            session = started.start_search(place, opened)
        except BaseException:
            if keeper is not None:
                keeper.discard(coordinator)
            raise
        started.watch(session)
        if metrics is not None:
            metrics.watch(session)
        with Progress(started.errors, enabled=output.progress) as progress:
            result = run_session(session, (progress,), keeper)
        show(session.search, result, output)
        for line in report.advice(session):
            started.tell(line)
        if result.stopped_by == "cancelled":
            started.status = INTERRUPTED
            if keeper is not None:
                started.say(f"interrupted; {_how_to_go_on(keeper)}")
    return started.status


def run_session(session: Session, observers: tuple[Observer, ...], keeper: Keeper | None) -> SearchResult:
    """Run a session to its end. If it fails, a last checkpoint is written: the cause may be repairable.

    Raises SearchFailed or ConnectionError, with a text that says what was kept or lost.
    """
    try:
        return session.run(observers if keeper is None else (*observers, keeper))
    except (SearchFailed, ConnectionError) as error:
        done = session.coordinator.counters.simulations
        if keeper is None:
            if not done:
                raise
            raise type(error)(
                f"{error}; {counted(done, 'simulation')} lost (--checkpoint FILE keeps them)"
            ) from error
        if keeper.discard(session.coordinator):
            raise
        keeper.keep(session)
        raise type(error)(f"{error}; {counted(done, 'simulation')} kept; {_how_to_go_on(keeper)}") from error


def _how_to_go_on(keeper: Keeper) -> str:
    return f"to continue: banyan resume {shlex.quote(str(keeper.path))}"


def warn(line: str, output: Output) -> None:
    """Print a warning to standard error."""
    terminal.stderr_console(output.colour).print(f"banyan: warning: {line}", style="yellow", soft_wrap=True)


def print_result(search: Searched, result: SearchResult, output: Output) -> None:
    """Print the final answer to standard output."""
    if output.json:
        terminal.print_json(result.to_json())
        return
    from rich.text import Text

    console = terminal.stdout_console(output.colour)
    answer, colour = result.answer, terminal.has_colour(console)
    # With shares of visits in percent on empty cells, and the best move in brackets.
    marked = answer.marked(search.game.board(search.root_state))
    board = draw(marked, colour=colour, heat=answer.visit_shares())
    # Lines of a board are never wrapped, however narrow the terminal.
    console.print(Text.from_ansi(board), soft_wrap=True)
    console.print()
    terminal.print_facts(console, result.facts())
    if answer.children:
        console.print()
        console.print(report.children_table(answer, report.CHILDREN_SHOWN))
    for line in report.warnings(result, search.request.memory_mb):
        warn(line, output)
