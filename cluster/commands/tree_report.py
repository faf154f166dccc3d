"""The top of a search tree as lines of text."""

from __future__ import annotations

from cluster.launch import Output
from cluster.observe import view as report
from cluster.system import terminal
from games.game import CHANCE, CHANCE_NAME
from search.prepare import Search
from search.result import SearchResult
from search.tree.view import TopNode

FACTS = ("best move", "value", "simulations", "search", "tree", "stopped by", "digest")


def tree_lines(root: TopNode, name: str) -> list[str]:
    """A heading and a line for each node: move, visits, share, value, chance if it moves next, proof, number
    of moves not shown."""
    rows = [(name, root)]
    _add_rows(root, "", rows)
    wide = max(len(label) for label, _ in rows)
    visits = max(len("visits"), len(terminal.count(root.visits)))
    lines = [f"{'move'.ljust(wide)}  {'visits'.rjust(visits)}    share   value"]
    for label, node in rows:
        share = f"{100 * node.share:.1f} %"
        facts = f"{terminal.count(node.visits).rjust(visits)}  {share:>7}  {node.value:+.3f}"
        more = f"{node.left_out} more" if node.children and node.left_out else ""
        chance = CHANCE_NAME if node.player == CHANCE else ""
        notes = "".join(f"  {note}" for note in (chance, node.proof, more) if note)
        lines.append(f"{label.ljust(wide)}  {facts}{notes}")
    return lines


def print_tree(search: Search, result: SearchResult, top: TopNode, output: Output) -> None:
    """Print facts about the search, then the tree, on standard output."""
    from rich.text import Text

    console = terminal.stdout_console(output.colour)
    for name, text in result.facts():
        if name in FACTS:
            console.print(Text.assemble((name.ljust(report.NAME_WIDTH), "dim"), text), soft_wrap=True)
    if search.game.num_players > 2:
        values = "each of the player who makes the move"
        console.print(Text.assemble(("values".ljust(report.NAME_WIDTH), "dim"), values), soft_wrap=True)
    console.print()
    first, *lines = tree_lines(top, f"{result.to_move} to move")
    console.print(Text(first, style="dim"), soft_wrap=True)
    for line in lines:
        is_best = line.split(" ")[:2] in (["|--", result.answer.best_move], ["`--", result.answer.best_move])
        console.print(Text(line, style="bold" if is_best else ""), soft_wrap=True)


def _add_rows(node: TopNode, before: str, rows: list[tuple[str, TopNode]]) -> None:
    for number, child in enumerate(node.children, 1):
        last = number == len(node.children)
        rows.append((f"{before}{'`' if last else '|'}-- {child.move}", child))
        _add_rows(child, before + ("    " if last else "|   "), rows)
