"""What a picture of a tree or a graph shows, before anybody thinks of where it goes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Node:
    """A node, and how it stands out."""

    text: str
    """The line in the box; nothing: the box is small."""
    title: str = ""
    """All that there is to say; a tooltip."""
    player: int | None = None
    """Who moves: the first player's boxes are square, the second's round; None: nobody, a thin box."""
    value: float | None = None
    """In [-1, 1] the first player's, for the colour; None has none."""
    note: str = ""
    """A small second line."""
    level: int = 0
    """Edges from the top."""
    faint: bool = False
    """Cut, or never reached."""
    joined: bool = False
    """An arc joins the edges below: all of them matter (AND)."""


@dataclass(frozen=True)
class Edge:
    """From a node to one below it, by their places in `Figure.nodes`."""

    source: int
    target: int
    text: str = ""
    weight: float = 0.0
    """In [0, 1], the share of something: how thick it is."""
    bold: bool = False
    faint: bool = False


@dataclass(frozen=True)
class Figure:
    """Nodes, the first of them the root, and edges."""

    title: str
    nodes: list[Node]
    edges: list[Edge]
    legend: list[str] = field(default_factory=list)
    """Lines under the picture."""
    rows: list[str] = field(default_factory=list)
    """What stands at the left of each level; none: nothing."""
    sideways: bool = False
    """Whether the root is on the left, and not on top."""

    @cached_property
    def below(self) -> list[list[int]]:
        """For each node the places in `edges` of those that leave it."""
        below: list[list[int]] = [[] for _ in self.nodes]
        for number, edge in enumerate(self.edges):
            below[edge.source].append(number)
        return below

    @cached_property
    def is_tree(self) -> bool:
        """Whether each node but the root hangs on one edge, a level below; parents stand before children."""
        targets = sorted(edge.target for edge in self.edges)
        return targets == list(range(1, len(self.nodes))) and all(
            edge.source < edge.target and self.nodes[edge.target].level == self.nodes[edge.source].level + 1
            for edge in self.edges
        )
