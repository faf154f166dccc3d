"""Layout of figures: coordinates of nodes along their level, in pixels.

Trees follow Reingold and Tilford, "Tidier drawings of trees", IEEE Transactions on Software Engineering 7,
1981, extended to nodes of any size: subtrees of equal shape are drawn equally, a parent is above the middle
of its children, and neighbours are as close as `GAP` allows. Other graphs have a row for each level,
ordered by the mean coordinate of each node's neighbours.
"""

from __future__ import annotations

from cluster.drawing.figure import Figure

GAP = 14.0
SWEEPS = 8


def places_across(figure: Figure, sizes: list[float]) -> list[float]:
    """For each node, the coordinate of its middle along its level; the smallest edge is at 0.

    ``sizes``: the extent of each node along its level.
    """
    places = _tidy(figure, sizes) if figure.is_tree else _in_rows(figure, sizes)
    left = min(place - size / 2 for place, size in zip(places, sizes, strict=True))
    return [place - left for place in places]


def _tidy(figure: Figure, sizes: list[float]) -> list[float]:
    """Layout of a tree, from the last node back to the root: subtrees are moved apart and put below their
    parent.

    A subtree is represented by its outline: its extent to both sides on each level, relative to its root.
    """
    offsets = [0.0] * len(sizes)
    outlines: dict[int, list[tuple[float, float]]] = {}
    for node in range(len(sizes) - 1, -1, -1):
        children = [figure.edges[edge].target for edge in figure.below[node]]
        outline: list[tuple[float, float]] = []
        for child in children:
            theirs = outlines.pop(child)
            shift = max((a[1] - b[0] + GAP for a, b in zip(outline, theirs, strict=False)), default=0.0)
            offsets[child] = shift
            moved = [(low + shift, high + shift) for low, high in theirs]
            shared = [(a[0], b[1]) for a, b in zip(outline, moved, strict=False)]
            outline = shared + outline[len(shared) :] + moved[len(shared) :]
        middle = (offsets[children[0]] + offsets[children[-1]]) / 2 if children else 0.0
        for child in children:
            offsets[child] -= middle
        below = [(low - middle, high - middle) for low, high in outline]
        outlines[node] = [(-sizes[node] / 2, sizes[node] / 2), *below]
    places = [0.0] * len(sizes)
    for edge in sorted(figure.edges, key=lambda edge: edge.source):
        places[edge.target] = places[edge.source] + offsets[edge.target]
    return places


def _in_rows(figure: Figure, sizes: list[float]) -> list[float]:
    """Layout of a general graph: a centred row for each level, ordered by the mean place of neighbours."""
    rows: dict[int, list[int]] = {}
    for number, node in enumerate(figure.nodes):
        rows.setdefault(node.level, []).append(number)
    neighbours: list[list[int]] = [[] for _ in sizes]
    for edge in figure.edges:
        neighbours[edge.source].append(edge.target)
        neighbours[edge.target].append(edge.source)
    places = [0.0] * len(sizes)
    levels = sorted(rows)
    for sweep in range(SWEEPS + 1):
        order = levels if sweep % 2 == 0 else levels[::-1]
        for level in order:
            if sweep:
                nearest = -1 if sweep % 2 == 0 else 1
                rows[level] = _by_mean(rows[level], neighbours, places, figure, level + nearest)
            _set_out(rows[level], sizes, places)
    return places


def _by_mean(
    row: list[int], neighbours: list[list[int]], places: list[float], figure: Figure, level: int
) -> list[int]:
    """The nodes of a row ordered by the mean place of their neighbours on the level ``level``."""

    def mean(node: int) -> float:
        near = [places[other] for other in neighbours[node] if figure.nodes[other].level == level]
        return sum(near) / len(near) if near else places[node]

    return sorted(row, key=mean)


def _set_out(row: list[int], sizes: list[float], places: list[float]) -> None:
    """Place the nodes of a row side by side with the row's middle at 0; ``places`` is modified in place."""
    at = -(sum(sizes[node] for node in row) + GAP * (len(row) - 1)) / 2
    for node in row:
        places[node] = at + sizes[node] / 2
        at += sizes[node] + GAP
