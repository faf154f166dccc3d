"""`banyan tree`: the top of a search tree."""

# ruff: noqa: RUF009
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cluster.commands.options import AT_LEAST_1, SearchPlace, option, report
from cluster.system.terminal import Output, count, print_facts, print_json, stdout_console, write
from search.options import refuse
from search.request import SearchRequest

if TYPE_CHECKING:
    from search.prepare import Search
    from search.result import SearchResult
    from search.tree.view import TopNode

DRAWING = "Drawing"
FACTS = ("best move", "value", "simulations", "search", "tree", "stopped by", "digest")
NODES, DEPTH, WIDTH, MIN_VISITS = 40, 4, 5, 2
"""One screen: the best moves with their main answers. Moves tried only once are not informative."""


@dataclass(frozen=True)
class TreeDrawing:
    """The part of a tree that is shown."""

    nodes: int = option(
        NODES, "N", "The number of nodes shown, the most visited.", DRAWING, accepts=AT_LEAST_1
    )
    depth: int = option(DEPTH, "DEPTH", "Plies below the root that are shown.", DRAWING, accepts=AT_LEAST_1)
    width: int = option(
        WIDTH, "W", "The number of moves shown of each node, the most visited.", DRAWING, accepts=AT_LEAST_1
    )
    min_visits: int = option(
        MIN_VISITS, "V", "Show only nodes with at least V visits.", DRAWING, accepts=AT_LEAST_1
    )
    player: str | None = option(
        None,
        "PLAYER",
        "Instead of a search, show the nodes that alphabeta:depth=3 or minimax:depth=3 visits and "
        "cuts (ties=first: the order of textbooks).",
        DRAWING,
    )
    out: Path | None = option(None, "FILE", "Write a drawing to FILE: .svg, .dot or .txt.", DRAWING)


def tree(request: SearchRequest, place: SearchPlace, output: Output, drawing: TreeDrawing) -> int:
    """Search a position and show the top of the tree: moves, visits, values, and proven results."""
    from cluster.drawing.writers import format_of, write_figure
    from cluster.launch import run_search
    from search.tree.view import Extent, top_of

    out, extent = drawing.out, Extent(drawing.nodes, drawing.depth, drawing.width, drawing.min_visits)
    if out is not None:
        format_of(out)
    if drawing.player is not None:
        return _look_ahead(request, output.json, drawing.player, out)

    def show(search: Search, result: SearchResult, output: Output) -> None:
        from cluster.drawing.figures import figure_of_search
        from search.result import imagined

        top = top_of(search.strategy.tree, search.game, imagined(search), extent)
        if output.json:
            print_json(result.to_json() | {"tree": top.to_json(search.game)})
        else:
            print_tree(search, result, top, output)
        if out is not None:
            write_figure(figure_of_search(search.game, top, result), out, report)

    return run_search(request, place.placement(), output, show)


def _look_ahead(request: SearchRequest, json_output: bool, player: str, out: Path | None) -> int:
    """Show the nodes that a minimax player visits, instead of a search."""
    from cluster.drawing.figures import figure_of_trace
    from cluster.drawing.writers import write_figure, write_text
    from games.catalogue import load
    from search.players import player_of
    from search.players.minimax import Minimax
    from search.prepare import unfinished_position

    game = load(request.game)
    looks = player_of(player, game)
    if not isinstance(looks, Minimax):
        refuse("player", player, "alphabeta, minimax or negamax, with depth=N")
    traced = looks.trace(game, unfinished_position(request, game))
    figure = figure_of_trace(game, traced, looks)
    if json_output:
        print_json(
            {
                "game": game.spec,
                "player": looks.spec,
                "visited": traced.visited,
                "nodes": traced.total,
                "tree": traced.root.to_json(),
            }
        )
    else:
        write(write_text(figure), end="")
    if out is not None:
        write_figure(figure, out, report)
    return 0


def tree_lines(root: TopNode, name: str) -> list[str]:
    """A heading and a line for each node: move, visits, share, value, chance if it moves next, proof, number
    of moves not shown."""
    from games.game import CHANCE, CHANCE_NAME

    rows = [(name, root)]
    _add_rows(root, "", rows)
    wide = max(len(label) for label, _ in rows)
    visits = max(len("visits"), len(count(root.visits)))
    lines = [f"{'move'.ljust(wide)}  {'visits'.rjust(visits)}    share   value"]
    for label, node in rows:
        share = f"{100 * node.share:.1f} %"
        facts = f"{count(node.visits).rjust(visits)}  {share:>7}  {node.value:+.3f}"
        more = f"{node.left_out} more" if node.children and node.left_out else ""
        chance = CHANCE_NAME if node.player == CHANCE else ""
        notes = "".join(f"  {note}" for note in (chance, node.proof, more) if note)
        lines.append(f"{label.ljust(wide)}  {facts}{notes}")
    return lines


def print_tree(search: Search, result: SearchResult, top: TopNode, output: Output) -> None:
    """Print facts about the search, then the tree, on standard output."""
    from rich.text import Text

    console = stdout_console(output.colour)
    facts = [fact for fact in result.facts() if fact[0] in FACTS]
    if search.game.num_players > 2:
        facts.append(("values", "each of the player who makes the move"))
    print_facts(console, facts)
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
