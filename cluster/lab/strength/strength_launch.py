"""Runs `banyan strength`: from the request to printed tables."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from cluster.front_door.placement import Placement
from cluster.lab.predict.costs import read_costs
from cluster.lab.strength import strength_report
from cluster.lab.strength.strength import Plan, StrengthRequest, make_plan
from cluster.lab.strength.strength_result import StrengthResult
from cluster.lab.strength.strength_throughput import predicted_throughputs, strategies_to_cost
from cluster.launch import Output, launch
from cluster.matches.game import MatchWorker
from cluster.matches.match import Match, MatchFolder, Tournament
from cluster.runtime.jobset import Jobset
from cluster.runtime.tasks import Executor
from cluster.system import terminal

BEFORE_THE_GAMES = "banyan: interrupted before the games began"
GAMES = "games"
"""Name of the folder in the report's folder that contains a folder for each match."""


def run_strength(
    request: StrengthRequest,
    place: Placement,
    output: Output,
    out: Path | None,
    costs: Path | None = None,
    picture: str = "png",
) -> int:
    """Play the matches and print the tables; returns the exit status.

    ``costs``: a file written by `banyan predict --save-costs`. ``picture``: the format of the figure.

    Raises InvalidInput, UnitFailed, ConnectionError, OSError.
    """
    with launch(output, BEFORE_THE_GAMES) as started:
        plan = make_plan(request)
        predicted = None
        if costs is not None:
            predicted = predicted_throughputs(plan, read_costs(costs, strategies_to_cost(plan)))
        folders = () if out is None else folders_of(plan, out, started.stack)
        tournament = tournament_of(plan, folders)
        executor: Executor | None = None
        if not tournament.finished:
            jobset = Jobset(tournament)
            progress = started.units_progress(strength_report.in_short)
            executor = started.run_units(place, jobset, MatchWorker, progress)
        result = StrengthResult(plan, [match.standing() for match in tournament.matches], predicted)
        _print(result, tournament, executor, output)
        if out is not None:
            for path in strength_report.write_report(result, out, picture):
                started.say(f"wrote {path}")
    return started.status


def folders_of(plan: Plan, out: Path, stack: ExitStack) -> list[MatchFolder]:
    """A folder for the games of each match, closed with the stack. Raises InvalidInput (out), OSError."""
    return [
        stack.enter_context(closing(MatchFolder(out / GAMES / meeting.folder, meeting.context)))
        for meeting in plan.meetings
    ]


def tournament_of(plan: Plan, folders: Sequence[MatchFolder] = ()) -> Tournament:
    """The games of a plan, without those already in the folders."""
    kept = [folder.played for folder in folders] if folders else [()] * len(plan.meetings)
    matches = [
        Match(meeting.context, 2 * meeting.pairs, None, played)
        for meeting, played in zip(plan.meetings, kept, strict=True)
    ]
    return Tournament(matches, folders)


def _print(result: StrengthResult, tournament: Tournament, executor: Executor | None, output: Output) -> None:
    """Print the tables to standard output, and notes to standard error."""
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
    console.print(strength_report.PLACE, style="dim")
    for text in strength_report.warnings(result):
        terminal.stderr_console(output.colour).print(
            f"banyan: warning: {text}", style="yellow", soft_wrap=True
        )
