"""The answer of a search as text: the board with shares of visits, a table, facts, warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cluster.system import terminal
from games.drawing import draw
from games.errors import counted
from games.game import Game, State
from search.result import Answer, AnswerView, SearchResult

if TYPE_CHECKING:
    from rich.table import Table

CHILDREN_SHOWN = 8
DIGEST_SHOWN = 12
NAME_WIDTH = 13
"""Width in columns of the names of facts."""


def children_table(answer: Answer, rows: int) -> Table:
    """A table of the most visited children of the root, at most ``rows``."""
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
    return draw(answer.marked(game.board(state)), colour=colour, heat=answer.visit_shares())


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


def resumed(result: SearchResult) -> str:
    """Text such as ``, resumed 2 times`` for a search that was resumed from a checkpoint, else empty."""
    return f", resumed {counted(result.resumed, 'time')}" if result.resumed else ""


def facts(result: SearchResult) -> list[tuple[str, str]]:
    """[(name, text)] of the facts about the answer and the search."""
    rate = result.simulations / result.elapsed_s if result.elapsed_s > 0 else 0.0
    return [
        *AnswerView.facts(result),
        ("", ""),
        ("simulations", f"{terminal.count(result.simulations)} in {terminal.duration(result.elapsed_s)}"),
        ("rate", terminal.rate(rate)),
        ("search", f"{result.strategy}, {counted(result.lanes, 'lane')}, seed {result.seed}"),
        ("ran on", f"{result.ran_on}{resumed(result)}"),
        ("tree", f"{counted(result.tree_nodes, 'node')}"),
        ("stopped by", result.stopped_by),
        ("digest", result.digest[:DIGEST_SHOWN]),
    ]
