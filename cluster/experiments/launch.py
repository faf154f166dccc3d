"""What `banyan experiment` does once its options are read: run what is missing, print whole tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cluster import terminal
from cluster.executor import Executor
from cluster.executors import make_executor
from cluster.experiments import report_file, report_text
from cluster.experiments.laboratory import Laboratory
from cluster.experiments.progress import ExperimentProgress
from cluster.experiments.run import Run, drive
from cluster.experiments.store import Store
from cluster.experiments.table import SCALES, load, names
from cluster.experiments.unit import UnitWorker
from cluster.experiments.verdict import TableResult
from cluster.interruption import INTERRUPTED, Interruption
from cluster.launch import Output, Place, start_executor, starting
from cluster.matches.game import MakePlayer
from cluster.matches.session import Stop
from games.errors import InvalidInput
from search.players import player_of

BEFORE_ANY = "banyan: interrupted before anything was run"
UNIT_TIMEOUT_S = 4 * 3600.0
"""A game with a minute a move lasts hours."""
FAILED = 1


@dataclass(frozen=True)
class ExperimentRequest:
    """What is to be measured."""

    tables: tuple[str, ...]
    scale: str = "quick"
    seed: int = 0

    def __post_init__(self) -> None:
        """Raises InvalidInput (scale, seed); tables are looked at when they are loaded."""
        if self.scale not in SCALES:
            raise InvalidInput("scale", self.scale, " or ".join(SCALES))
        if not 0 <= self.seed < 2**63:
            raise InvalidInput("seed", self.seed, "a whole number from 0 to 2**63 - 1")


def chosen(asked: Sequence[str]) -> tuple[str, ...]:
    """Names of tables, in order: as asked, ``all``, or all of one source by its number alone.

    Raises InvalidInput (table).
    """
    there = names()
    found: list[str] = []
    for name in asked:
        matching = there if name == "all" else [n for n in there if n == name or n.partition("/")[0] == name]
        if not matching:
            raise InvalidInput("table", name, "one of " + ", ".join(there) + "; a source such as 002; or all")
        found += matching
    return tuple(sorted(set(found), key=there.index))


def run_experiments(
    request: ExperimentRequest,
    place: Place,
    output: Output,
    out: Path,
    reports: Sequence[Path],
    make_player: MakePlayer = player_of,
) -> int:
    """Run, print, write the reports; the exit status. Raises InvalidInput, ConnectionError, OSError."""
    for path in reports:
        report_file.check(path)
    errors = terminal.stderr_console(output.colour)
    laboratory = Laboratory(map(load, request.tables), request.scale, request.seed, make_player)
    interruption = Interruption()
    interruption.install()
    try:
        with ExitStack() as stack:
            store = stack.enter_context(Store(out))
            run = Run(laboratory.needs, laboratory.keep_from(store))
            stop = Stop()

            def start() -> Executor:
                with starting(errors, place):
                    make = partial(make_unit_executor, place, make_player, stop)
                    executor = start_executor(make, interruption, stack, errors, BEFORE_ANY)
                interruption.watch(stop)
                return executor

            results = _run_tables(request, laboratory, run, store, start, stop, output)
            if stop.requested:
                left = len(run.units) - run.done
                errors.print(
                    f"banyan: interrupted with {terminal.count(left)} games and counts to go; what is done "
                    f"is kept in {out}, and the same command goes on from there",
                    soft_wrap=True,
                )
                return INTERRUPTED
    except KeyboardInterrupt:
        errors.print(BEFORE_ANY)
        return INTERRUPTED
    finally:
        interruption.uninstall()
    if output.json:
        terminal.print_json([result.to_json() for result in results])
    for path in reports:
        report_file.write(path, results, request.scale, set(request.tables) == set(names()))
        errors.print(f"banyan: wrote {path}", soft_wrap=True)
    return FAILED if run.failures else 0


def _run_tables(
    request: ExperimentRequest,
    laboratory: Laboratory,
    run: Run,
    store: Store,
    start: Callable[[], Executor],
    stop: Stop,
    output: Output,
) -> list[TableResult]:
    """All tables that got whole, each printed when it and all before it are."""
    console = terminal.stdout_console(output.colour)
    waiting = list(request.tables)
    results: list[TableResult] = []
    with ExperimentProgress(terminal.stderr_console(output.colour), enabled=output.progress) as progress:

        def take_whole() -> None:
            while waiting and not any(run.left(place) for place in laboratory.places(waiting[0])):
                result = laboratory.result(waiting.pop(0), run.kept, run.failures)
                results.append(result)
                if not output.json:
                    report_text.print_result(result, console)
            progress.doing = waiting[0] if waiting else ""

        take_whole()
        for _ in drive(run, store, start, stop, (progress,)):
            take_whole()
    return results


def make_unit_executor(place: Place, make_player: MakePlayer, stop: Stop) -> Executor:
    """An executor that runs units."""
    timeout_s = UNIT_TIMEOUT_S if place.job_timeout_s is None else place.job_timeout_s
    make_worker: Callable[[], UnitWorker] = partial(UnitWorker, make_player)
    if place.executor == "inline":
        # Only where the signal arrives can a game be given up between two moves.
        make_worker = partial(UnitWorker, make_player, lambda: stop.requested)
    return make_executor(
        place.executor, place.workers, place.address, timeout_s, make_worker=make_worker, in_flight=1
    )
