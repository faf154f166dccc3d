"""The live view of a search: a small board with the visits as heat, and beside it how it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.bar import Bar
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cluster import report, terminal
from cluster.sight import Sight
from games.game import FIRST, Board, Cell

if TYPE_CHECKING:
    from rich.console import Console

CHILDREN_SHOWN = 5
WORKERS_SHOWN = 8
BAR_WIDTH = 30
FACTS_WIDTH = 46
"""The room that everything but the board needs."""
_HEAT = ("color(17)", "color(18)", "color(54)", "color(90)", "color(126)", "color(161)", "color(196)")
_STATES = {
    "busy": "green",
    "idle": "dim",
    "starting": "yellow",
    "waiting": "yellow",
    "late": "red",
    "given up": "red",
}


def view(sight: Sight, console: Console) -> RenderableType:
    """The whole view, as wide and as high as the terminal has room for."""
    board = sight.game.board(sight.root_state)
    facts = Group(*_facts(sight))
    width = 2 * len(board.column_labels) + max(map(len, board.row_labels)) + 1
    if width + 3 + FACTS_WIDTH > console.width or len(board.rows) + 2 > console.height:
        return facts
    side_by_side = Table.grid(padding=(0, 3, 0, 0))
    shares = report.visit_shares(sight.answer)
    side_by_side.add_row(heat_map(board, shares, colour=terminal.has_colour(console)), facts)
    return side_by_side


def heat_map(board: Board, shares: dict[tuple[int, int], float], *, colour: bool) -> Text:
    """The board, two characters a cell: the more visits, the brighter; without colour tenths of the most."""
    text = Text(no_wrap=True)
    top = max(shares.values(), default=1.0)
    margin = max(map(len, board.row_labels))
    for r, (label, row) in enumerate(zip(board.row_labels, board.rows, strict=True)):
        text.append(f"{label.rjust(margin)} ", "dim")
        for c, cell in enumerate(row):
            _append_cell(text, cell, shares.get((r, c), 0.0) / top, colour)
        text.append("\n")
    text.append(" " * (margin + 1) + "".join(label.ljust(2) for label in board.column_labels), "dim")
    return text


def _append_cell(text: Text, cell: Cell, heat: float, colour: bool) -> None:
    if cell.owner is not None:
        text.append(cell.text[:2].ljust(2), "bold cyan" if cell.owner == FIRST else "bold yellow")
    elif heat <= 0:
        text.append(cell.text[:2].ljust(2), "dim")
    elif colour:
        style = _HEAT[min(int(heat * len(_HEAT)), len(_HEAT) - 1)]
        text.append(cell.text[:2].ljust(2), f"white on {style}")
    else:
        text.append(f"{max(1, min(9, int(10 * heat)))} ")


def _facts(sight: Sight) -> list[RenderableType]:
    answer = sight.answer
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim")
    grid.add_column(no_wrap=True, overflow="ellipsis")
    grid.add_row("search", f"{sight.game.spec}")
    grid.add_row("", f"{sight.strategy}, {sight.lanes} lanes, {sight.place}")
    grid.add_row("simulations", f"{terminal.count(sight.simulations)}   {terminal.rate(sight.rate)}")
    jobs = f"{terminal.count(sight.jobs)} done   {sight.jobs_in_flight} in flight"
    grid.add_row("jobs", f"{jobs}   {sight.jobs_retried} retried")
    merge = f"{1000 * sight.merge_s / sight.merges:.1f} ms each" if sight.merges else ""
    grid.add_row("merge", f"{sight.results_waiting} waiting   {merge}")
    grid.add_row("workers", _workers(sight))
    grid.add_row("best move", Text(answer.best_move or "-", style="bold"))
    grid.add_row("value", terminal.value(answer.value) if answer.best_move else "-")
    grid.add_row("line", " ".join(answer.pv[:10]) or "-")
    return [_budget(sight), grid, Text(), report.children_table(answer, CHILDREN_SHOWN)]


def _budget(sight: Sight) -> RenderableType:
    """How much of the budget is used up."""
    row = Table.grid(padding=(0, 1, 0, 0))
    bar = Bar(
        size=1.0, begin=0.0, end=sight.budget_used, width=BAR_WIDTH, color="cyan", bgcolor="bright_black"
    )
    row.add_row(bar, f"{100 * sight.budget_used:.0f} % {sight.budget}")
    return row


def _workers(sight: Sight) -> Text:
    """Slot, state and busy share of each worker; many workers are summed up."""
    workers = sight.workers
    text = Text(no_wrap=True)
    if len(workers) > WORKERS_SHOWN:
        alive = sum(worker.alive for worker in workers)
        share = sum(worker.busy for worker in workers) / len(workers)
        text.append(f"{alive} of {len(workers)} alive, busy {100 * share:.0f} %")
        if sight.comings is not None:
            text.append(f" ({sight.comings})")
        return text
    for i, worker in enumerate(workers):
        text.append("   " if i % 2 else "\n" if i else "")
        text.append(f"{worker.slot} ", "dim")
        text.append(worker.state, _STATES.get(worker.state, ""))
        text.append(f" {100 * worker.busy:3.0f} %")
        if worker.restarts:
            text.append(f" ({worker.restarts} restarted)", "yellow")
    return text
