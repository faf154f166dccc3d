"""Writer of figures as lines of text: a tree with branches, another graph level by level."""

from __future__ import annotations

from cluster.drawing.figure import Edge, Figure, Node


def write_text(figure: Figure) -> str:
    """The figure with title and legend as text; every line ends with a line break."""
    lines = _tree(figure) if figure.is_tree else _levels(figure)
    return "\n".join([figure.title, "", *lines, *[""] * bool(figure.legend), *figure.legend, ""])


def _tree(figure: Figure) -> list[str]:
    lines = [_said(figure.nodes[0])]
    # For each open node: its remaining edges, and the text before its children.
    open_nodes = [(figure.below[0], 0, "")]
    while open_nodes:
        edges, number, before = open_nodes.pop()
        if number == len(edges):
            continue
        open_nodes.append((edges, number + 1, before))
        edge = figure.edges[edges[number]]
        last = number == len(edges) - 1
        branch = "=" if edge.bold else "-"
        lines.append(f"{before}{'`' if last else '|'}{branch}{branch} {_arrived(figure, edge)}")
        open_nodes.append((figure.below[edge.target], 0, before + ("    " if last else "|   ")))
    return lines


def _levels(figure: Figure) -> list[str]:
    lines = []
    for level in range(1 + max(node.level for node in figure.nodes)):
        name = f" ({figure.rows[level]})" if figure.rows else ""
        lines.append(f"level {level}{name}")
        for number, node in enumerate(figure.nodes):
            if node.level != level:
                continue
            targets = [figure.nodes[figure.edges[edge].target].text for edge in figure.below[number]]
            lines.append(f"  {_said(node)}{' -> ' if targets else ''}{', '.join(targets)}")
    return lines


def _arrived(figure: Figure, edge: Edge) -> str:
    """The text of an edge's target, preceded by the edge's text unless the target's begins with it."""
    node = figure.nodes[edge.target]
    said = "cut" if node.faint and not node.text else _said(node) + "  cut" * node.faint
    names_it = node.text.startswith(f"{edge.text} ") or (node.faint and node.text == edge.text)
    return said if names_it else f"{edge.text}: {said}"


def _said(node: Node) -> str:
    return "  ".join(part for part in (node.text, node.note) if part) or "o"
