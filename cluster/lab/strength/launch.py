"""Runs `banyan strength`: from the request to printed tables and files, for every judge.

A judge plans units of work from the searches (`open`), and makes a result of those that are done (`result`).
A result has rows, tables, notes, warnings, JSON and lines of CSV; `plots.py` draws it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from cluster.front_door.placement import Placement
from cluster.lab.strength.exact import ByValues
from cluster.lab.strength.games import ByGames
from cluster.lab.strength.plots import plot
from cluster.lab.strength.request import EXACT, StrengthRequest, searches_of
from cluster.launch import Output, launch, warn
from cluster.report.machine import provenance
from cluster.report.table import write_files
from cluster.runtime.jobset import LINE_S, Jobset
from cluster.system import terminal
from cluster.system.status_line import StatusLine
from games.errors import InvalidInput


def run_strength(
    request: StrengthRequest,
    place: Placement,
    output: Output,
    out: Path | None,
    costs: Path | None = None,
    picture: str = "png",
) -> int:
    """Run the units that the judge plans and print its tables; returns the exit status.

    ``costs``: a file written by `banyan predict --save-costs`. ``picture``: the format of the figure.

    Raises InvalidInput, UnitFailed, ConnectionError, OSError.
    """
    is_exact = request.judge == EXACT
    if is_exact and costs is not None:
        raise InvalidInput("costs", costs, "nothing with --judge exact, which plays no games")
    with launch(output) as started:
        searches = searches_of(request)
        judge = ByValues(searches) if is_exact else ByGames(searches, costs)
        line = StatusLine(started.errors, "looking for positions ...", LINE_S, enabled=output.progress)
        units = judge.open(started.stack, out, line)
        executor = None
        if not units.finished:
            progress = started.units_progress(lambda _: judge.in_short())
            executor = started.run_units(place, Jobset(units), judge.make_worker, progress)
        result = judge.result()
        if output.json:
            ran = judge.run_json(None if executor is None else executor.name)
            workers = 0 if executor is None else executor.num_workers
            terminal.print_json(result.to_json() | ran | {"workers": workers})
        else:
            console = terminal.stdout_console(output.colour)
            for table in result.tables():
                console.print(table)
            for note in result.notes():
                console.print(note, style="dim")
            for text in result.warnings():
                warn(text, output)
        if out is not None and result.rows:
            value = result.to_json() | {"measured_on": provenance()}
            for path in write_files(out, "strength", value, result.records(), partial(plot, result), picture):
                started.say(f"wrote {path}")
    return started.status
