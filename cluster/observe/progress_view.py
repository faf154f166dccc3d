"""The live view of a search: a small board with a heat map of the visits, and facts beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.bar import Bar
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cluster.observe import answer_report as report
from cluster.observe.search_view import SearchView, budget_text
from cluster.runtime.worker_state import WorkerState
from cluster.system import terminal
from games.errors import counted
from games.game import FIRST, Board, Cell

if TYPE_CHECKING:
    from rich.console import Console

CHILDREN_SHOWN = 5
WORKERS_SHOWN = 8
BAR_WIDTH = 30
FACTS_WIDTH = 46
"""Width in columns of everything except the board."""
_HEAT = ("color(17)", "color(18)", "color(54)", "color(90)", "color(126)", "color(161)", "color(196)")
_STATES = {
    WorkerState.BUSY: "green",
    WorkerState.IDLE: "dim",
    WorkerState.STARTING: "yellow",
    WorkerState.WAITING: "yellow",
    WorkerState.GIVEN_UP: "red",
}


def view(search: SearchView, console: Console) -> RenderableType:
    """The whole view in the size of the terminal."""
    board = search.game.board(search.root_state)
    facts = Group(*_facts(search))
    width = 2 * len(board.column_labels) + max(map(len, board.row_labels)) + 1
    width += len(board.rows) * board.slanted
    if width + 3 + FACTS_WIDTH > console.width or len(board.rows) + 2 > console.height:
        return facts
    side_by_side = Table.grid(padding=(0, 3, 0, 0))
    shares = search.answer.visit_shares()
    side_by_side.add_row(heat_map(board, shares, colour=terminal.has_colour(console)), facts)
    return side_by_side


def heat_map(board: Board, shares: dict[tuple[int, int], float], *, colour: bool) -> Text:
    """The board with two characters per cell, which are brighter the more visits a cell has.

    Without colour, cells show tenths of the largest share.
    """
    text = Text(no_wrap=True)
    top = max(shares.values(), default=1.0)
    margin = max(map(len, board.row_labels))
    for r, (label, row) in enumerate(zip(board.row_labels, board.rows, strict=True)):
        text.append(" " * (r * board.slanted) + f"{label.rjust(margin)} ", "dim")
        for c, cell in enumerate(row):
            _append_cell(text, cell, shares.get((r, c), 0.0) / top, colour)
        text.append("\n")
    below = " " * (len(board.rows) * board.slanted + margin + 1)
    text.append(below + "".join(label.ljust(2) for label in board.column_labels), "dim")
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


def _facts(search: SearchView) -> list[RenderableType]:
    answer, figures = search.answer, search.figures
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim")
    grid.add_column(no_wrap=True, overflow="ellipsis")
    grid.add_row("search", f"{search.game.spec}")
    grid.add_row("", f"{search.request.strategy}, {counted(search.request.lanes, 'lane')}, {search.place}")
    rate = terminal.rate(figures.simulations_per_s)
    grid.add_row("simulations", f"{terminal.count(figures.simulations)}   {rate}")
    jobs = f"{terminal.count(figures.jobs)} done   {figures.jobs_in_flight} in flight"
    grid.add_row("jobs", f"{jobs}   {figures.jobs_retried} retried")
    merge = f"{1000 * figures.merge_s / figures.merges:.1f} ms each" if figures.merges else ""
    grid.add_row("merge", f"{figures.results_waiting} waiting   {merge}")
    grid.add_row("workers", _workers(search))
    grid.add_row("best move", Text(answer.best_move or "-", style="bold"))
    grid.add_row("value", terminal.value(answer.value, answer.is_share) if answer.best_move else "-")
    grid.add_row("line", " ".join(answer.pv[:10]) or "-")
    for name, text in answer.facts_beyond():
        grid.add_row(name, text)
    return [_budget(search), grid, Text(), report.children_table(answer, CHILDREN_SHOWN)]


def _budget(search: SearchView) -> RenderableType:
    """A bar and a text of the used share of the budget."""
    row, used = Table.grid(padding=(0, 1, 0, 0)), search.figures.budget_used
    bar = Bar(size=1.0, begin=0.0, end=used, width=BAR_WIDTH, color="cyan", bgcolor="bright_black")
    row.add_row(bar, f"{100 * used:.0f} % {budget_text(search.request)}")
    return row


def _workers(search: SearchView) -> Text:
    """Slot, state and busy share of each worker; only totals if there are many workers."""
    workers = search.figures.workers
    text = Text(no_wrap=True)
    if len(workers) > WORKERS_SHOWN:
        alive = sum(worker.state.alive for worker in workers)
        share = sum(worker.busy for worker in workers) / len(workers)
        text.append(f"{alive} of {len(workers)} alive, busy {100 * share:.0f} %")
        if search.comings is not None:
            text.append(f" ({search.comings})")
        return text
    for i, worker in enumerate(workers):
        text.append("   " if i % 2 else "\n" if i else "")
        text.append(f"{worker.slot} ", "dim")
        text.append(worker.state, _STATES.get(worker.state, ""))
        text.append(f" {100 * worker.busy:3.0f} %")
        if worker.restarts:
            text.append(f" ({worker.restarts} restarted)", "yellow")
    return text
