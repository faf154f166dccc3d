"""Searches as figures: the top of a search tree, and what alpha-beta looked at."""

from __future__ import annotations

import math

from cluster import terminal
from cluster.drawing import Edge, Figure, Node
from games.explicit_tree import ExplicitTree
from games.game import FIRST, Game
from search.result import SearchResult
from search.top import TopNode
from search.trace import Trace, Traced

ALPHA, BETA, INFINITY = "\N{GREEK SMALL LETTER ALPHA}", "\N{GREEK SMALL LETTER BETA}", "\N{INFINITY}"
LONGEST_SPEC = 60


def figure_of_search(game: Game, root: TopNode, result: SearchResult) -> Figure:
    """The top of a search tree, the root on the left, the most visited moves on top."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    waiting: list[tuple[TopNode, int, int]] = [(root, 0, -1)]
    for top, level, parent in waiting:
        number = len(nodes)
        nodes.append(_node_of_search(game, top, level))
        if parent >= 0:
            edges.append(Edge(parent, number, top.move, weight=top.visits / max(1, root.visits)))
        waiting += [(child, level + 1, number) for child in top.children]
    first, second = game.player_names
    title = (
        f"{_named(game)}: {terminal.count(result.simulations)} simulations, best {result.answer.best_move}"
    )
    nodes_in_all = terminal.count(result.tree_nodes)
    legend = [
        f"{result.strategy}, {result.lanes} lanes, seed {result.seed}, {nodes_in_all} nodes",
        "each move: its share of the visits, visits, value for the player who makes it; thick: many visits",
        f"blue is good for {first}, orange for {second}; square: {first} moves, round: {second}",
    ]
    return Figure(title, nodes, edges, legend, sideways=True)


def _named(game: Game) -> str:
    """The spec, or the name where that is too long for a title."""
    return game.spec if len(game.spec) <= LONGEST_SPEC else game.name


def _node_of_search(game: Game, top: TopNode, level: int) -> Node:
    text = (
        f"{top.move}  {100 * top.share:.0f} %" if level else f"{game.player_names[top.player or 0]} to move"
    )
    note = f"{top.value:+.3f}" + (f" {top.proof}" if top.proof else "")
    more = f"; {top.left_out} more moves" if top.left_out and top.children else ""
    return Node(
        text=text,
        title=f"{top.move or 'root'}: {terminal.count(top.visits)} visits, value {note}{more}",
        player=top.player,
        value=top.first_value,
        note=f"{_short(top.visits)} \N{MIDDLE DOT} {note}",
        level=level,
    )


def _short(visits: int) -> str:
    """A count with three digits that matter."""
    return terminal.rate(visits).removesuffix("/s") if visits >= 1_000 else str(visits)


def figure_of_trace(game: Game, traced: Trace, player: str) -> Figure:
    """All that minimax would look at; what alpha-beta cut is faint, the best line thick."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    waiting: list[tuple[Traced, int]] = [(traced.root, -1)]
    for each, parent in waiting:
        number = len(nodes)
        nodes.append(_node_of_trace(game, each))
        if parent >= 0:
            edges.append(Edge(parent, number, each.text, bold=each.best, faint=not each.visited))
        waiting += [(child, number) for child in each.children]
    cut = traced.total - traced.visited
    share = f" ({100 * cut / traced.total:.0f} %)" if cut else ""
    title = f"{_named(game)}: {player} visits {traced.visited} of {traced.total} nodes, {cut} cut{share}"
    depth = 1 + max(node.level for node in nodes)
    names = game.player_names
    rows = []
    for level in range(depth):
        movers = {node.player for node in nodes if node.level == level and node.player is not None}
        rows.append(names[movers.pop()] if len(movers) == 1 else "")
    legend = [
        f"{names[0]} (square) takes the highest value, {names[1]} (round) the lowest; thick: the best line",
        f"{names[0]} has {ALPHA} for certain, {names[1]} can hold it to {BETA}; dashed: cut, never looked at",
    ]
    return Figure(title, nodes, edges, legend if cut else legend[:1], rows)


def _node_of_trace(game: Game, each: Traced) -> Node:
    worth = "" if each.value is None else number(game, each.value)
    label = worth if isinstance(game, ExplicitTree) else f"{each.text} {worth}".strip()
    alpha, beta = f"{ALPHA} {number(game, each.alpha)}", f"{BETA} {number(game, each.beta)}"
    bounds, note = f"{alpha}  {beta}", ""
    if each.player is not None:
        note = f"{bounds}  cut" if each.cuts else alpha if each.player == FIRST else beta
    said = f"value {worth}, {bounds}" if each.player is not None else f"value {worth}"
    return Node(
        text=label,
        title=f"{each.text or 'root'}: {said if each.visited else 'cut'}",
        player=each.player,
        value=each.value,
        note=note,
        level=each.ply,
        faint=not each.visited,
    )


def number(game: Game, value: float) -> str:
    """A return as the game counts it: in points where it has them."""
    if math.isinf(value):
        return INFINITY if value > 0 else f"-{INFINITY}"
    worth = round(value * game.points, 3) + 0.0
    return f"{worth:g}"
