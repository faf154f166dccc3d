"""Writer of figures in the DOT language of Graphviz."""

from __future__ import annotations

from cluster.drawing.figure import PLAYER_COLOURS, Edge, Figure, Node
from games.game import CHANCE


def write_dot(figure: Figure) -> str:
    """The figure as DOT text."""
    lines = [
        "digraph {",
        f"  label={_quoted(chr(10).join([figure.title, *figure.legend]))};",
        f"  rankdir={'LR' if figure.sideways else 'TB'};",
        '  node [fontname="sans-serif", fontsize=11]; edge [arrowhead=none, color="#9aa0ab"];',
        *(_node(number, node) for number, node in enumerate(figure.nodes)),
        *(_edge(edge) for edge in figure.edges),
    ]
    if not figure.is_tree:
        levels = sorted({node.level for node in figure.nodes})
        for level in levels:
            row = " ".join(f"n{k};" for k, node in enumerate(figure.nodes) if node.level == level)
            lines.append(f"  {{ rank=same; {row} }}")
    return "\n".join([*lines, "}", ""])


def _node(number: int, node: Node) -> str:
    style = ["filled"] + ["rounded"] * (node.player == 1) + ["dashed"] * node.faint
    label = "\n".join([line for line in (node.text, node.note) if line])
    attributes = {
        "label": label,
        "tooltip": node.title or node.text,
        "shape": "point" if not label else "hexagon" if node.player == CHANCE else "box",
        "style": ",".join(style),
        "fillcolor": _fill(node.value) if node.tint is None else _tinted(node.tint),
    }
    listed = ", ".join(f"{name}={_quoted(text)}" for name, text in attributes.items())
    return f"  n{number} [{listed}];"


def _fill(value: float | None) -> str:
    """The fill colour of a value as #rrggbbaa; its opacity grows with the absolute value."""
    if value is None:
        return "#f1f2f4"
    colour = "#2f7fd6" if value > 0 else "#e2731d" if value < 0 else "#8a8f99"
    return f"{colour}{round(255 * (0.12 + 0.48 * min(1.0, abs(value)))):02x}"


def _tinted(player: int) -> str:
    return f"{[*PLAYER_COLOURS.values()][player % len(PLAYER_COLOURS)]}4d"


def _edge(edge: Edge) -> str:
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
