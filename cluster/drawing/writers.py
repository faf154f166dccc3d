"""Writers of figures: in the DOT language of Graphviz, as lines of text, and to files of any format."""

from __future__ import annotations

from pathlib import Path

from cluster.drawing.figure import Edge, Figure, Node
from cluster.drawing.svg import write_svg
from games.errors import InvalidInput
from games.game import CHANCE


def write_dot(figure: Figure) -> str:
    """The figure as DOT text."""
    lines = [
        "digraph {",
        f"  label={_quoted(chr(10).join([figure.title, *figure.legend]))};",
        f"  rankdir={'LR' if figure.sideways else 'TB'};",
        '  node [fontname="sans-serif", fontsize=11]; edge [arrowhead=none, color="#9aa0ab"];',
        *(_dot_node(number, node) for number, node in enumerate(figure.nodes)),
        *(_dot_edge(edge) for edge in figure.edges),
    ]
    if not figure.is_tree:
        levels = sorted({node.level for node in figure.nodes})
        for level in levels:
            row = " ".join(f"n{k};" for k, node in enumerate(figure.nodes) if node.level == level)
            lines.append(f"  {{ rank=same; {row} }}")
    return "\n".join([*lines, "}", ""])


def _dot_node(number: int, node: Node) -> str:
    style = ["filled"] + ["rounded"] * (node.player == 1) + ["dashed"] * node.faint
    # An opaque box without a colour: #rrggbbff.
    colour, opacity = node.paint or ("#f1f2f4", 1.0)
    label = "\n".join([line for line in (node.text, node.note) if line])
    attributes = {
        "label": label,
        "tooltip": node.title or node.text,
        "shape": "point" if not label else "hexagon" if node.player == CHANCE else "box",
        "style": ",".join(style),
        "fillcolor": f"{colour}{round(255.01 * opacity):02x}",
    }
    listed = ", ".join(f"{name}={_quoted(text)}" for name, text in attributes.items())
    return f"  n{number} [{listed}];"


def _dot_edge(edge: Edge) -> str:
    width = 3.0 if edge.bold else 1.0 + 5.0 * edge.weight
    attributes = [f"penwidth={width:.1f}"]
    if edge.text:
        attributes.append(f"tooltip={_quoted(edge.text)}")
    if edge.bold:
        attributes.append('color="#1b1d22"')
    if edge.faint:
        attributes.append("style=dashed")
    return f"  n{edge.source} -> n{edge.target} [{', '.join(attributes)}];"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


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


FORMATS = {".svg": write_svg, ".dot": write_dot, ".txt": write_text}


def format_of(path: Path) -> str:
    """The suffix of the file's name; raises InvalidInput (field ``out``) for an unknown one."""
    if path.suffix not in FORMATS:
        raise InvalidInput("out", str(path), "a file that ends in " + ", ".join(FORMATS))
    return path.suffix


def write_figure(figure: Figure, path: Path) -> None:
    """Write the figure to a file; raises InvalidInput (field ``out``), OSError."""
    path.write_text(FORMATS[format_of(path)](figure), encoding="utf-8")
