"""Runs `banyan strength --judge exact`: from the request to printed tables."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

from cluster.front_door.placement import Placement
from cluster.lab.exact import report
from cluster.lab.exact.moves import Moves, MoveWorker
from cluster.lab.exact.plan import ExactPlan, ExactRequest, make_plan
from cluster.lab.exact.positions import SharpPosition, sharp_positions
from cluster.lab.exact.result import ExactResult
from cluster.lab.exact.store import MoveStore
from cluster.launch import Launch, Output, launch
from cluster.runtime.jobset import LINE_S, Jobset
from cluster.system import terminal
from cluster.system.status_line import StatusLine
from games.analysis.table import judge_of
from games.errors import counted

BEFORE_ANY = "banyan: interrupted before any move was made"


def run_exact(request: ExactRequest, place: Placement, output: Output, out: Path | None, picture: str) -> int:
    """Let all players move in the positions and print what they lose; returns the exit status.

    ``picture``: the format of the figure.

    Raises InvalidInput, UnitFailed, ConnectionError, OSError.
    """
    with launch(output, BEFORE_ANY) as started:
        plan = make_plan(request)
        store = started.stack.enter_context(closing(MoveStore(out, plan.identity)))
        positions = store.positions[: plan.request.positions]
        if len(positions) < plan.request.positions:
            positions = _positions(plan, started, output)
            store.keep_positions(positions)
        moves = Moves(plan.contexts(positions), plan.simulations, plan.game, store, plan.request.tries)
        workers = 0
        if not moves.finished:
            jobset = Jobset(moves)
            progress = started.units_progress(_in_short)
            workers = started.run_units(place, jobset, MoveWorker, progress).num_workers
        result = result_of(plan, positions, moves)
        if output.json:
            terminal.print_json(report.to_json(plan, result) | {"workers": workers})
        else:
            console = terminal.stdout_console(output.colour)
            console.print(report.table(plan, result))
            for note in report.notes(plan):
                console.print(note, style="dim")
        if out is not None and result.rows:
            for path in report.write_report(plan, result, out, picture):
                started.say(f"wrote {path}")
    return started.status


def result_of(plan: ExactPlan, positions: list[SharpPosition], moves: Moves) -> ExactResult:
    """The result of the moves made so far."""
    count = len(plan.budgets)
    sequential = dict(zip(plan.budgets, moves.moves[:count], strict=True))
    parallel = list(zip(plan.cells, moves.moves[count:], strict=True))
    return ExactResult(positions, sequential, parallel, plan.request.searches.seed, plan.request.tries)


def _positions(plan: ExactPlan, started: Launch, output: Output) -> list[SharpPosition]:
    """The positions of the plan; shows the making of the judge's table and the search for positions."""
    began_s = time.monotonic()
    with StatusLine(started.errors, "looking for positions ...", LINE_S, enabled=output.progress) as status:

        def show(done: int, text: str) -> None:
            status.show(
                done,
                lambda: time.monotonic() - began_s,
                lambda now: f"{text}, {terminal.duration(now)}",
            )

        def solving(done: int, found: int) -> None:
            of = f"{terminal.count(done)} of {terminal.count(found)}"
            show(done, f"solving {plan.game.spec}, once on this machine: {of} positions so far")

        judge = judge_of(plan.game, solving)
        wanted = plan.request.positions

        def found(number: int) -> None:
            show(number, f"{terminal.count(number)} of {counted(wanted, 'position')} found")

        seed, short = plan.request.searches.seed, plan.short_search()
        return sharp_positions(plan.game, judge, wanted, seed, found, short)


def _in_short(moves: Moves) -> list[str]:
    """What is done, in a few words."""
    return [f"{terminal.count(moves.done)} of {counted(moves.all, 'move')}"]
