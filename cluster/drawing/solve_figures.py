"""Figures of a solved game: its graph, its tree, one player's AND/OR tree, and that player's strategy."""

from __future__ import annotations

from cluster.drawing import Edge, Figure, Node
from cluster.drawing.tree_figures import named
from games.analysis.position_graph import Place, PositionGraph
from games.errors import InvalidInput, counted
from games.game import FIRST, SECOND

KINDS = ("graph", "tree", "and-or", "strategy")
MOST_NODES = 1_500
LONGEST_TEXT = 30


def figure_of(graph: PositionGraph, kind: str, player: int | None = None) -> Figure:
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
    if not graph.is_finite and kind in ("tree", "and-or", "strategy"):
        raise InvalidInput("draw", kind, "graph, because positions can repeat in this game")
    if kind == "tree":
        return _unfolded(graph, "the game tree", None)
    name = graph.solution.game.player_names[player]
    if kind == "and-or":
        return _unfolded(graph, f"the AND/OR tree of {name}", player)
    if graph.places[0].value_for(player) < 0:
        raise InvalidInput("side", name, "a player who can win or draw; this one loses against best play")
    return _unfolded(graph, f"what {name} does, whatever the other does", player, only_kept=True)


def who_wins(graph: PositionGraph, place: Place) -> str:
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
    nodes = [_node(graph, place, place.level) for place in graph.places]
    # Several moves may lead to the same position.
    edges = [
        Edge(number, to, " or ".join(move.text for move in place.moves if move.to == to))
        for number, place in enumerate(graph.places)
        for to in dict.fromkeys(move.to for move in place.moves)
    ]
    size = f"{counted(len(nodes), 'position')} and {counted(len(edges), 'move')}"
    title = f"{named(graph.solution.game)}: the game graph, {size}"
    return Figure(title, nodes, edges, _colours(graph), _rows(graph, nodes))


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
    nodes = [
        _node(
            graph,
            graph.places[place],
            level,
            joined=player is not None
            and graph.places[place].mover != player
            and bool(graph.places[place].moves),
        )
        for place, level in found
    ]
    legend = _colours(graph)
    if player is not None:
        name = graph.solution.game.player_names[player]
        legend.append(
            f"moves joined by an arc: {name} needs an answer to each; elsewhere one good move is enough"
        )
        goal = "wins" if graph.places[0].value_for(player) > 0 else "does not lose"
        legend.append(
            f"thick: moves with which {name} {goal}" if has_strategy else f"{name} has no winning strategy"
        )
    title = f"{named(graph.solution.game)}: {what}, {counted(len(nodes), 'node')}"
    return Figure(title, nodes, edges, legend, _rows(graph, nodes))


def _node(graph: PositionGraph, place: Place, level: int, *, joined: bool = False) -> Node:
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
        joined=joined,
    )


def _rows(graph: PositionGraph, nodes: list[Node]) -> list[str]:
    """The player to move on each level, if it is only one."""
    names = graph.solution.game.player_names
    rows = []
    for level in range(1 + max(node.level for node in nodes)):
        movers = {node.player for node in nodes if node.level == level and node.player is not None}
        rows.append(f"{names[movers.pop()]} moves" if len(movers) == 1 else "")
    return rows


def _colours(graph: PositionGraph) -> list[str]:
    first, second = graph.solution.game.player_names
    return [
        f"the winner is named below each position: {first} (blue), {second} (orange), or draw (grey)",
        f"the player to move: {first} square, {second} round, thin if the game is over",
    ]


def _too_large(what: str, count: int) -> InvalidInput:
    return InvalidInput("draw", what, f"at most {MOST_NODES:,} nodes to draw (there are {count:,} or more)")
