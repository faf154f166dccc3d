"""From options to tables on the screen: what `banyan strength` does once they are read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from cluster import terminal
from cluster.executor import Executor
from cluster.executors import make_executor
from cluster.interruption import INTERRUPTED, Interruption
from cluster.launch import Output, Place, start_executor, starting
from cluster.matches.launch import DEFAULT_GAME_TIMEOUT_S
from cluster.matches.match import Match
from cluster.matches.progress import MatchProgress
from cluster.matches.session import MatchSession, Stop
from cluster.matches.tournament import Tournament, TournamentContext, TournamentFolder, TournamentWorker
from cluster.measuring import strength_report
from cluster.measuring.predict_launch import read_costs
from cluster.measuring.strength import Plan, StrengthRequest, make_plan
from cluster.measuring.strength_result import StrengthResult
from cluster.measuring.strength_throughput import predicted_throughputs, strategies_to_cost

BEFORE_THE_GAMES = "banyan: interrupted before the games began"
GAMES = "games"
"""The folder, in that of the report, that has a folder for each match."""


def run_strength(
    request: StrengthRequest, place: Place, output: Output, out: Path | None, costs: Path | None = None
) -> int:
    """Play and print the tables; the exit status. ``costs``: a file of `banyan predict --save-costs`.

    Raises InvalidInput, MatchFailed, ConnectionError, OSError.
    """
    errors = terminal.stderr_console(output.colour)
    interruption = Interruption()
    interruption.install()
    try:
        with ExitStack() as stack:
            plan = make_plan(request)
            predicted = None
            if costs is not None:
                predicted = predicted_throughputs(plan, read_costs(costs, strategies_to_cost(plan)))
            folder = None
            if out is not None:
                named = [(meeting.folder, meeting.context) for meeting in plan.meetings]
                folder = TournamentFolder(out / GAMES, named)
                stack.callback(folder.close)
            tournament = tournament_of(plan, folder)
            stop = Stop()
            executor: Executor | None = None
            if not tournament.finished:
                with starting(errors, place):
                    start = partial(_make_executor, place, stop)
                    executor = start_executor(start, interruption, stack, errors, BEFORE_THE_GAMES)
                    executor.open(context_of(plan))
                interruption.watch(stop)
                session = MatchSession(tournament, executor, stop, folder)
                with MatchProgress(errors, strength_report.line, enabled=output.progress) as progress:
                    session.run((progress,))
            result = StrengthResult(plan, [match.standing() for match in tournament.matches], predicted)
            _print(result, tournament, executor, output)
            if out is not None:
                for path in strength_report.write_report(result, out):
                    errors.print(f"banyan: wrote {path}", soft_wrap=True)
            return INTERRUPTED if tournament.stopped_by == "cancelled" else 0
    except KeyboardInterrupt:
        errors.print(BEFORE_THE_GAMES)
        return INTERRUPTED
    finally:
        interruption.uninstall()


def tournament_of(plan: Plan, folder: TournamentFolder | None = None) -> Tournament:
    """The games of a plan, less those that the folder has."""
    kept = [()] * len(plan.meetings) if folder is None else [match.played for match in folder.folders]
    return Tournament(
        [
            Match(meeting.context, 2 * meeting.pairs, None, played)
            for meeting, played in zip(plan.meetings, kept, strict=True)
        ]
    )


def context_of(plan: Plan) -> TournamentContext:
    """What workers need to know of a plan."""
    return TournamentContext(tuple(meeting.context for meeting in plan.meetings))


def _make_executor(place: Place, stop: Stop) -> Executor:
    """An executor that plays games of several matches."""
    timeout_s = DEFAULT_GAME_TIMEOUT_S if place.job_timeout_s is None else place.job_timeout_s
    make_worker: Callable[[], TournamentWorker] = TournamentWorker
    if place.executor == "inline":
        # Only where the signal arrives can a game be given up between two moves.
        make_worker = partial(TournamentWorker, cancelled=lambda: stop.requested)
    return make_executor(
        place.executor, place.workers, place.address, timeout_s, make_worker=make_worker, in_flight=1
    )


def _print(result: StrengthResult, tournament: Tournament, executor: Executor | None, output: Output) -> None:
    """The tables on standard output, what to know about them on standard error."""
    workers = 0 if executor is None else executor.num_workers
    if output.json:
        terminal.print_json(
            result.to_json()
            | {
                "games_played": tournament.done,
                "games_retried": tournament.retried,
                "stopped_by": tournament.stopped_by,
                "workers": workers,
                "executor": None if executor is None else executor.name,
            }
        )
        return
    console = terminal.stdout_console(output.colour)
    console.print(strength_report.rows_table(result))
    if result.curve:
        console.print(strength_report.curve_table(result))
    for note in strength_report.notes(result):
        console.print(note, style="dim")
    ran_on = f" ({workers} worker{'s' * (workers != 1)})" if workers else ""
    console.print(
        strength_report.PLACE.replace("whatever there is", f"whatever there is{ran_on}"), style="dim"
    )
    for text in strength_report.warnings(result):
        terminal.stderr_console(output.colour).print(
            f"banyan: warning: {text}", style="yellow", soft_wrap=True
        )
