"""Runs `banyan strength`: from the request to printed tables and files, for every judge.

A judge plans units of work from the searches (`open`). Of those that are done it makes rows, tables, notes,
warnings, JSON and lines of CSV; `plots.py` draws them.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from rich.text import Text

from cluster.lab.strength.exact import ByValues
from cluster.lab.strength.games import ByGames
from cluster.lab.strength.plots import plot_games, plot_losses
from cluster.lab.strength.request import EXACT, Searches, StrengthRequest
from cluster.launch import Output, launch, warn
from cluster.report.machine import provenance
from cluster.report.table import write_files
from cluster.runtime.jobset import LINE_S, Jobset
from cluster.system.status_line import StatusLine
from cluster.workers.placement import Placement


def run_strength(
    request: StrengthRequest,
    place: Placement,
    output: Output,
    out: Path | None,
    picture: str = "png",
) -> int:
    """Run the units that the judge plans and print its tables; returns the exit status.

    ``picture``: the format of the figure. Raises InvalidInput, UnitFailed, ConnectionError, OSError.
    """
    with launch(output) as started:
        searches = Searches(request)
        judge: ByValues | ByGames
        judge = ByValues(searches) if request.judge == EXACT else ByGames(searches)
        line = StatusLine(started.errors, "looking for positions ...", LINE_S, enabled=output.progress)
        judge.open(started.stack, out, line)
        executor = None
        if not judge.finished:
            progress = started.units_progress(lambda _: judge.in_short())
            executor = started.run_units(place, Jobset(judge), judge.make_worker, progress)
        ran: dict[str, Any] = {}
        if isinstance(judge, ByGames):
            ran = {"games_played": judge.done, "games_retried": judge.retried}
            ran |= {"stopped_by": judge.stopped_by, "executor": executor and executor.name}
        found = judge.to_json() | ran | {"workers": executor.num_workers if executor else 0}
        output.show(found, *judge.tables(), *(Text(note, "dim") for note in judge.notes()))
        for text in () if output.json else judge.warnings():
            warn(text, output)
        if out is not None and judge.rows:
            value = judge.to_json() | {"measured_on": provenance()}
            draw = partial(plot_games, judge) if isinstance(judge, ByGames) else partial(plot_losses, judge)
            for path in write_files(out, "strength", value, value["rows"], draw, picture):
                started.say(f"wrote {path}")
    return started.status
