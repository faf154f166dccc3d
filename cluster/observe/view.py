"""A search as text: its progress on standard error, and the parts of the final answer.

On a terminal progress is a live view, otherwise plain lines. A session calls the observer at every event,
thousands of times per second; it returns at once if nothing is due. The interval of drawing follows from the
measured cost, so that progress takes a negligible share of the time of a search in this process.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Self

from rich.bar import Bar
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cluster.observe.progress import ON_SERVER, Figures, Sample, Sampler
from cluster.runtime.session import Session
from cluster.runtime.worker_state import WorkerState
from cluster.system import terminal
from games.errors import counted
from games.game import FIRST, Board, Cell
from search.prepare import Search, Searched
from search.request import SearchRequest
from search.result import Answer, SearchResult, shared
from search.strategies import plan_search

REDRAW_S = 0.125
LINE_S = 1.0
DRAWING_SHARE = 0.03
"""Largest share of the time that drawing may take."""
STARVED = 0.7
"""The share of a core in jobs below which it is told; it is about 1 where no other program uses the cores."""
NO_WORKERS = "no worker of the server is ready: they start with the first search, and again after a rest"
CHILDREN_SHOWN, CHILDREN_SHOWN_LIVE = 8, 5
WORKERS_SHOWN = 8
BAR_WIDTH = 30
FACTS_WIDTH = 46
"""Width in columns of the live view without its board."""
# The time of a simulation from which on more workers than cores are advised, up to so many.
SLOW_S, MANY_WORKERS = 0.005, 16
_HEAT = ("color(17)", "color(18)", "color(54)", "color(90)", "color(126)", "color(161)", "color(196)")
_STATES = {
    WorkerState.BUSY: "green",
    WorkerState.IDLE: "dim",
    WorkerState.STARTING: "yellow",
    WorkerState.WAITING: "yellow",
    WorkerState.GIVEN_UP: "red",
}


class Progress:
    """Context manager around a search that shows its progress, and an observer for its session.

    On a terminal an area is redrawn; without one, lines are written.
    """

    def __init__(
        self,
        console: Console,
        *,
        enabled: bool = True,
        drawable: bool = True,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """``drawable``: whether the board can be drawn; if not, only lines are written. ``clock`` measures
        the cost of drawing, in seconds; when to draw depends on the elapsed time of the search."""
        self._console, self._enabled, self._clock = console, enabled, clock
        on_terminal = console.is_terminal and not console.is_dumb_terminal
        self._live_wanted = enabled and on_terminal and drawable
        self._live: Live | None = None
        self._sampler = Sampler()
        self._due_s = 0.0 if self._live_wanted else LINE_S

    def __enter__(self) -> Self:
        if self._live_wanted:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def __call__(self, session: Session) -> None:
        """Show the session if it is due."""
        if session.finished_s is None:
            self.show(session.search, session.elapsed_s, partial(self._sampler.sample, session))

    def show(self, search: Searched | None, elapsed_s: float, take: Callable[[], Sample]) -> None:
        """Show what ``take`` returns if it is due after ``elapsed_s`` of the search."""
        if not self._enabled or elapsed_s < self._due_s:
            return
        started_s, sample = self._clock(), take()
        if self._live is None or search is None:
            print(line_of(sample), file=self._console.file, flush=True)
            self._due_s = elapsed_s + LINE_S
            return
        self._live.update(view(search, sample, self._console), refresh=True)
        cost_s = self._clock() - started_s
        self._due_s = elapsed_s + cost_s + max(REDRAW_S, cost_s / DRAWING_SHARE)


def line_of(sample: Sample) -> str:
    """Progress as one line of text."""
    figures, answer = sample.figures, sample.answer
    ready = figures.jobs or any(worker.state.ready for worker in figures.workers)
    if sample.place == ON_SERVER and not ready:
        return f"banyan: {terminal.duration(figures.elapsed_s)}, {NO_WORKERS}"
    parts = [
        f"banyan: {terminal.duration(figures.elapsed_s)}",
        f"{counted(figures.simulations, 'simulation')}",
        terminal.rate(figures.simulations_per_s),
        f"{counted(figures.jobs, 'job')}",
    ]
    if starved := _starved(figures):
        parts.append(starved)
    if figures.recalled:
        parts.append(f"recalled {shared(figures.recalled, figures.playouts)}")
    if figures.jobs_retried:
        parts.append(f"{terminal.count(figures.jobs_retried)} retried")
    if sample.changes:
        alive = sum(worker.state.alive for worker in figures.workers)
        parts.append(f"{counted(alive, 'worker')} ({sample.changes})")
    if answer.best_move is not None:
        parts.append(f"best {answer.best_move} {terminal.value(answer.value, answer.is_share)}")
        parts.append(f"line {' '.join(answer.pv[:6])}")
    return ", ".join(parts)


def view(search: Searched, sample: Sample, console: Console) -> RenderableType:
    """The whole live view in the size of the terminal."""
    board = search.game.board(search.root_state)
    facts = Group(*_live_facts(search, sample))
    width = 2 * len(board.column_labels) + max(map(len, board.row_labels)) + 1
    width += len(board.rows) * board.slanted
    if width + 3 + FACTS_WIDTH > console.width or len(board.rows) + 2 > console.height:
        return facts
    side_by_side = Table.grid(padding=(0, 3, 0, 0))
    shares = sample.answer.visit_shares()
    side_by_side.add_row(heat_map(board, shares, colour=terminal.has_colour(console)), facts)
    return side_by_side


def heat_map(board: Board, shares: dict[tuple[int, int], float], *, colour: bool) -> Text:
    """The board with two characters per cell, which are brighter the more visits a cell has.

    ``shares``: shares of the visits by (row, column). Without colour, cells show tenths of the largest share.
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
        text.append(cell.text[:2].ljust(2), "bold bright_blue" if cell.owner == FIRST else "bold yellow")
    elif heat <= 0:
        text.append(cell.text[:2].ljust(2), "dim")
    elif colour:
        style = _HEAT[min(int(heat * len(_HEAT)), len(_HEAT) - 1)]
        text.append(cell.text[:2].ljust(2), f"white on {style}")
    else:
        text.append(f"{max(1, min(9, int(10 * heat)))} ")


