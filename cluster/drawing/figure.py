"""The content of a picture of a tree or a graph, without coordinates."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

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
