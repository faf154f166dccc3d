"""The live view of a search: a small board with the visits as heat, and beside it how it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.bar import Bar
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cluster import report, terminal
from cluster.figures import comings_and_goings
from cluster.session import Session
from games.game import FIRST, Board, Cell
from search.tree import bytes_per_node, is_hidden

if TYPE_CHECKING:
    from rich.console import Console

    from cluster.figures import Figures

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


def view(session: Session, figures: Figures, console: Console) -> RenderableType:
    """The whole view, as wide and as high as the terminal has room for."""
    position = session.search
    board = position.game.board(position.root_state)
    facts = Group(*_facts(session, figures))
    width = 2 * len(board.column_labels) + max(map(len, board.row_labels)) + 1
    if width + 3 + FACTS_WIDTH > console.width or len(board.rows) + 2 > console.height:
        return facts
    side_by_side = Table.grid(padding=(0, 3, 0, 0))
    shares = report.visit_shares(figures.answer)
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


def _facts(session: Session, figures: Figures) -> list[RenderableType]:
    coordinator, answer = session.coordinator, figures.answer
    counters = coordinator.counters
    strategy = session.search.strategy
    request = session.search.request
    # Results that wait for an earlier one: what the merge is behind the workers.
    lag = max(0, strategy.issued - strategy.absorbed - coordinator.jobs_in_flight)
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim")
    grid.add_column(no_wrap=True, overflow="ellipsis")
    grid.add_row("search", f"{session.search.game.spec}")
    grid.add_row("", f"{request.strategy}, {strategy.lanes} lanes, {session.executor.name}")
    grid.add_row("simulations", f"{terminal.count(counters.simulations)}   {terminal.rate(figures.rate)}")
    jobs = f"{terminal.count(counters.jobs_done)} done   {coordinator.jobs_in_flight} in flight"
    grid.add_row("jobs", f"{jobs}   {counters.jobs_retried} retried")
    grid.add_row("merge", f"{lag} waiting   {_merge_text(session)}")
    grid.add_row("workers", _workers(session, figures))
    grid.add_row("best move", Text(answer.best_move or "-", style="bold"))
    grid.add_row("value", terminal.value(answer.value) if answer.best_move else "-")
    grid.add_row("line", " ".join(answer.pv[:10]) or "-")
    return [_budget(session), grid, Text(), report.children_table(answer, CHILDREN_SHOWN)]


def _merge_text(session: Session) -> str:
    durations = session.coordinator.counters.merge_durations
    merges = sum(durations.counts)
    return f"{1000 * durations.sum_s / merges:.1f} ms each" if merges else ""


def _budget(session: Session) -> RenderableType:
    """How much of the budget is used up."""
    request, counters = session.search.request, session.coordinator.counters
    if request.simulations is not None:
        used = counters.simulations / request.simulations
        text = f"of {terminal.count(request.simulations)} simulations"
    elif request.seconds is not None:
        used = session.elapsed_s / request.seconds
        text = f"of {terminal.duration(request.seconds)}"
    else:
        used = _memory_share(session)
        text = f"of {terminal.count(request.memory_mb)} MB"
    used = min(1.0, used)
    row = Table.grid(padding=(0, 1, 0, 0))
    bar = Bar(size=1.0, begin=0.0, end=used, width=BAR_WIDTH, color="cyan", bgcolor="bright_black")
    row.add_row(bar, f"{100 * used:.0f} % {text}")
    return row


def _memory_share(session: Session) -> float:
    """How full the fullest of the trees is."""
    search = session.search
    node_bytes = bytes_per_node(is_hidden(search.strategy.tree))
    shared = session.coordinator.tree_bytes / (len(search.strategy.tree.visits) * node_bytes)
    slots = search.context.tree_slots
    lane = session.coordinator.counters.lane_tree_bytes / (slots * node_bytes) if slots else 0.0
    return max(shared, lane)


def _workers(session: Session, figures: Figures) -> Text:
    """Slot, state and busy share of each worker; many workers are summed up."""
    workers = session.executor.workers
    text = Text(no_wrap=True)
    if len(workers) > WORKERS_SHOWN:
        alive = sum(worker.alive for worker in workers)
        share = sum(figures.busy) / max(1, len(figures.busy))
        text.append(f"{alive} of {len(workers)} alive, busy {100 * share:.0f} %")
        if figures.joined or figures.left:
            text.append(f" ({comings_and_goings(figures)})")
        return text
    for i, (worker, share) in enumerate(zip(workers, figures.busy, strict=False)):
        text.append("   " if i % 2 else "\n" if i else "")
        text.append(f"{worker.slot} ", "dim")
        text.append(worker.state, _STATES.get(worker.state, ""))
        text.append(f" {100 * share:3.0f} %")
        if worker.restarts:
            text.append(f" ({worker.restarts} restarted)", "yellow")
    return text