def _live_facts(search: Searched, sample: Sample) -> list[RenderableType]:
    answer, figures = sample.answer, sample.figures
    request, shape = search.request, search.request.strategy
    if request.lanes is not None or not request.by_the_clock:
        # By the clock the server chooses them.
        plan = search.plan if isinstance(search, Search) else plan_search(request, search.game)
        shape += f", {counted(plan.lanes, 'lane')}"
    rate = terminal.rate(figures.simulations_per_s)
    merge = f"{1000 * figures.merge_s / figures.merges:.1f} ms each" if figures.merges else ""
    done = f"{terminal.count(figures.jobs)} done   {figures.jobs_in_flight} in flight"
    facts: list[tuple[str, str | Text]] = [
        ("search", search.game.spec),
        ("", f"{shape}, {sample.place}"),
        ("simulations", f"{terminal.count(figures.simulations)}   {rate}"),
        ("jobs", f"{done}   {figures.jobs_retried} retried"),
        ("merge", f"{figures.results_waiting} waiting   {merge}"),
        ("workers", _workers(sample)),
        *([("recalled", shared(figures.recalled, figures.playouts))] if figures.recalled else []),
        *[("", Text(starved, style="yellow")) for starved in [_starved(figures)] if starved],
        ("best move", Text(answer.best_move or "-", style="bold")),
        ("value", terminal.value(answer.value, answer.is_share) if answer.best_move else "-"),
        ("line", " ".join(answer.pv[:10]) or "-"),
        *answer.facts_beyond(),
    ]
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim")
    grid.add_column(no_wrap=True, overflow="ellipsis")
    for fact in facts:
        grid.add_row(*fact)
    budget, used = Table.grid(padding=(0, 1, 0, 0)), figures.budget_used
    bar = Bar(size=1.0, begin=0.0, end=used, width=BAR_WIDTH, color="cyan", bgcolor="bright_black")
    budget.add_row(bar, f"{100 * used:.0f} % {_budget_text(search.request)}")
    return [budget, grid, Text(), children_table(answer, CHILDREN_SHOWN_LIVE)]


def _budget_text(request: SearchRequest) -> str:
    """The budget of a request in words."""
    if request.simulations is not None:
        return f"of {counted(request.simulations, 'simulation')}"
    if request.seconds is not None:
        return f"of {terminal.duration(request.seconds)}"
    return f"of {terminal.count(request.memory_mb)} MB"


def _starved(figures: Figures) -> str:
    """A remark that workers have to wait for cores; empty if they get about all that they need."""
    return f"workers get {100 * figures.core:.0f} % of a core" if figures.core < STARVED else ""


def _workers(sample: Sample) -> Text:
    """Slot, state and busy share of each worker; only totals if there are many workers."""
    workers = sample.figures.workers
    text = Text(no_wrap=True)
    if len(workers) > WORKERS_SHOWN:
        alive = sum(worker.state.alive for worker in workers)
        share = sum(worker.busy for worker in workers) / len(workers)
        text.append(f"{alive} of {len(workers)} alive, busy {100 * share:.0f} %")
        if sample.changes:
            text.append(f" ({sample.changes})")
        return text
    for i, worker in enumerate(workers):
        text.append("   " if i % 2 else "\n" if i else "")
        text.append(f"{worker.slot} ", "dim")
        text.append(worker.state, _STATES.get(worker.state, ""))
        text.append(f" {100 * worker.busy:3.0f} %")
        if worker.restarts:
            text.append(f" ({worker.restarts} restarted)", "yellow")
    return text


def children_table(answer: Answer, rows: int) -> Table:
    """A table of the most visited children of the root, at most ``rows``."""
    total = max(1, sum(child.visits for child in answer.children))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("move")
    for heading in ("visits", "share", "value"):
        table.add_column(heading, justify="right")
    for child in answer.children[:rows]:
        best = child.move == answer.best_move
        table.add_row(
            child.move,
            terminal.count(child.visits),
            f"{100 * child.visits / total:.1f} %",
            f"{child.value:+.3f}",
            style="bold" if best else None,
        )
    return table


def advice(session: Session) -> list[str]:
    """Advice to use more workers where a simulation takes long; empty if none is needed."""
    counters = session.coordinator.counters
    each_s = counters.job_durations.sum_s / max(1, counters.simulations - session.simulations_before)
    if each_s < SLOW_S or session.executor.num_workers >= MANY_WORKERS:
        return []
    how = f"--strategy leaf --executor ray --workers {MANY_WORKERS} runs {MANY_WORKERS} at a time"
    return [f"a simulation takes about {1000 * each_s:.0f} ms: {how}, on fewer cores too if it waits"]


def warnings(result: SearchResult, memory_mb: int) -> list[str]:
    """Warnings about the reliability of the answer."""
    lines = []
    if result.tree_full and result.stopped_by != "memory":
        lines.append(
            f"the memory of {terminal.count(memory_mb)} MB was full: the search continued without growing"
        )
    if result.jobs_retried:
        jobs = "1 job was" if result.jobs_retried == 1 else f"{terminal.count(result.jobs_retried)} jobs were"
        lines.append(f"{jobs} lost with a worker and run again (this does not change the statistics)")
    return lines
