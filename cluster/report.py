"""The answer of a search as people read it: the board with its visits, and what they say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cluster import terminal
from games.drawing import draw
from games.game import Game, State
from search.result import Answer, SearchResult

if TYPE_CHECKING:
    from rich.table import Table

CHILDREN_SHOWN = 8
DIGEST_SHOWN = 12
NAME_WIDTH = 13
"""Columns that the names of facts take."""
HEAT_FROM = 0.005
"""Shares of visits below this are not worth a colour."""


def visit_shares(answer: Answer) -> dict[tuple[int, int], float]:
    """Each cell's share of the visits; moves that the board does not show are left out."""
    total = sum(child.visits for child in answer.children)
    shares: dict[tuple[int, int], float] = {}
    for child in answer.children:
        if child.cell is not None and child.visits >= HEAT_FROM * total:
            shares[child.cell] = shares.get(child.cell, 0.0) + child.visits / total
    return shares


def children_table(answer: Answer, rows: int) -> Table:
    """The most visited children of the root."""
    from rich.table import Table

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


def board_text(game: Game, state: State, answer: Answer, *, colour: bool) -> str:
    """The position with shares of visits in percent on empty cells, and the best move in brackets."""
    board = game.board(state)
    best = next((child.cell for child in answer.children if child.move == answer.best_move), None)
    rows = [
        [replace(cell, last=(r, c) == best) for c, cell in enumerate(row)] for r, row in enumerate(board.rows)
    ]
    return draw(replace(board, rows=rows), colour=colour, heat=visit_shares(answer))


def warnings(result: SearchResult, memory_mb: int) -> list[str]:
    """What somebody who trusts the answer should know."""
    lines = []
    if result.tree_full and result.stopped_by != "memory":
        lines.append(
            f"the memory of {terminal.count(memory_mb)} MB was used up: the search went on without growing"
        )
    if result.jobs_retried:
        jobs = "1 job was" if result.jobs_retried == 1 else f"{terminal.count(result.jobs_retried)} jobs were"
        lines.append(f"{jobs} lost with a worker and run again (the statistics are the same)")
    return lines


def resumed(result: SearchResult) -> str:
    """How often the search went on from a checkpoint, if it did."""
    return f", resumed {result.resumed} time{'s' * (result.resumed != 1)}" if result.resumed else ""


def facts(result: SearchResult) -> list[tuple[str, str]]:
    """Name and text of what is known about the answer and how it was found."""
    answer = result.answer
    rate = result.simulations / result.elapsed_s if result.elapsed_s > 0 else 0.0
    workers = f"{result.workers} worker{'s' * (result.workers != 1)}"
    return [
        ("best move", f"{answer.best_move or 'none: nothing was searched'} for {result.to_move}"),
        ("value", terminal.value(answer.value)),
        ("line", " ".join(answer.pv)),
        ("", ""),
        ("simulations", f"{terminal.count(result.simulations)} in {terminal.duration(result.elapsed_s)}"),
        ("rate", terminal.rate(rate)),
        ("search", f"{result.strategy}, {result.lanes} lanes, seed {result.seed}"),
        ("ran on", f"{workers}, {result.executor}{resumed(result)}"),
        ("tree", f"{terminal.count(result.tree_nodes)} nodes"),
        ("stopped by", result.stopped_by),
        ("digest", result.digest[:DIGEST_SHOWN]),
    ]
