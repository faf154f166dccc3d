"""Figures of searches: the top of a search tree, and the tree of an alpha-beta search."""

from __future__ import annotations

import math

from cluster.drawing import Edge, Figure, Node
from cluster.drawing.figure import PLAYER_COLOURS
from cluster.system import terminal
from games.errors import counted
from games.explicit_tree import ExplicitTree
from games.game import CHANCE, FIRST, SECOND, Game
from search.minimax.trace import Trace, Traced
from search.players.minimax import Minimax
from search.result import SearchResult
from search.tree.view import TopNode

ALPHA, BETA, INFINITY = "\N{GREEK SMALL LETTER ALPHA}", "\N{GREEK SMALL LETTER BETA}", "\N{INFINITY}"
LONGEST_SPEC = 60


def figure_of_search(game: Game, root: TopNode, result: SearchResult) -> Figure:
    """The top of a search tree with the root on the left and the most visited moves on top."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    waiting: list[tuple[TopNode, int, int]] = [(root, 0, -1)]
    for top, level, parent in waiting:
        number = len(nodes)
        nodes.append(_node_of_search(game, top, level))
        if parent >= 0:
            edges.append(Edge(parent, number, top.move, weight=top.visits / max(1, root.visits)))
        waiting += [(child, level + 1, number) for child in top.children]
    best = "" if result.answer.best_move is None else f", best {result.answer.best_move}"
    title = f"{named(game)}: {counted(result.simulations, 'simulation')}{best}"
    nodes_in_all = counted(result.tree_nodes, "node")
    legend = [
        f"{result.strategy}, {counted(result.lanes, 'lane')}, seed {result.seed}, {nodes_in_all}",
        f"each move: its share of the visits, visits, {_meaning(game)}; thick: many visits",
        *_key(game),
    ]
    return Figure(title, nodes, edges, legend, sideways=True)


def _meaning(game: Game) -> str:
    """What the numbers beside the moves are."""
    if game.num_players > 1:
        return "value for the player who makes it"
    return "what it and the moves after it are worth" if game.rewards else "value"


def _key(game: Game) -> list[str]:
    """What colours and shapes stand for, as a line of the legend; empty if they say nothing."""
    parts = []
    if game.num_players == 2:
        first, second = game.player_names
        if game.is_two_player:
            parts.append(f"blue is good for {first}, orange for {second}")
        parts.append(f"square: {first} moves, round: {second}")
    elif game.num_players > 2:
        colours = [*PLAYER_COLOURS]
        parts += [f"{colours[k % len(colours)]}: {name} moves" for k, name in enumerate(game.player_names)]
    if game.has_chance:
        parts.append("pointed: chance moves")
    divided = ", " if game.num_players > 2 else "; "
    return [divided.join(parts)] if parts else []


def named(game: Game) -> str:
    """A game's spec, or only its name if the spec is too long for a title."""
    return game.spec if len(game.spec) <= LONGEST_SPEC else game.name


def _node_of_search(game: Game, top: TopNode, level: int) -> Node:
    text = f"{top.move}  {100 * top.share:.0f} %" if level else f"{game.name_of(top.player or 0)} to move"
    note = f"{top.value:+.3f}" + (f" {top.proof}" if top.proof else "")
    more = f"; {counted(top.left_out, 'more move')}" if top.left_out and top.children else ""
    return Node(
        text=text,
        title=f"{top.move or 'root'}: {counted(top.visits, 'visit')}, value {note}{more}",
        player=top.player,
        value=top.first_value if game.is_two_player else None,
        tint=top.player if game.num_players > 2 and top.player != CHANCE else None,
        note=f"{terminal.count(top.visits)} \N{MIDDLE DOT} {note}",
        level=level,
    )


def figure_of_trace(game: Game, traced: Trace, player: Minimax) -> Figure:
    """The whole tree of minimax; positions cut by alpha-beta are faint, the best line is thick.

    Values are from the first player's viewpoint, for negamax from that of the player to move.
    """
    nodes: list[Node] = []
    edges: list[Edge] = []
    waiting: list[tuple[Traced, int, int]] = [(traced.root, traced.root.player or FIRST, -1)]
    for each, mover, parent in waiting:
        number = len(nodes)
        nodes.append(_node_of_trace(game, each, player, mover))
        if parent >= 0:
            edges.append(Edge(parent, number, each.text, bold=each.best, faint=not each.visited))
        # At a leaf the player to move is unknown; assume the other player.
        waiting += [
            (child, SECOND - mover if child.player is None else child.player, number)
            for child in each.children
        ]
    cut = traced.total - traced.visited
    visits = f"visits {counted(traced.total, 'node')}"
    if player.prunes:
        visits = f"visits {traced.visited} of {traced.total} nodes, {100 * cut / traced.total:.0f} % cut"
    title = f"{named(game)}: {player.spec} {visits}"
    names = game.player_names
    rows = []
    for level in range(1 + max(node.level for node in nodes)):
        movers = {node.player for node in nodes if node.level == level and node.player is not None}
        rows.append(names[movers.pop()] if len(movers) == 1 else "")
    return Figure(title, nodes, edges, _legend_of_trace(names, player, cut), rows)


def _legend_of_trace(names: tuple[str, ...], player: Minimax, cut: int) -> list[str]:
    first, second = names
    legend = [f"{first} (square) takes the highest value, {second} (round) the lowest; thick: the best line"]
    if player.turns_values:
        legend = [
            f"a value is that of the player to move ({first} square, {second} round), who takes the highest",
            "of the negated values below; thick: the best line",
        ]
    if player.prunes:
        legend.append(f"{first} can reach at least {ALPHA}, {second} can limit the value to {BETA}")
    if cut:
        legend[-1] += "; dashed: cut, not visited"
    return legend


def _node_of_trace(game: Game, each: Traced, player: Minimax, mover: int) -> Node:
    turned = player.turns_values and mover == SECOND
    worth = "" if each.value is None else number(game, -each.value if turned else each.value)
    label = worth if isinstance(game, ExplicitTree) else f"{each.text} {worth}".strip()
    said, note = f"value {worth}", ""
    if player.prunes and each.player is not None:
        alpha, beta = f"{ALPHA} {number(game, each.alpha)}", f"{BETA} {number(game, each.beta)}"
        said += f", {alpha}, {beta}"
        note = alpha if each.player == FIRST else beta
        if each.cuts:
            said += f", {BETA if each.player == FIRST else ALPHA} cut"
            note = f"{alpha} \N{GREATER-THAN OR EQUAL TO} {beta}"
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
    """A return as text, in points if the game counts points."""
    if math.isinf(value):
        return INFINITY if value > 0 else f"-{INFINITY}"
    worth = round(value * game.points, 3) + 0.0
    return f"{worth:g}"
