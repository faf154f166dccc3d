"""Figures of searches and of solved games: what a picture of a tree or graph shows, without coordinates.

Of a search: the top of its tree, or the whole tree of minimax. Of a solved game: its graph, its tree, one
player's AND/OR tree, and that player's strategy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cluster.system import terminal
from games.analysis.position_graph import GraphNode, PositionGraph
from games.errors import InvalidInput, counted
from games.explicit_tree import ExplicitTree
from games.game import CHANCE, FIRST, SECOND, Game
from search.minimax.lookahead import Trace, Traced
from search.players.minimax import Minimax
from search.result import SearchResult
from search.tree.view import TopNode

ALPHA, BETA, INFINITY = "\N{GREEK SMALL LETTER ALPHA}", "\N{GREEK SMALL LETTER BETA}", "\N{INFINITY}"
LONGEST_SPEC = 60
KINDS = ("graph", "tree", "and-or", "strategy")
MOST_NODES = 1_500
LONGEST_TEXT = 30
PLAYER_COLOURS = {
    "blue": "#2f7fd6",
    "orange": "#e2731d",
    "green": "#3f9a4f",
    "purple": "#8a5bc7",
    "red": "#c9404f",
    "brown": "#8d6e4a",
}
"""The colours of players by name, in the order of the players; later ones have them again."""
FIRST_COLOUR, SECOND_COLOUR, DRAW_COLOUR = PLAYER_COLOURS["blue"], PLAYER_COLOURS["orange"], "#8a8f99"


@dataclass(frozen=True)
class Node:
    """A node and its appearance."""

    text: str
    """The text in the box; without text the box is small."""
    title: str = ""
    """The complete description, shown as a tooltip."""
    player: int | None = None
    """Who moves: FIRST has square boxes, SECOND round ones, CHANCE pointed ones; None: nobody, a thin box."""
    value: float | None = None
    """Value for the first player in [-1, 1], shown as colour; None: no colour."""
    tint: int | None = None
    """Instead of a value: the player whose colour the box has, where there are more than two."""
    note: str = ""
    """A small second line of text."""
    level: int = 0
    """Distance from the root in edges."""
    faint: bool = False
    """Whether the node is drawn faintly: it was cut, or never reached."""
    joined: bool = False
    """Whether an arc joins the outgoing edges, which marks an AND node."""

    @property
    def paint(self) -> tuple[str, float] | None:
        """The colour of the box and its opacity, which grows with the absolute value; None: no colour."""
        if self.tint is not None:
            return [*PLAYER_COLOURS.values()][self.tint % len(PLAYER_COLOURS)], 0.3
        if self.value is None:
            return None
        colour = FIRST_COLOUR if self.value > 0 else SECOND_COLOUR if self.value < 0 else DRAW_COLOUR
        return colour, 0.12 + 0.48 * min(1.0, abs(self.value))


@dataclass(frozen=True)
class Edge:
    """An edge to a lower node. ``source`` and ``target`` are indices into `Figure.nodes`."""

    source: int
    target: int
    text: str = ""
    weight: float = 0.0
    """Thickness of the line, in [0, 1]."""
    bold: bool = False
    faint: bool = False


@dataclass(frozen=True)
class Figure:
    """A picture: nodes, of which the first is the root, and edges."""

    title: str
    nodes: list[Node]
    edges: list[Edge]
    legend: list[str] = field(default_factory=list)
    """Lines of text under the picture."""
    rows: list[str] = field(default_factory=list)
    """Labels of the levels; empty: no labels."""
    sideways: bool = False
    """Whether the root is on the left instead of on top."""

    @cached_property
    def below(self) -> list[list[int]]:
        """For each node, the indices in `edges` of its outgoing edges."""
        below: list[list[int]] = [[] for _ in self.nodes]
        for number, edge in enumerate(self.edges):
            below[edge.source].append(number)
        return below

    @cached_property
    def is_tree(self) -> bool:
        """Whether every node except the root has one incoming edge, from a node of the next higher level that
        precedes it in `nodes`."""
        targets = sorted(edge.target for edge in self.edges)
        return targets == list(range(1, len(self.nodes))) and all(
            edge.source < edge.target and self.nodes[edge.target].level == self.nodes[edge.source].level + 1
            for edge in self.edges
        )


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
    first, second = game.player_names
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
    return Figure(title, nodes, edges, legend, _rows(nodes, game.player_names))


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


def figure_of_solved(graph: PositionGraph, kind: str, player: int | None = None) -> Figure:
    """The figure of a kind (one of `KINDS`).

    ``player``: whose AND/OR tree or strategy is drawn; by default the winner's. Raises InvalidInput (fields
    ``draw``, ``side``) for a figure that does not exist or is too large.
    """
    if kind not in KINDS:
        raise InvalidInput("draw", kind, " or ".join(KINDS))
    if player is None:
        player = SECOND if graph.places[0].value < 0 else FIRST
    if kind == "graph":
        return _graph(graph)
    if not graph.is_finite:
        raise InvalidInput("draw", kind, "graph, because positions can repeat in this game")
    if kind == "tree":
        return _unfolded(graph, "the game tree", None)
    name = graph.solution.game.player_names[player]
    if kind == "and-or":
        return _unfolded(graph, f"the AND/OR tree of {name}", player)
    if graph.places[0].value_for(player) < 0:
        raise InvalidInput("side", name, "a player who can win or draw; this one loses against best play")
    return _unfolded(graph, f"what {name} does, whatever the other does", player, only_kept=True)


def who_wins(graph: PositionGraph, place: GraphNode) -> str:
    """The value of a position in words."""
    if place.value == 0:
        return "a draw"
    name = graph.solution.game.player_names[FIRST if place.value > 0 else SECOND]
    if not place.moves:
        return f"{name} has won"
    return f"{name} wins in {place.plies} pl{'y' if place.plies == 1 else 'ies'}"


def _graph(graph: PositionGraph) -> Figure:
    if len(graph.places) > MOST_NODES:
        raise _too_large("graph", len(graph.places))
    nodes = [_node_of_solved(graph, place, place.level) for place in graph.places]
    # Several moves may lead to the same position.
    edges = [
        Edge(number, to, " or ".join(move.text for move in place.moves if move.to == to))
        for number, place in enumerate(graph.places)
        for to in dict.fromkeys(move.to for move in place.moves)
    ]
    size = f"{counted(len(nodes), 'position')} and {counted(len(edges), 'move')}"
    return _of_solved(graph, f"the game graph, {size}", nodes, edges)


def _unfolded(graph: PositionGraph, what: str, player: int | None, *, only_kept: bool = False) -> Figure:
    """The tree of all games, breadth first.

    For a ``player``, positions of the other player are AND nodes with arcs, and moves that keep the
    player's value are thick. ``only_kept``: of the player's moves, draw only those that keep the value.
    """
    has_strategy = player is not None and graph.places[0].value_for(player) >= 0
    found, kept = [(0, 0)], [has_strategy]
    edges: list[Edge] = []
    for number, (place_number, level) in enumerate(found):
        place = graph.places[place_number]
        keeping = place.moves
        if player is not None and place.mover == player:
            keeping = graph.keeping(place, player)
        for move in place.moves:
            bold = kept[number] and move in keeping
            if only_kept and not bold:
                continue
            edges.append(Edge(number, len(found), move.text, bold=bold))
            found.append((move.to, level + 1))
            kept.append(bold)
        if len(found) > MOST_NODES:
            raise _too_large("tree", len(found))
    nodes = [_node_of_solved(graph, graph.places[place], level, player) for place, level in found]
    legend: list[str] = []
    if player is not None:
        name = graph.solution.game.player_names[player]
        goal = "wins" if graph.places[0].value_for(player) > 0 else "does not lose"
        legend = [
            f"moves joined by an arc: {name} needs an answer to each; elsewhere one good move is enough",
            f"thick: moves with which {name} {goal}" if has_strategy else f"{name} has no winning strategy",
        ]
    return _of_solved(graph, f"{what}, {counted(len(nodes), 'node')}", nodes, edges, legend)


def _of_solved(
    graph: PositionGraph, what: str, nodes: list[Node], edges: list[Edge], legend: Sequence[str] = ()
) -> Figure:
    """A figure with what all figures of solved games say."""
    first, second = graph.solution.game.player_names
    colours = [
        f"the winner is named below each position: {first} (blue), {second} (orange), or draw (grey)",
        f"the player to move: {first} square, {second} round, thin if the game is over",
    ]
    rows = _rows(nodes, [f"{first} moves", f"{second} moves"])
    return Figure(f"{named(graph.solution.game)}: {what}", nodes, edges, [*colours, *legend], rows)


def _node_of_solved(graph: PositionGraph, place: GraphNode, level: int, player: int | None = None) -> Node:
    """``player``: whose AND/OR tree it is in."""
    names = graph.solution.game.player_names
    text = place.text.removesuffix(f" {names[FIRST]}").removesuffix(f" {names[SECOND]}")
    winner = "draw" if place.value == 0 else names[FIRST if place.value > 0 else SECOND]
    to_move = f", {names[place.mover]} to move" if place.moves else ""
    return Node(
        text=text if len(text) <= LONGEST_TEXT else "",
        title=f"{text}{to_move}: {who_wins(graph, place)}",
        player=place.mover if place.moves else None,
        value=float(place.value),
        note=winner,
        level=level,
        joined=player is not None and place.mover != player and bool(place.moves),
    )


def _rows(nodes: list[Node], names: Sequence[str]) -> list[str]:
    """The player to move on each level, if it is only one; ``names``: what is written for each."""
    rows = []
    for level in range(1 + max(node.level for node in nodes)):
        movers = {node.player for node in nodes if node.level == level and node.player is not None}
        rows.append(names[movers.pop()] if len(movers) == 1 else "")
    return rows


def _too_large(what: str, count: int) -> InvalidInput:
    return InvalidInput("draw", what, f"at most {MOST_NODES:,} nodes to draw (there are {count:,} or more)")
